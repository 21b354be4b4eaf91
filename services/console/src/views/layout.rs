//! What all pages have: the head, the navigation, and the parts that several of them use.

use maud::{DOCTYPE, Markup, html};

use crate::user::User;

/// A file that pages load.
pub(crate) struct Asset {
    /// The name without the path. It ends with a part that changes with the content.
    pub(crate) name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) content: &'static str,
    /// Part of the address: browsers keep the file until it changes.
    pub(crate) version: u64,
}

impl Asset {
    const fn new(name: &'static str, media_type: &'static str, content: &'static str) -> Self {
        Self { name, media_type, version: fingerprint(content.as_bytes()), content }
    }

    /// Returns the address.
    pub(crate) fn path(&self) -> String {
        format!("/assets/{}?v={:x}", self.name, self.version)
    }
}

/// The stylesheet, the module that makes lists quicker to use, and the one that shows that loads have changed; then the
/// modules of single pages.
pub(crate) const ASSETS: [Asset; 5] = [
    Asset::new("console.css", "text/css; charset=utf-8", include_str!("../../assets/console.css")),
    Asset::new("console.js", "text/javascript; charset=utf-8", include_str!("../../assets/console.js")),
    Asset::new("live.js", "text/javascript; charset=utf-8", include_str!("../../assets/live.js")),
    IMPORT,
    OFFICE,
];

/// The module that keeps a sheet and what was mended in the browser until it is imported.
pub(crate) const IMPORT: Asset =
    Asset::new("import.js", "text/javascript; charset=utf-8", include_str!("../../assets/import.js"));

/// The module of keys, saved views and drag and drop.
pub(crate) const OFFICE: Asset =
    Asset::new("office.js", "text/javascript; charset=utf-8", include_str!("../../assets/office.js"));

/// FNV-1a: enough to distinguish two versions of a file.
const fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// A section of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Today,
    Loads,
    Board,
    Import,
}

const SECTIONS: [(Section, &str, &str); 4] = [
    (Section::Today, "/", "Today"),
    (Section::Loads, "/loads", "Loads"),
    (Section::Board, "/board", "Board"),
    (Section::Import, "/import", "Import"),
];

/// Returns a page of somebody who is logged in.
pub(crate) fn page(user: &User, section: Section, title: &str, body: &Markup) -> Markup {
    let person = &user.person;
    document(
        title,
        &html! {
            a.skip href="#main" { "Skip to the content" }
            @if user.is_development {
                aside.development aria-label="Demonstration" {
                    "Demonstration: the console accepts development tokens, so anybody can be anybody. "
                    a href="/login" { "Be somebody else" }
                }
            }
            div.frame {
                nav.side aria-label="Main" {
                    div.brand { "Drover" }
                    @for (own, path, name) in SECTIONS {
                        a href=(path) aria-current=[(own == section).then_some("page")] { (name) }
                    }
                    div.who {
                        b { (person.name) }
                        @if let Some(organisation) = &person.organisation_name { br; small { (organisation) } }
                        form method="post" action="/logout" {
                            (form_token(user))
                            button.plain { "Log out" }
                        }
                    }
                }
                main #main { (body) }
            }
        },
    )
}

/// Returns a page without navigation.
pub(super) fn plain(title: &str, body: &Markup) -> Markup {
    document(title, &html! { main.plain #main { (body) } })
}

/// Returns a page without navigation that leads on to another by itself. A form may be answered with it: browsers would
/// refuse to follow a redirect from a form to another site.
pub(super) fn leading_on(title: &str, to: &str, body: &Markup) -> Markup {
    let refresh = html! { meta http-equiv="refresh" content={ "0;url=" (to) }; };
    with_head(title, &refresh, &html! { main.plain #main { (body) } })
}

fn document(title: &str, body: &Markup) -> Markup {
    with_head(title, &html! {}, body)
}

fn with_head(title: &str, head: &Markup, body: &Markup) -> Markup {
    let [style, script, ..] = &ASSETS;
    html! {
        (DOCTYPE)
        html lang="en-GB" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Drover" }
                (head)
                link rel="stylesheet" href=(style.path());
                script type="module" src=(script.path()) {}
            }
            body { (body) }
        }
    }
}

/// Where the feed of events was when a page was made, and when that was.
pub(crate) struct Position {
    pub(crate) cursor: String,
    pub(crate) at: String,
}

/// Returns the part of a page that shows that loads have changed since it was made: those of its rows, or this one.
pub(super) fn live(load: Option<&str>, position: Option<&Position>) -> Markup {
    let Some(Position { cursor, at }) = position else { return html! {} };
    let [_, _, script, ..] = &ASSETS;
    html! {
        p.notice role="status" hidden data-live=(load.unwrap_or_default()) data-at=(at) data-after=(cursor) {
            span {} " " a href="" { "Show" }
        }
        script type="module" src=(script.path()) {}
    }
}

/// Returns the field that proves that a form was made for the person.
pub(super) fn form_token(user: &User) -> Markup {
    html! { input type="hidden" name="form-token" value=(user.form_token); }
}

/// Returns the status of a load: a word, which a colour repeats.
pub(crate) fn status(status: &str) -> Markup {
    let mut letters = status.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    html! { span.status.(status) { (first) (letters.as_str()) } }
}
