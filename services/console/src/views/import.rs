//! The import: the form to begin with, and what its pages have in common.

use maud::{Markup, html};

use super::batches;
use super::layout::{form_token, module};
use super::loads::counted;
use crate::api::batch::{RecognisedFile, StoredBatch};
use crate::fields::Fields;
use crate::format::Clock;
use crate::import::{Draft, NOT_READ, column_label};
use crate::user::User;

/// How dates are read.
pub(super) const DATE_ORDERS: [(&str, &str); 3] = [
    ("auto", "as recognised"),
    ("dmy", "day first: 3/8/2026 is 3 August"),
    ("mdy", "month first: 3/8/2026 is 8 March"),
];
/// How decimals are written.
pub(super) const DECIMALS: [(&str, &str); 3] =
    [("auto", "as recognised"), ("point", "with a point: 29.4"), ("comma", "with a comma: 29,4")];
/// Who orders loads whose rows name no organiser.
pub(super) const ORGANISERS: [(&str, &str); 2] =
    [("own", "are ordered by us"), ("none", "are carried for somebody without an account")];
/// What becomes of loads that are here already.
pub(super) const IF_EXISTS: [(&str, &str); 4] = [
    ("update", "are changed by their cells"),
    ("skip", "are left out"),
    ("refuse", "are problems"),
    ("create", "become further loads"),
];

/// The page to begin with.
pub(crate) struct Start<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) typed: &'a Fields,
    /// `None` if logistics is away.
    pub(crate) batches: Option<&'a [StoredBatch]>,
    pub(crate) next: Option<&'a str>,
    pub(crate) missing: &'a [String],
    pub(crate) error: Option<&'a str>,
    pub(crate) key: &'a str,
    /// Whether the person may import.
    pub(crate) may_write: bool,
}

impl Start<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.head { h1 { "Import" } small { "Loads from a spreadsheet" } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            @if self.may_write { (self.form()) } @else {
                p.notice role="note" { "Your account may not import loads. Ask whoever manages the accounts." }
            }
            @if let Some(batches) = self.batches {
                (batches::list(batches, self.next, self.clock, self.may_write))
            }
        }
    }

    fn form(&self) -> Markup {
        let draft = Draft::of(self.typed);
        html! {
            form.card.pad.import method="post" action="/import/check" enctype="multipart/form-data" data-import {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                (kept(&draft))
                @let options =
                    [("sheet", &draft.sheet), ("dateOrder", &draft.date_order), ("decimal", &draft.decimal)];
                @for (name, value) in options {
                    input type="hidden" name=(name) value=(value);
                }
                @for (heading, column) in &draft.headings {
                    input type="hidden" name="heading" value={ (column.as_deref().unwrap_or(NOT_READ)) " " (heading) };
                }
                div.field.wrong[self.error.is_some()] {
                    label for="f-file" { "A file from your spreadsheet: XLSX or CSV, with headings" }
                    (file_field(self.error.is_some()))
                    @if let Some(error) = self.error { p.error #error-file role="alert" { (error) } }
                    @if !draft.corrections.is_empty() {
                        p.muted {
                            "What you mended (" (counted(draft.corrections.len() as u64, "cell"))
                            ") is kept: choose the same file again. It is dropped with another file or sheet."
                        }
                    }
                }
                details open[!self.typed.get("pasted").is_empty()] {
                    summary { "Or paste rows from your spreadsheet" }
                    label.hidden for="f-pasted" { "Rows with their headings" }
                    textarea #f-pasted name="pasted" rows="6"
                        placeholder="Reference\tDelivery date\tHaulier\tCommodity\tWeight (t)" {
                        (self.typed.get("pasted"))
                    }
                }
                div.field {
                    label for="f-ifExists" { "Loads that are here already" }
                    (choices("ifExists", &IF_EXISTS, &draft.if_exists))
                }
                div.field {
                    label for="f-organiser" { "Loads without an organiser in the sheet" }
                    (choices("organiser", &ORGANISERS, &draft.organiser))
                }
                div.actions {
                    button.primary { "Check" }
                    a.btn href="/import/template.xlsx" { "Empty sheet to fill in (XLSX)" }
                    a.btn href="/import/template.csv" { "CSV" }
                }
                p.muted { "Nothing is stored until you have seen what would happen. Blank cells leave a load as it is." }
            }
            (module("import.js"))
        }
    }
}

/// Returns the field of the file.
pub(super) fn file_field(has_error: bool) -> Markup {
    html! {
        input #f-file type="file" name="file" multiple accept=".xlsx,.csv,.tsv,.txt,text/csv"
            aria-describedby=[has_error.then_some("error-file")];
    }
}

/// Returns the fields that carry what was mended.
pub(super) fn kept(draft: &Draft) -> Markup {
    html! {
        input type="hidden" name="corrections" value=(draft.corrections_field());
        input type="hidden" name="content" value=(draft.content);
        @for sheet in &draft.read { input type="hidden" name="read" value=(sheet); }
        @for row in &draft.decided { input type="hidden" name="decided" value=(row); }
    }
}

/// Returns a field with choices.
pub(super) fn choices(name: &str, choices: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        select id={ "f-" (name) } name=(name) {
            @for (value, label) in choices { option value=(value) selected[*value == chosen] { (label) } }
        }
    }
}

/// Returns the page of an import that takes longer. It opens the page that looks for the import by itself, if there is
/// one.
pub(crate) fn running(again: Option<&str>) -> Markup {
    html! {
        div.head { h1 { "The import is running" } }
        p.notice role="status" {
            "Large sheets take a minute or two. You can leave this page: the import goes on, and appears under Import."
        }
        p {
            @match again {
                Some(again) => a.btn href=(again) data-again { "Has it arrived?" },
                None => a.btn href="/import" { "Look for it under Import" },
            }
        }
        (module("import.js"))
    }
}

/// Returns the page of an import that did not appear in time.
pub(crate) fn not_arrived() -> Markup {
    html! {
        div.head { h1 { "The import has not arrived" } }
        p.notice.bad role="alert" {
            "It is not among the imports after ten minutes. Either it was refused, or every row was here already. Check the \
             file again: it shows which rows are new."
        }
        p { a.btn href="/import" { "Back to Import" } }
    }
}

/// Returns how a file was read, as a sentence.
pub(super) fn read_as(file: &RecognisedFile) -> String {
    let rows = file
        .sheets
        .iter()
        .find(|sheet| Some(&sheet.name) == file.sheet.as_ref())
        .and_then(|sheet| sheet.rows);
    let mut parts: Vec<String> = rows.map(|rows| counted(rows as u64, "row")).into_iter().collect();
    if let Some(sheet) = &file.sheet {
        parts.push(format!("sheet {sheet}"));
    }
    parts.push(format!("headings in line {}", file.header_line));
    parts.extend(match file.date_order.as_deref() {
        Some("dmy") => Some("dates day first".to_owned()),
        Some("mdy") => Some("dates month first".to_owned()),
        _ => None,
    });
    parts.extend((file.decimal.as_deref() == Some("comma")).then(|| "decimal comma".to_owned()));
    parts.join(" · ")
}

/// Returns what people call a part of an upload.
pub(super) fn upload_label(path: &str) -> &str {
    match path {
        "file" => "The file",
        "sheet" => "The sheet",
        "headings" => "The headings",
        path if path.starts_with("corrections") => "A mended cell",
        path => column_label(path),
    }
}
