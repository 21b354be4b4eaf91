//! Renders the pages of docs/api, which each service serves under `/docs/guide/`, as HTML.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

const PAGES: &str = "../../docs/api";
/// The page that is served as the folder itself.
const INDEX: &str = "README";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PAGES}");
    println!("cargo:rerun-if-changed=build.rs");
    let mut pages = Vec::new();
    for entry in fs::read_dir(PAGES)? {
        let path = entry?.path();
        if let (Some(name), Some("md")) =
            (path.file_stem().and_then(|name| name.to_str()), path.extension().and_then(|end| end.to_str()))
        {
            let (title, body) = render(&fs::read_to_string(&path)?);
            pages.push((name.to_owned(), title, body));
        }
    }
    pages.sort_by_key(|(name, title, _)| (name != INDEX, title.clone()));

    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut list = String::from("[");
    for (name, title, body) in &pages {
        let file = out.join(format!("{name}.html"));
        fs::write(&file, page(name, title, body, &pages))?;
        write!(list, "({:?}, include_str!({file:?})),", served(name))?;
    }
    fs::write(out.join("guide.rs"), list + "]")?;
    Ok(())
}

/// Returns the path of a page under `/docs/guide/`.
fn served(name: &str) -> &str {
    if name == INDEX { "" } else { name }
}

/// Returns the title of a page and its content as HTML. Headings get the anchors that the links between pages name.
fn render(markdown: &str) -> (String, String) {
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut title = String::new();
    let mut has_target = true;
    for index in 0..events.len() {
        let text = |events: &[Event<'_>]| {
            let inner = events.iter().skip(index + 1).take_while(|event| !is_end_of_heading(event));
            let texts = inner.filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            });
            texts.collect::<String>()
        };
        let heading = matches!(events[index], Event::Start(Tag::Heading { .. })).then(|| text(&events));
        match &mut events[index] {
            Event::Start(Tag::Heading { id, .. }) => {
                let heading = heading.unwrap_or_default();
                *id = Some(anchor(&heading).into());
                if title.is_empty() {
                    title = heading;
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => match target(dest_url) {
                Some(url) => *dest_url = url,
                None => {
                    has_target = false;
                    events[index] = Event::Text(CowStr::Borrowed(""));
                }
            },
            Event::End(TagEnd::Link) if !has_target => {
                has_target = true;
                events[index] = Event::Text(CowStr::Borrowed(""));
            }
            _ => {}
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    (title, body)
}

fn is_end_of_heading(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Heading(_)))
}

/// Returns the anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns where a link leads in the guide, or `None` for a file of the repository that is not served.
fn target<'a>(url: &str) -> Option<CowStr<'a>> {
    if url.starts_with('#') || url.contains("://") {
        return Some(url.to_owned().into());
    }
    let (name, anchor) = url.split_once(".md")?;
    let is_page = !name.contains('/') && Path::new(PAGES).join(name).with_extension("md").exists();
    is_page.then(|| format!("./{}{anchor}", served(name)).into())
}

/// Returns a whole page: the list of all pages, then its content.
fn page(name: &str, title: &str, body: &str, pages: &[(String, String, String)]) -> String {
    let links: String = pages
        .iter()
        .map(|(other, title, _)| {
            let current = if other == name { " aria-current=\"page\"" } else { "" };
            format!("<li><a href=\"./{}\"{current}>{title}</a></li>\n", served(other))
        })
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} – Drover</title>\n\
         <link rel=\"stylesheet\" href=\"../docs-page.css\">\n</head>\n<body class=\"guide\">\n\
         <nav id=\"services\"><b>Drover: API guide</b><a href=\"../\">Operations</a></nav>\n\
         <nav id=\"pages\"><ul>\n{links}</ul></nav>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}
