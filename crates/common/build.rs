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
        fs::write(out.join(format!("{name}.html")), page(name, title, body, &pages))?;
        let included = format!("include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.html\"))");
        write!(list, "({:?}, {included}),", served(name))?;
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
    let mut events = Vec::new();
    let mut is_served = true;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let url = target(&dest_url);
                is_served = url.is_some();
                let link = url.map(|dest_url| Tag::Link { link_type, dest_url, title, id });
                events.extend(link.map(Event::Start));
            }
            Event::End(TagEnd::Link) if !is_served => is_served = true,
            event => events.push(event),
        }
    }

    let mut title = None;
    for index in 0..events.len() {
        let heading: String = events[index + 1..].iter().map_while(text).collect();
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[index] {
            *id = Some(anchor(&heading).into());
            title.get_or_insert(heading);
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    (title.unwrap_or_default(), body)
}

/// Returns the text of an event within a heading, or `None` at its end.
fn text<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    match event {
        Event::End(TagEnd::Heading(_)) => None,
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => Some(""),
    }
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
    let mut links = String::new();
    for (other, title, _) in pages {
        let current = if other == name { " aria-current=\"page\"" } else { "" };
        links.extend(["<li><a href=\"./", served(other), "\"", current, ">", title, "</a></li>\n"]);
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} – Drover</title>\n\
         <link rel=\"stylesheet\" href=\"../docs-page.css\">\n</head>\n<body class=\"guide\">\n\
         <nav id=\"services\"><b>Drover: API guide</b><a href=\"../\">Operations</a></nav>\n\
         <nav id=\"pages\"><ul>\n{links}</ul></nav>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}
