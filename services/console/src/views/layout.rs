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

/// The stylesheet, the module that makes lists quicker to use, the one that shows that loads have changed, those of
/// single pages, and what a phone needs to keep the pages of a driver.
pub(crate) const ASSETS: [Asset; 12] = [
    Asset::new("console.css", "text/css; charset=utf-8", include_str!("../../assets/console.css")),
    Asset::new("console.js", "text/javascript; charset=utf-8", include_str!("../../assets/console.js")),
    Asset::new("live.js", "text/javascript; charset=utf-8", include_str!("../../assets/live.js")),
    Asset::new("driver.js", "text/javascript; charset=utf-8", include_str!("../../assets/driver.js")),
    Asset::new(
        "driver.webmanifest",
        "application/manifest+json",
        include_str!("../../assets/driver.webmanifest"),
    ),
    Asset::new("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    Asset::new("map.js", "text/javascript; charset=utf-8", include_str!("../../assets/map.js")),
    Asset::new("listing.js", "text/javascript; charset=utf-8", include_str!("../../assets/listing.js")),
    Asset::new("saved.js", "text/javascript; charset=utf-8", include_str!("../../assets/saved.js")),
    Asset::new("keys.js", "text/javascript; charset=utf-8", include_str!("../../assets/keys.js")),
    Asset::new("import.js", "text/javascript; charset=utf-8", include_str!("../../assets/import.js")),
    Asset::new("office.js", "text/javascript; charset=utf-8", include_str!("../../assets/office.js")),
];
/// Files that a driver's phone keeps.
const KEPT: [&str; 4] = ["console.css", "console.js", "driver.js", "icon.svg"];

/// Returns the address of a file.
fn asset(name: &str) -> String {
    ASSETS.iter().find(|asset| asset.name == name).map(Asset::path).unwrap_or_default()
}

/// Returns the script that keeps the pages of a driver on the phone. It changes with the files that it keeps.
pub(crate) fn driver_worker() -> String {
    let files = serde_json::json!(KEPT.map(asset));
    format!("const FILES = {files};\n{}", include_str!("../../assets/driver-worker.js"))
}

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
    Market,
    Files,
    Connections,
    Driver,
    Moderation,
    PersonalData,
    Operations,
}

const SECTIONS: [(Section, &str, &str); 11] = [
    (Section::Today, "/", "Today"),
    (Section::Loads, "/loads", "Loads"),
    (Section::Board, "/board", "Board"),
    (Section::Import, "/import", "Import"),
    (Section::Market, "/market", "Market"),
    (Section::Files, "/files", "Files"),
    (Section::Connections, "/connections", "Connections"),
    (Section::Driver, "/driver", "Driver"),
    (Section::Moderation, "/moderation", "Moderation"),
    (Section::PersonalData, "/personal-data", "Personal data"),
    (Section::Operations, "/operations", "Operations"),
];

impl Section {
    /// Returns true for what only administrators of the marketplace use.
    fn is_for_admin(self) -> bool {
        matches!(self, Self::Moderation | Self::PersonalData | Self::Operations)
    }
}

/// Returns a page of somebody who is logged in.
pub(crate) fn page(user: &User, section: Section, title: &str, body: &Markup) -> Markup {
    let person = &user.person;
    document(
        title,
        &html! {
            a.skip href="#main" { "Skip to the content" }
            (development(user))
            div.frame data-owner=(person.form_owner()) {
                nav.side aria-label="Main" {
                    div.brand { "Drover" }
                    @for (own, path, name) in SECTIONS.iter().filter(|(own, ..)| person.is_admin || !own.is_for_admin()) {
                        a href=(path) aria-current=[(*own == section).then_some("page")] { (name) }
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

/// Says that whoever opens the console chooses who to be.
fn development(user: &User) -> Markup {
    html! {
        @if user.is_development {
            aside.development aria-label="Demonstration" {
                "Demonstration: the console accepts development tokens, so anybody can be anybody. "
                a href="/login" { "Be somebody else" }
            }
        }
    }
}

/// Returns a page of a driver, which the phone keeps for when it has no signal.
pub(crate) fn phone(user: &User, title: &str, body: &Markup) -> Markup {
    let head = html! {
        link rel="manifest" href=(asset("driver.webmanifest"));
        link rel="icon" href=(asset("icon.svg")) type="image/svg+xml";
        meta name="theme-color" content="#28613a";
        script type="module" src=(asset("driver.js")) {}
    };
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        (development(user))
        div.phone data-driver=(user.person.form_owner()) {
            nav.top aria-label="Main" {
                a.brand href="/driver" { "Drover" }
                a href=(if user.is_driver() { "/loads" } else { "/" }) { (if user.is_driver() { "Loads" } else { "Office" }) }
                form method="post" action="/logout" { (form_token(user)) button.plain { "Log out" } }
            }
            div.offline #signal role="status" hidden {}
            main #main { (body) }
        }
    };
    with_head(title, &head, &body)
}

/// Returns a page for somebody who is not logged in.
pub(crate) fn visitor(title: &str, body: &Markup) -> Markup {
    document(
        title,
        &html! {
            a.skip href="#main" { "Skip to the content" }
            div.frame {
                nav.side aria-label="Main" {
                    div.brand { "Drover" }
                    a href="/market" aria-current="page" { "Market" }
                    div.who { a href="/login" { "Log in" } }
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
    html! {
        (DOCTYPE)
        html lang="en-GB" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Drover" }
                (head)
                link rel="stylesheet" href=(asset("console.css"));
                script type="module" src=(asset("console.js")) {}
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

/// Returns the part of a page that shows that loads have changed since it was made: those of its rows, this
/// one, or any (`*`).
pub(super) fn live(load: Option<&str>, position: Option<&Position>) -> Markup {
    let Some(Position { cursor, at }) = position else { return html! {} };
    html! {
        p.notice role="status" hidden data-live=(load.unwrap_or_default()) data-at=(at) data-after=(cursor) {
            span {} " " a href="" { "Show" } " · " button.plain type="button" { "Pause" }
        }
        (module("live.js"))
    }
}

/// Returns the element that loads a module.
pub(super) fn module(name: &str) -> Markup {
    html! {
        script type="module" src=(asset(name)) {}
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
