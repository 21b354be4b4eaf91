//! The files of an organisation, and a single one.

use maud::{Markup, html};
use serde_json::json;

use super::forms::{capital, other_notices, who_field};
use super::layout::{form_token, status};
use super::listing::curl;
use crate::api::model::{FileInfo, Load, Usage};
use crate::api::{FieldError, segment, with_query};
use crate::fields::Fields;
use crate::format::{Clock, number};
use crate::loads::STATUSES;
use crate::user::User;
use crate::views::loads::counted;

/// Types of files: the name in the API, and what people read.
const TYPES: [(&str, &str); 10] = [
    ("weighbridge", "Tickets"),
    ("image", "Pictures of listings"),
    ("contract", "Contracts"),
    ("trade-contract", "Trade contracts"),
    ("sample", "Samples"),
    ("vehicle", "Vehicles"),
    ("avatar", "Pictures of people"),
    ("logo", "Logos"),
    ("terms-conditions", "Terms"),
    ("misc", "Others"),
];

/// What the page shows. What is away is absent.
pub(crate) struct LibraryView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) files: Option<&'a [FileInfo]>,
    pub(crate) next: Option<&'a str>,
    pub(crate) usage: Option<&'a Usage>,
    /// The filters of the address.
    pub(crate) parameters: &'a Fields,
    pub(crate) missing: &'a [String],
    /// The idempotency key of the form.
    pub(crate) key: &'a str,
    /// Why files were not stored.
    pub(crate) errors: &'a [&'a str],
    pub(crate) done: Option<&'a str>,
}

impl LibraryView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let may_store = !self.user.person.is_viewer;
        html! {
            div.head {
                h1 { "Files" }
                @if let Some(usage) = self.usage { (usage_of(usage)) }
            }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (self.filters())
            @if may_store { (self.upload()) }
            @if let Some(files) = self.files {
                @if files.is_empty() { div.card.pad { p { "There are no files here." } } }
                @else { div.cards { @for file in files { (self.card(file)) } } }
            }
            @if let Some(next) = self.next { p.paging { a rel="next" href=(self.path("cursor", next)) { "More" } } }
        }
    }

    /// Returns the address of the page with another value of a filter, or without it.
    fn path(&self, name: &str, value: &str) -> String {
        let own = ["q", "type", "status"].map(|known| (known, self.parameters.get(known)));
        let kept = own.into_iter().filter(|(known, _)| *known != name).chain([(name, value)]);
        with_query("/files", &kept.filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>())
    }

    fn filters(&self) -> Markup {
        let (kind, status) = (self.parameters.get("type"), self.parameters.get("status"));
        html! {
            form.filters role="search" action="/files" {
                input type="search" name="q" value=(self.parameters.get("q")) aria-label="Names" placeholder="Name of the file";
                select name="type" aria-label="Type" {
                    option value="" { "All types" }
                    @for (name, label) in TYPES { option value=(name) selected[name == kind] { (label) } }
                }
                @if !status.is_empty() { input type="hidden" name="status" value=(status); }
                button { "Search" }
                @if status == "archived" { a.chip.on href=(self.path("status", "")) { "Archived ✕" } }
                @else { a.chip href=(self.path("status", "archived")) { "Archived" } }
            }
        }
    }

    fn upload(&self) -> Markup {
        html! {
            form.card.pad.upload method="post" action="/files/upload" enctype="multipart/form-data" data-drop {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                label for="f-file" { "Add files" }
                input #f-file type="file" name="file" multiple;
                button { "Store" }
                @for error in self.errors { p.error role="alert" { (capital(error)) } }
            }
        }
    }

    fn card(&self, file: &FileInfo) -> Markup {
        let is_open = file.status != "archived";
        html! {
            article.card {
                a href={ "/files/" (segment(&file.id)) "/about" } {
                    span.picture {
                        @if is_open && file.content_type.starts_with("image/") {
                            img src={ "/files/" (segment(&file.id)) "?width=320" } alt="" loading="lazy" width="320" height="213";
                        } @else { (short_type(file)) }
                    }
                    b { (file.name) }
                }
                div.pad {
                    small { (type_name(&file.kind)) ", " (self.clock.time(&file.created_at)) }
                    small { (file.user_name) @if !file.organisations.is_empty() { ", " (shared_with(file)) } }
                    @if !is_open { span.status.cancelled { "Archived" } }
                }
            }
        }
    }
}

