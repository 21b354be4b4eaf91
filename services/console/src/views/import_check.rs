//! What an import would do, with everything that is to be mended, or what it has done.

use maud::{Markup, html};

use super::batches::actions;
use super::import::{
    DATE_ORDERS, DECIMALS, IF_EXISTS, ORGANISERS, choices, file_field, kept, read_as, upload_label,
};
use super::layout::{form_token, module};
use super::load::{member_name, member_value};
use super::loads::counted;
use crate::api::batch::{BatchAnswer, Heading, SameReference};
use crate::api::model::Load;
use crate::api::{segment, with_query};
use crate::format::{Clock, tonnes};
use crate::import::{
    COLUMNS, Cell, Draft, FaultyRow, Group, MAX_CORRECTIONS, NOT_READ, Overview, Purpose, cell_name,
    column_label,
};
use crate::user::User;

/// The most rows with a known reference, changed loads and warnings that a page shows.
const MAX_SHOWN: usize = 100;

/// What an import would do, or has done.
pub(crate) struct ImportView<'a> {
    pub(crate) user: &'a User,
    pub(crate) clock: Clock,
    pub(crate) draft: &'a Draft,
    pub(crate) pasted: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) answer: &'a BatchAnswer,
    /// Whether the answer is a success.
    pub(crate) is_accepted: bool,
    /// Loads that the answer names, as far as they were found.
    pub(crate) loads: &'a [Load],
    pub(crate) purpose: Purpose,
    /// Whether the person wanted to import.
    pub(crate) wanted_import: bool,
    pub(crate) key: &'a str,
}