fn shared_with(file: &FileInfo) -> String {
    if file.organisations.iter().any(|organisation| organisation == "*") {
        "shared with everybody".to_owned()
    } else {
        format!("shared with {}", file.organisations.len())
    }
}

fn type_name(kind: &str) -> &str {
    TYPES.iter().find(|(name, _)| *name == kind).map_or(kind, |(_, label)| label)
}

/// Returns the kind of a content in a word: the ending of the name, or else the end of the media type.
fn short_type(file: &FileInfo) -> String {
    let is_ending = |ending: &&str| (1..=5).contains(&ending.len()) && ending.is_ascii();
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending).filter(is_ending);
    let media_type = || match file.content_type.as_str() {
        "" | "application/octet-stream" => "other",
        media_type => media_type.rsplit(['/', '.', '-']).next().unwrap_or(media_type),
    };
    ending.unwrap_or_else(media_type).to_uppercase().chars().take(8).collect()
}

fn usage_of(usage: &Usage) -> Markup {
    let share = usage.bytes.saturating_mul(100).checked_div(usage.maximum_bytes).unwrap_or_default();
    html! {
        small {
            (counted(usage.files, "file")) ", " (size(usage.bytes)) " of " (size(usage.maximum_bytes)) " "
            meter aria-label="Part of the quota" min="0" max="100" low="80" high="95" optimum="0" value=(share) { (share) " %" }
        }
    }
}

/// Returns a size in the unit that suits it.
fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let unit = units.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1, "bytes"));
    // Hundredths of the unit, which no float loses.
    let hundredths = bytes.saturating_mul(100) / unit.0;
    let value = f64::from(u32::try_from(hundredths).unwrap_or(u32::MAX)) / 100.0;
    format!("{} {}", number(value).trim_end_matches(".00"), unit.1)
}

/// A file with what can be done with it.
pub(crate) struct FileView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) file: &'a FileInfo,
    /// Ids and names of the address book.
    pub(crate) organisations: &'a [(String, String)],
    /// The newest loads that have the file; `None` if that is not known.
    pub(crate) loads: Option<&'a [Load]>,
    /// Whether there are more of them.
    pub(crate) has_more: bool,
    /// A link that was just made.
    pub(crate) link: Option<&'a str>,
    /// What was typed to share it, if that is refused.
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) done: Option<&'a str>,
}

impl FileView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let file = self.file;
        let is_open = file.status != "archived";
        let path = format!("/files/{}", segment(&file.id));
        let person = &self.user.person;
        // What nobody's organisation has is the person's own.
        let may_change =
            person.is_admin || !person.is_restricted() && person.organisation_id == file.organisation_id;
        html! {
            p.trail { a href="/files" { "Files" } }
            div.head {
                h1 { (file.name) }
                @if !is_open { span.status.cancelled { "Archived" } }
                @if is_open { div.actions { a.btn.primary href=(path) { "Open" } } }
            }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            (other_notices(self.errors, &["organisation"]))
            div.grid.two {
                div {
                    section.card.pad {
                        @if is_open && file.content_type.starts_with("image/") {
                            a href=(path) { img.large src={ (path) "?width=640" } alt={ "The picture " (file.name) } width="640" height="427"; }
                        } @else { p.muted { "There is no preview of " (short_type(file)) " files." } }
                    }
                }
                div {
                    section.card.pad { dl {
                        dt { "Type" } dd { (type_name(&file.kind)) }
                        dt { "Content" } dd { (file.content_type) }
                        dt { "Stored" } dd { (self.clock.time(&file.created_at)) " by " (file.user_name) }
                    } }
                    (self.uses())
                    @if is_open && may_change { (self.sharing(&path)) }
                    @if is_open { (self.linking(&path)) }
                    @if is_open && may_change { (self.archiving(&path)) }
                }
            }
        }
    }

    fn uses(&self) -> Markup {
        let Some(loads) = self.loads else { return html! {} };
        let statuses = STATUSES.map(|status| ("status", status));
        let list = [&statuses[..], &[("file", self.file.id.as_str())]].concat();
        html! {
            section.card {
                header { h2 { "Used by" } }
                @if loads.is_empty() { p.pad.muted { "No load that you can see has this file." } }
                ul.list {
                    @for load in loads {
                        li {
                            a.main href={ "/loads/" (segment(&load.id)) } { (load.reference) }
                            span.go { (self.clock.delivery(&load.delivery)) " " (status(&load.status)) }
                        }
                    }
                }
                @if self.has_more { p.pad { a href=(with_query("/loads", &list)) { "All loads with this file" } } }
            }
        }
    }

    fn sharing(&self, path: &str) -> Markup {
        let name = |id: &str| match id {
            "*" => "Everybody".to_owned(),
            id => self
                .organisations
                .iter()
                .find(|(known, _)| known == id)
                .map_or_else(|| id.to_owned(), |(_, name)| name.clone()),
        };
        html! {
            section.card {
                header { h2 { "Shared with" } }
                @if self.file.organisations.is_empty() { p.pad.muted { "Nobody outside your organisation." } }
                ul.list {
                    @for organisation in &self.file.organisations {
                        li {
                            span { (name(organisation)) }
                            form.go method="post" action={ (path) "/unshare" } {
                                (form_token(self.user))
                                input type="hidden" name="organisation" value=(organisation);
                                button.plain { "End" span.hidden { " sharing with " (name(organisation)) } }
                            }
                        }
                    }
                }
                form.pad method="post" action={ (path) "/share" } {
                    (form_token(self.user))
                    (who_field("Organisation", ("organisation", "organisations"), self.typed, self.errors))
                    button { "Share" }
                    datalist #organisations {
                        @for (id, name) in self.organisations { option value=(id) { (name) } }
                        option value="*" { "Everybody" }
                    }
                }
                (curl("-X POST \"$SYSTEM/v1/files/resolve\"", &json!({"ids": [self.file.id], "shareWith": ["organisation"]})))
                (curl("-X POST \"$SYSTEM/v1/files/resolve\"", &json!({"ids": [self.file.id], "unshareWith": ["organisation"]})))
            }
        }
    }

    fn linking(&self, path: &str) -> Markup {
        html! {
            section.card {
                header { h2 { "Link" } }
                @if let Some(link) = self.link {
                    div.pad { label for="f-link" { "Whoever has this link can open the file:" }
                        input.secret #f-link value=(link) readonly data-copy; }
                }
                form.pad method="post" action={ (path) "/link" } {
                    (form_token(self.user))
                    label { "A link that works for "
                        select name="hours" {
                            @for (hours, text) in [("1", "an hour"), ("24", "a day"), ("168", "a week")] { option value=(hours) { (text) } }
                        }
                    }
                    " " button { "Make a link" }
                }
            }
        }
    }

    fn archiving(&self, path: &str) -> Markup {
        html! {
            details.card.pad {
                summary { "Archive" }
                p { "Nobody can open an archived file any more, also not from loads and listings that have it." }
                form method="post" action={ (path) "/archive" } { (form_token(self.user)) button.danger { "Archive it" } }
                (curl(&format!("-X DELETE \"$SYSTEM/v1/files/{}\"", self.file.id), &serde_json::Value::Null))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_types_are_short() {
        for (bytes, text) in
            [(0, "0 bytes"), (900, "900 bytes"), (2_048, "2 kB"), (1_572_864, "1.50 MB"), (50 << 30, "50 GB")]
        {
            assert_eq!(size(bytes), text);
        }
        for (name, content_type, text) in [
            ("ticket", "application/pdf", "PDF"),
            ("loads.csv", "application/octet-stream", "CSV"),
            ("3. May load", "application/octet-stream", "OTHER"),
            ("sheet.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"),
        ] {
            let [name, content_type] = [name, content_type].map(str::to_owned);
            assert_eq!(short_type(&FileInfo { name, content_type, ..FileInfo::default() }), text);
        }
    }
}