impl ImportView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let answer = self.answer;
        let overview = Overview::of(answer);
        let is_stored = self.is_accepted && self.purpose.stores();
        if is_stored && answer.left_out == 0 {
            return self.done();
        }
        let name = self.names.join(", ");
        html! {
            form.import method="post" action="/import/check" enctype="multipart/form-data" data-import {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                (kept(&self.read_draft()))
                input type="hidden" name="checked" value=(self.checked(is_stored));
                input type="hidden" name="columns" value=(self.columns().join(" "));
                div.head {
                    h1 { "Import " (name) }
                    @if let [file] = answer.recognised.as_slice() { small { (read_as(file)) } }
                    div.actions { (self.buttons(is_stored)) }
                }
                (self.notices(&overview, is_stored))
                @if self.is_accepted { (self.tiles()) }
                (self.file_again())
                (self.questions(&overview))
                (self.headings(&overview))
                (self.same_references())
                (self.faults(&overview))
                (self.changes())
                (self.warnings())
                p.muted {
                    "Nothing is stored until you import. The file on your disk stays as it is, and blank cells leave a \
                     load as it is. " a href="/import" { "Begin with another file" }
                }
                (self.curl())
            }
            (module("import.js"))
        }
    }

    /// Returns the page of an import without problems.
    fn done(&self) -> Markup {
        let answer = self.answer;
        html! {
            div.head { h1 { "Imported " (self.names.join(", ")) } }
            p.notice role="status" data-import-done { (answer.message) }
            (self.tiles())
            (self.warnings())
            (actions(answer.batch_id.as_ref().filter(|_| answer.count > 0)))
            (module("import.js"))
        }
    }

    /// Returns the draft with the names under which the form chooses the sheet that was read.
    fn read_draft(&self) -> Draft {
        let mut read: Vec<_> = self.answer.recognised.iter().filter_map(|file| file.sheet.clone()).collect();
        read.dedup();
        let mut draft = self.draft.clone();
        draft.read = vec![draft.sheet.clone()];
        if let [one] = read.as_slice() {
            draft.read.push(one.clone());
        }
        draft
    }

    /// Returns the fingerprint of what was checked, as the form repeats it; nothing if it cannot be imported yet.
    fn checked(&self, is_stored: bool) -> String {
        if !self.is_accepted || is_stored || self.open_references().next().is_some() {
            return String::new();
        }
        let mut draft = self.draft.clone();
        let headings = self.answer.recognised.iter().flat_map(|file| &file.headings);
        draft.headings = headings
            .filter_map(|heading| {
                let column = match draft.headings.get(&heading.text) {
                    Some(None) => None,
                    _ => Some(heading.column.clone()?),
                };
                Some((heading.text.clone(), column))
            })
            .collect();
        draft.fingerprint()
    }

    /// Returns the rows with a known reference that nobody has decided about.
    fn open_references(&self) -> impl Iterator<Item = &SameReference> {
        self.answer.same_reference.iter().filter(|same| !self.draft.decided.contains(&same.row))
    }

    fn buttons(&self, is_stored: bool) -> Markup {
        let answer = self.answer;
        let good = answer.count + answer.updated;
        // Beyond those that the page asks about, nobody has decided.
        let is_asked = self.open_references().count() <= MAX_SHOWN;
        let is_complete = self.is_accepted && !is_stored && good > 0 && is_asked;
        html! {
            button.primary[!is_complete] name="check" value="again" { "Check again" }
            @if self.names.len() == 1 && !answer.recognised.is_empty() {
                button formaction="/import/problems.xlsx" { "Sheet with a column “Problems”" }
            } @else if self.names.len() > 1 {
                p.muted { "To download the sheet with its problems, choose one file at a time." }
            }
            @if is_complete && answer.left_out == 0 {
                button.primary formaction="/import/run" { "Import " (counted(good as u64, "row")) }
            } @else if is_complete {
                button.primary formaction="/import/run?rows=good" {
                    "Import the " (good) " good " (if good == 1 { "row" } else { "rows" })
                }
            }
        }
    }

    fn notices(&self, overview: &Overview, is_stored: bool) -> Markup {
        let answer = self.answer;
        let is_column = |path: &str| COLUMNS.iter().any(|(name, _)| *name == path);
        let is_named = |path: &str| {
            ["dateOrder", "decimal"].contains(&path)
                || is_column(path)
                || self.headings_of(path).next().is_some()
        };
        let others: Vec<_> = overview.of_upload.iter().filter(|entry| !is_named(&entry.path)).collect();
        let is_told = !others.is_empty() || !answer.validation.is_empty();
        html! {
            @if is_stored {
                p.notice role="status" {
                    (answer.message) " The rows that were left out are below: mend them here and import again, which stores \
                     only what is new, or download the sheet with its problems."
                    @if let Some(id) = &answer.batch_id {
                        " " a href=(with_query("/loads", &[("batch", id)])) { "Show the new loads" }
                        " · " a href={ "/import/batches/" (segment(id)) "/undo" } { "Undo this import" }
                    }
                }
            }
            @if self.draft.is_of_other {
                p.notice.bad role="alert" {
                    "The file or the sheet is another one than before, so what you mended and decided was dropped: it was \
                     about other rows."
                }
            }
            @if self.wanted_import && !self.purpose.stores() {
                p.notice.bad role="alert" {
                    @if self.open_references().next().is_some() {
                        "Nothing is imported yet. Decide first what the rows with a known reference are."
                    } @else {
                        "Nothing is imported yet: this differs from what was checked. Look at it again, then import."
                    }
                }
            }
            @if self.draft.corrections.len() > MAX_CORRECTIONS {
                p.notice.bad role="alert" {
                    "More than " (MAX_CORRECTIONS) " cells are mended here. Mend the others in the spreadsheet: the sheet \
                     with its problems contains what you mended so far."
                }
            }
            @if !self.is_accepted && !is_told { p.notice.bad role="alert" { (answer.message) } }
            @for entry in others {
                p.notice.bad role="alert" {
                    @if !entry.path.is_empty() { b { (upload_label(&entry.path)) } " " } (entry.message)
                }
            }
            @if self.is_accepted && !is_stored && answer.count + answer.updated == 0 && answer.left_out == 0 {
                p.notice role="status" {
                    "There is nothing to import: "
                    @if answer.skipped > 0 { "every row is here already or left out." } @else {
                        "every row is here already, as it is in the file."
                    }
                }
            }
        }
    }

    fn tiles(&self) -> Markup {
        let answer = self.answer;
        let tile = |label: &str, count: usize, is_bad: bool, target: Option<&str>| {
            html! {
                @match target.filter(|_| count > 0) {
                    Some(target) => a.card.tile.bad[is_bad] href=(target) { small { (label) } b { (count) } },
                    None => div.card.tile.bad[is_bad && count > 0] { small { (label) } b { (count) } },
                }
            }
        };
        html! {
            div.tiles {
                (tile("New", answer.count, false, None))
                (tile("Changed", answer.updated, false, (!answer.changes.is_empty()).then_some("#changed")))
                (tile("As they are", answer.unchanged, false, None))
                @if answer.skipped > 0 { (tile("Left out", answer.skipped, false, None)) }
                (tile("To mend first", answer.left_out, true, Some("#mend")))
            }
        }
    }

    fn file_again(&self) -> Markup {
        html! {
            div.again data-file {
                @if self.pasted.is_empty() {
                    label for="f-file" { "Choose " b { (self.names.join(", ")) } " again: it is not kept here" }
                    (file_field(false))
                } @else {
                    details {
                        summary { "Pasted rows" }
                        label.hidden for="f-pasted" { "Rows with their headings" }
                        textarea #f-pasted name="pasted" rows="6" { (self.pasted) }
                    }
                }
            }
        }
    }

    /// Asks what nothing in the file decides, and offers to change what was recognised.
    fn questions(&self, overview: &Overview) -> Markup {
        let asks = |name: &str| {
            overview.of_upload.iter().any(|entry| entry.path == name && entry.code == "required")
        };
        let question = |name: &str, label: &str, known: &[(&str, &str)], chosen: &str, text: &str| {
            let is_open = asks(name);
            html! {
                div.field.wrong[is_open] {
                    label for={ "f-" (name) } { (label) }
                    @if is_open {
                        select id={ "f-" (name) } name=(name) autofocus required {
                            option value="" { "Choose" }
                            @for (value, label) in known.iter().filter(|(value, _)| *value != "auto") {
                                option value=(value) { (label) }
                            }
                        }
                        p.error { (text) }
                    } @else { (choices(name, known, chosen)) }
                }
            }
        };
        let sheets = self.answer.recognised.iter().flat_map(|file| &file.sheets);
        let sheets: Vec<_> = sheets.filter(|sheet| sheet.rows != Some(0)).collect();
        let is_open = asks("dateOrder") || asks("decimal");
        let read: Vec<_> = self.answer.recognised.iter().filter_map(|file| file.sheet.as_deref()).collect();
        html! {
            details.card.pad open[is_open] {
                summary { "How the file is read" }
                div.fields {
                    (question("dateOrder", "Dates", &DATE_ORDERS, &self.draft.date_order,
                        "Every day in the file is 12 or less, so nothing tells day from month."))
                    (question("decimal", "Decimals", &DECIMALS, &self.draft.decimal,
                        "Numbers such as 1,234 could be a thousand or a decimal."))
                    div.field {
                        label for="f-ifExists" { "Loads that are here already" }
                        (choices("ifExists", &IF_EXISTS, &self.draft.if_exists))
                    }
                    div.field {
                        label for="f-organiser" { "Loads without an organiser" }
                        (choices("organiser", &ORGANISERS, &self.draft.organiser))
                    }
                    @if sheets.len() > 1 {
                        div.field {
                            label for="f-sheet" { "Sheet of the workbook" }
                            select #f-sheet name="sheet" {
                                @for sheet in sheets {
                                    option value=(sheet.name) selected[read.contains(&sheet.name.as_str())] {
                                        (sheet.name)
                                        @if let Some(rows) = sheet.rows { ", " (counted(rows as u64, "row")) }
                                        @if sheet.hidden { ", hidden" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the headings of this text.
    fn headings_of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Heading> {
        let all = self.answer.recognised.iter().flat_map(|file| &file.headings);
        all.filter(move |heading| heading.text == text)
    }

    /// Offers to assign the headings, with samples. Open if a heading is unknown or a column missing.
    fn headings(&self, overview: &Overview) -> Markup {
        let is_at_fault = |heading: &Heading| {
            heading.column.is_none() && overview.of_upload.iter().any(|entry| entry.path == heading.text)
        };
        let all: Vec<_> = self.answer.recognised.iter().flat_map(|file| &file.headings).collect();
        let is_missing = |name: &str| {
            overview.of_upload.iter().any(|entry| entry.path == name && entry.code == "required")
        };
        let missing = COLUMNS.iter().filter(|(name, _)| is_missing(name));
        // Name or number of the commodity: the service asks for either.
        let missing = missing.map(|(name, label)| if *name == "commodityId" { "Commodity" } else { *label });
        let missing: Vec<_> = missing.collect();
        let is_open = !missing.is_empty() || all.iter().any(|heading| is_at_fault(heading));
        if all.is_empty() {
            return html! {};
        }
        html! {
            details.card.pad open[is_open] #headings {
                summary { "Headings" @if is_open { span.late { ", to be assigned" } } }
                @if !missing.is_empty() { p.late { "Missing: " (missing.join(", ")) "." } }
                div.scroll tabindex="0" role="region" aria-label="Headings" {
                    table {
                        thead { tr { th { "Heading in the file" } th { "For example" } th { "Is" } } }
                        tbody {
                            @for (index, heading) in all.iter().enumerate() {
                                tr.failed[is_at_fault(heading)] {
                                    td { label for={ "h-" (index) } { (heading.text) } }
                                    td.muted { (heading.samples.join(" · ")) }
                                    td { (self.assignment(index, heading, is_at_fault(heading))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn assignment(&self, index: usize, heading: &Heading, is_at_fault: bool) -> Markup {
        let name = &heading.text;
        let chosen = self.draft.headings.get(name).map(Option::as_deref);
        let is_not_read = chosen == Some(None);
        html! {
            select id={ "h-" (index) } name="heading" data-heading=(name) {
                @if is_at_fault || chosen.is_none() && heading.column.is_none() {
                    option value="" selected[chosen.is_none()] { (if is_at_fault { "Choose" } else { "not read" }) }
                }
                option value={ (NOT_READ) " " (name) } selected[is_not_read] { "nothing: leave it out" }
                @for (column, label) in COLUMNS {
                    option value={ (column) " " (name) } selected[heading.column.as_deref() == Some(column)] { (label) }
                }
            }
        }
    }

    /// Returns the columns that the files have.
    fn columns(&self) -> Vec<&str> {
        let headings = self.answer.recognised.iter().flat_map(|file| &file.headings);
        let known = headings.filter_map(|heading| heading.column.as_deref());
        known.filter(|column| COLUMNS.iter().any(|(name, _)| name == column)).collect()
    }

    /// Asks what rows are whose reference a load of another date has.
    fn same_references(&self) -> Markup {
        let same: Vec<&SameReference> = self.open_references().take(MAX_SHOWN).collect();
        if same.is_empty() {
            return html! {};
        }
        html! {
            section.card #same {
                header { h2 { "Known references with another date" } small { "Moved, new, or not to import?" } }
                div.scroll tabindex="0" role="region" aria-label="Known references" { table {
                    thead { tr { th { "Reference" } th { "The load has" } th { "The file has" } th { "It is" } } }
                    tbody { @for same in &same { (self.same_reference(same)) } }
                } }
                div.pad.actions {
                    "For all of them:"
                    @for (word, label) in [("move", "Move the loads"), ("new", "They are new"), ("skip", "Leave them out")] {
                        button name="same-all" value=(word) { (label) }
                    }
                }
            }
        }
    }

    fn same_reference(&self, same: &SameReference) -> Markup {
        let load = self.loads.iter().find(|load| load.id == same.load_id);
        let cells = self.answer.rows.iter().find(|row| row.row == same.row).map(|row| &row.cells);
        let cell = |name: &str| cells.and_then(|cells| cells.get(name)).map_or("", String::as_str);
        let decision = |word: &str| format!("{} {word} {}", same.row, same.load_id);
        html! {
            tr {
                td { a.main href={ "/loads/" (segment(&same.load_id)) } target="_blank" {
                    (load.map_or(cell("reference"), |load| &load.reference))
                } }
                td {
                    (self.clock.delivery(&same.delivery))
                    @if let Some(load) = load {
                        span.sub {
                            (load.carrier.as_ref().map_or("no haulier", |carrier| &carrier.name)) ", " (load.commodity.name)
                            ", " (tonnes(load.weight)) " t"
                        }
                    }
                }
                td {
                    b { (cell("deliveryDateISO")) }
                    span.sub {
                        @let parts = [cell("carrierName"), cell("commodityName"), cell("weight")];
                        (parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
                    }
                }
                td {
                    select name="same" aria-label={ "What row " (same.row + 1) " is" } {
                        @for (word, label) in [
                            ("ask", "Choose"), ("move", "the same load, moved to the new date"), ("new", "a new load"),
                            ("skip", "not to import"),
                        ] { option value=(decision(word)) selected[word == "ask"] { (label) } }
                    }
                }
            }
        }
    }

    fn faults(&self, overview: &Overview) -> Markup {
        let rows = overview.rows(self.answer);
        if rows.is_empty() {
            return html! {};
        }
        let has_several = self.names.len() > 1;
        let total = self.answer.left_out.max(rows.len());
        html! {
            section.card #mend {
                header {
                    h2 { "To mend" }
                    small {
                        (counted(total as u64, "row")) " with problems"
                        @if rows.len() < total { ". Equal problems are shown once, the first " (rows.len()) " rows first" }
                    }
                }
                div.scroll tabindex="0" role="region" aria-label="Rows with problems" { table {
                    thead { tr {
                        th.num { "Row" }
                        @for column in &overview.columns { th.num[is_number(column)] { (column_label(column)) } }
                    } }
                    tbody { @for row in &rows { (faulty_row(row, &overview.columns, has_several)) } }
                } }
            }
        }
    }

    fn changes(&self) -> Markup {
        let changes = &self.answer.changes;
        if changes.is_empty() {
            return html! {};
        }
        html! {
            section.card #changed {
                header {
                    h2 { "Changed" }
                    @if changes.len() > MAX_SHOWN { small { "the first " (MAX_SHOWN) } }
                }
                div.scroll tabindex="0" role="region" aria-label="Changed loads" { table {
                    thead { tr { th { "Load" } th { "Was, and becomes" } } }
                    tbody {
                        @for change in changes.iter().take(MAX_SHOWN) {
                            @let load = self.loads.iter().find(|load| load.id == change.load_id);
                            tr {
                                td { a.main href={ "/loads/" (segment(&change.load_id)) } target="_blank" {
                                    (load.map_or("load", |load| &load.reference))
                                } }
                                td {
                                    @for (name, change) in &change.changes {
                                        div {
                                            (member_name(name)) " "
                                            @if let Some(from) = member_value(self.clock, name, &change.from) {
                                                del { (from) } " "
                                            }
                                            @match member_value(self.clock, name, &change.to) {
                                                Some(to) => ins { (to) },
                                                None => "removed",
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                } }
            }
        }
    }

    fn warnings(&self) -> Markup {
        let warnings = &self.answer.warnings;
        html! {
            @if !warnings.is_empty() {
                section.card.pad #warnings {
                    h2 { "To know" }
                    ul {
                        @for warning in warnings.iter().take(MAX_SHOWN) {
                            li {
                                (warning.message)
                                @if let Some(rows) = warning.data["rows"].as_array().filter(|rows| rows.len() > 1) {
                                    " (" (counted(rows.len() as u64, "row")) ")"
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the operation as a command.
    fn curl(&self) -> Markup {
        let quoted = |text: &str| text.replace('\'', "'\\''");
        let mut parts =
            vec!["curl -X POST \"$LOGISTICS/v1/loads/batch\" -H \"Authorization: Bearer $TOKEN\"".to_owned()];
        parts.extend(self.names.iter().map(|name| format!("-F 'file=@{}'", quoted(name))));
        let fields = self.draft.api_fields(Purpose::Check, self.user.person.organisation_id.as_deref());
        parts.extend(fields.iter().map(|(name, value)| format!("-F '{name}={}'", quoted(value))));
        html! {
            details.curl { summary { "As curl" } pre tabindex="0" { (parts.join(" ")) } }
        }
    }
}

fn is_number(column: &str) -> bool {
    ["weight", "weightNet"].contains(&column)
}

fn faulty_row(row: &FaultyRow<'_>, columns: &[String], has_several: bool) -> Markup {
    html! {
        tr {
            td.num {
                (row.cells.line)
                @if let Some(file) = row.cells.file.as_ref().filter(|_| has_several) { span.sub { (file) } }
                @for message in &row.messages { span.why { (message) } }
            }
            @for (column, cell) in columns.iter().zip(&row.shown) {
                @match cell {
                    Cell::Good(text) => td.num[is_number(column)] { (text) },
                    Cell::Alike(group) => td.fault { (group.text) span.why { "as above" } },
                    Cell::Bad(group) => td.fault { (mended(group)) },
                }
            }
        }
    }
}

/// Returns the field of a faulty cell, with its suggestions.
fn mended(group: &Group) -> Markup {
    let Group { rows, column, text, message, suggestions, new_party } = group;
    let label = column_label(column);
    let first = rows.first().copied().unwrap_or_default();
    let id = format!("c-{first}-{column}");
    html! {
        input type="hidden" name="cell" value=(cell_name(rows, column, text));
        input id=(id) name="value" value=(text) aria-label={ (label) " of " (counted(rows.len() as u64, "row")) }
            aria-describedby={ "why-" (id) } autocomplete="off";
        span.why id={ "why-" (id) } {
            (message) @if rows.len() > 1 { ". In " (rows.len()) " rows, mended together" }
        }
        @for suggestion in suggestions {
            button name="mend" value=(cell_name(rows, column, suggestion)) { (suggestion) }
        }
        @if let Some(party) = new_party {
            details {
                summary { "It is a new one" }
                input type="hidden" name="cell" value=(cell_name(rows, party, ""));
                input name="value" value="" placeholder="its id in Drover" aria-label={ "Id of " (text) } autocomplete="off";
            }
        }
    }
}
