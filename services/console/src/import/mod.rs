//! An import while it is mended: what a person decided about a sheet, as fields of forms and as the API takes it. The
//! console keeps neither the sheet nor the decisions: both come again with each form.

mod columns;
mod content;
mod faults;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::fields::Fields;
use crate::format::parse_date;

pub(crate) use columns::{COLUMNS, column_label};
pub(crate) use content::Content;
pub(crate) use faults::{Cell, FaultyRow, Group, Overview};

/// The text fields of the forms.
pub(crate) const TEXTS: [&str; 20] = [
    "form-token",
    "key",
    "pasted",
    "sheet",
    "dateOrder",
    "decimal",
    "ifExists",
    "organiser",
    "heading",
    "corrections",
    "columns",
    "cell",
    "value",
    "mend",
    "same",
    "same-all",
    "decided",
    "content",
    "read",
    "checked",
];
/// The fields that name rows by their numbers, so that they mean other rows in another sheet.
const OF_ROWS: [&str; 7] = ["corrections", "cell", "value", "mend", "same", "same-all", "decided"];
/// The most corrections that the API takes.
pub(crate) const MAX_CORRECTIONS: usize = 1_000;
/// The word that stands for a heading that is not read.
pub(crate) const NOT_READ: &str = "-";

/// What a form wants of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What would happen.
    Check,
    /// The import of all rows.
    Run,
    /// The import of the rows without problems.
    RunGoodRows,
    /// The sheet with a column of problems, in this format.
    Sheet(&'static str),
}

impl Purpose {
    /// Returns true if loads are stored.
    pub(crate) fn stores(self) -> bool {
        matches!(self, Self::Run | Self::RunGoodRows)
    }
}

/// What a person decided about a sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Texts that replace cells, by row and column.
    pub(crate) corrections: BTreeMap<(usize, String), String>,
    /// The column of a heading; `None`: it is not read.
    pub(crate) headings: BTreeMap<String, Option<String>>,
    /// Rows that are new loads, although another load has their reference.
    pub(crate) decided: BTreeSet<usize>,
    /// Whether a row with the reference of another load is still to be decided.
    pub(crate) is_undecided: bool,
    pub(crate) sheet: String,
    pub(crate) date_order: String,
    pub(crate) decimal: String,
    pub(crate) if_exists: String,
    /// Who orders the loads whose rows name no organiser: `own` or `none`.
    pub(crate) organiser: String,
    /// The digest of the files whose rows the decisions are about.
    pub(crate) content: String,
    /// The names under which the sheet of these rows may be chosen.
    pub(crate) read: Vec<String>,
    /// What was checked: a fingerprint of a draft. Empty if nothing may be imported yet.
    pub(crate) checked: String,
    /// Whether decisions about other content were dropped.
    pub(crate) is_of_other: bool,
}

impl Draft {
    /// Reads the fields of a form.
    pub(crate) fn of(fields: &Fields) -> Self {
        let word = |name: &str, known: &[&str]| {
            let word = fields.get(name);
            if known.contains(&word) { word.to_owned() } else { known[0].to_owned() }
        };
        let mut draft = Self {
            sheet: fields.get("sheet").to_owned(),
            date_order: word("dateOrder", &["auto", "dmy", "mdy"]),
            decimal: word("decimal", &["auto", "point", "comma"]),
            if_exists: word("ifExists", &["update", "skip", "create", "refuse"]),
            organiser: word("organiser", &["own", "none"]),
            content: fields.get("content").to_owned(),
            read: fields.all("read").into_iter().map(str::to_owned).collect(),
            checked: fields.get("checked").to_owned(),
            decided: fields.all("decided").into_iter().filter_map(|row| row.parse().ok()).collect(),
            ..Self::default()
        };
        let earlier: Vec<(usize, String, String)> =
            serde_json::from_str(fields.get("corrections")).unwrap_or_default();
        draft.corrections.extend(earlier.into_iter().map(|(row, column, value)| ((row, column), value)));
        for (cell, value) in fields.all("cell").into_iter().zip(fields.all("value")) {
            let Some((rows, column, was)) = split_cell(cell) else { continue };
            // A field of one line has no line breaks, also where the cell has some.
            if without_breaks(value) != without_breaks(was) {
                draft.mend(&rows, column, value.trim());
            }
        }
        if let Some((rows, column, value)) = split_cell(fields.get("mend")) {
            draft.mend(&rows, column, value);
        }
        for heading in fields.all("heading") {
            // Forms end lines with two characters.
            let heading = &heading.replace("\r\n", "\n");
            let (column, heading) = heading.split_once(' ').unwrap_or((heading, ""));
            if !column.is_empty() && !heading.is_empty() {
                let column = (column != NOT_READ).then(|| column.to_owned());
                draft.headings.insert(heading.to_owned(), column);
            }
        }
        draft.decide(fields);
        draft
    }

    /// Reads the fields of a form that came with this content. What was decided about the rows of another content, or
    /// of another sheet, is dropped.
    pub(crate) fn of_upload(fields: &Fields, content: String) -> Self {
        let draft = Self::of(fields);
        if draft.content == content && draft.read.contains(&draft.sheet) {
            return draft;
        }
        let others = fields.0.iter().filter(|(name, _)| !OF_ROWS.contains(&name.as_str()));
        Self {
            content,
            read: vec![draft.sheet],
            checked: String::new(),
            is_of_other: !draft.corrections.is_empty() || !draft.decided.is_empty(),
            ..Self::of(&Fields(others.cloned().collect()))
        }
    }

    /// Returns true if this is what was checked, so that it may be imported.
    pub(crate) fn is_as_checked(&self) -> bool {
        !self.is_undecided && self.checked == self.fingerprint()
    }

    /// Returns what distinguishes this draft from all others of the same content.
    pub(crate) fn fingerprint(&self) -> String {
        let options = [&self.date_order, &self.decimal, &self.if_exists, &self.organiser];
        let all = json!([options, self.headings, self.corrections_field(), self.decided]).to_string();
        let mut content = Content::default();
        content.add(all.as_bytes());
        content.finish()
    }

    fn mend(&mut self, rows: &[usize], column: &str, value: &str) {
        // The name of a month leaves no doubt. What has none is read as the other dates of the sheet.
        let is_named = column == "deliveryDateISO" && value.contains(char::is_alphabetic);
        let day = is_named.then(|| parse_date(value)).flatten().map(|day| day.to_string());
        let value = day.as_deref().unwrap_or(value);
        for row in rows {
            self.corrections.insert((*row, column.to_owned()), value.to_owned());
        }
    }

    /// Applies what was decided about rows with the reference of another load: `ROW DECISION LOAD`.
    fn decide(&mut self, fields: &Fields) {
        let for_all = fields.get("same-all");
        let columns: Vec<_> = fields.get("columns").split_whitespace().collect();
        for decision in fields.all("same") {
            let mut words = decision.split(' ');
            let (Some(Ok(row)), Some(own), Some(load)) =
                (words.next().map(str::parse::<usize>), words.next(), words.next())
            else {
                continue;
            };
            match if for_all.is_empty() { own } else { for_all } {
                "move" => self.mend(&[row], "id", load),
                "new" => drop(self.decided.insert(row)),
                // A row without texts is blank, and so left out.
                "skip" => columns.iter().for_each(|column| self.mend(&[row], column, "")),
                _ => self.is_undecided = true,
            }
        }
    }

    /// Returns the corrections as a field of the next form.
    pub(crate) fn corrections_field(&self) -> String {
        let corrections: Vec<_> =
            self.corrections.iter().map(|((row, column), value)| json!([row, column, value])).collect();
        json!(corrections).to_string()
    }

    /// Returns the fields of the API. `own` is the id of the person's organisation.
    pub(crate) fn api_fields(&self, purpose: Purpose, own: Option<&str>) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("ifExists", self.if_exists.clone()),
            ("dateOrder", self.date_order.clone()),
            ("decimal", self.decimal.clone()),
            ("encoding", "auto".to_owned()),
        ];
        match purpose {
            Purpose::Check => fields.push(("dryRun", "true".to_owned())),
            Purpose::Sheet(format) => {
                fields.extend([("dryRun", "true".to_owned()), ("format", format.to_owned())]);
            }
            Purpose::Run | Purpose::RunGoodRows => {}
        }
        if matches!(purpose, Purpose::Check | Purpose::RunGoodRows) {
            fields.push(("invalidRows", "leaveOut".to_owned()));
        }
        if !matches!(purpose, Purpose::Sheet(_)) {
            fields.push(("include", "sameReference".to_owned()));
        }
        if let Some(own) = own.filter(|_| self.organiser == "own") {
            fields.push(("organisationId", own.to_owned()));
        }
        if !self.sheet.is_empty() {
            fields.push(("sheet", self.sheet.clone()));
        }
        if !self.headings.is_empty() {
            fields.push(("headings", json!(self.headings).to_string()));
        }
        if !self.corrections.is_empty() {
            let entries = self
                .corrections
                .iter()
                .map(|((row, column), value)| json!({"row": row, "column": column, "value": value}));
            let entries: Vec<_> = entries.collect();
            fields.push(("corrections", json!(entries).to_string()));
        }
        fields
    }
}

fn without_breaks(text: &str) -> String {
    text.replace(['\r', '\n'], "").trim().to_owned()
}

/// Splits `61,70 commodityName Feed Weat` into rows, column and text.
fn split_cell(cell: &str) -> Option<(Vec<usize>, &str, &str)> {
    let (rows, rest) = cell.split_once(' ')?;
    let (column, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let rows: Vec<usize> = rows.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    (!column.is_empty()).then_some((rows, column, text.trim()))
}

/// Returns what [`split_cell`] reads.
pub(crate) fn cell_name(rows: &[usize], column: &str, text: &str) -> String {
    let rows: Vec<_> = rows.iter().map(ToString::to_string).collect();
    format!("{} {column} {text}", rows.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn corrected(draft: &Draft) -> Vec<(usize, &str, &str)> {
        draft
            .corrections
            .iter()
            .map(|((row, column), value)| (*row, column.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn a_mended_cell_counts_for_all_its_rows() {
        let draft = Draft::of(&fields(&[
            ("corrections", r#"[[3,"weight","29"],[61,"commodityName","Wheat"]]"#),
            ("cell", "61,70 commodityName Feed Weat"),
            ("value", "Feed Wheat "),
            ("cell", "5 reference "),
            ("value", ""),
            ("cell", "15 deliveryDateISO soon"),
            ("value", "Thu 10 Dec 2026"),
            ("mend", "14 deliveryDateISO 30/09/2026"),
        ]));
        let expected = [
            (3, "weight", "29"),
            (14, "deliveryDateISO", "30/09/2026"),
            (15, "deliveryDateISO", "2026-12-10"),
            (61, "commodityName", "Feed Wheat"),
            (70, "commodityName", "Feed Wheat"),
        ];
        assert_eq!(corrected(&draft), expected);
        let field = draft.corrections_field();
        assert_eq!(
            Draft::of(&fields(&[("corrections", field.as_str())])),
            Draft { corrections: draft.corrections.clone(), ..Draft::of(&Fields::default()) }
        );
    }

    #[test]
    fn decisions_are_those_about_one_content_and_sheet() {
        let form = |sheet: &'static str| {
            let of = [
                ("content", "a"),
                ("read", ""),
                ("read", "Loads"),
                ("corrections", r#"[[3,"weight","29"]]"#),
            ];
            fields(
                &[&of[..], &[("sheet", sheet), ("decided", "4"), ("cell", "5 weight x"), ("value", "7")]]
                    .concat(),
            )
        };
        for same in ["", "Loads"] {
            let draft = Draft::of_upload(&form(same), "a".to_owned());
            assert_eq!((draft.corrections.len(), draft.decided.len(), draft.is_of_other), (2, 1, false));
        }
        for (sheet, content) in [("Other", "a"), ("Loads", "b")] {
            let draft = Draft::of_upload(&form(sheet), content.to_owned());
            assert!(draft.corrections.is_empty() && draft.decided.is_empty() && draft.is_of_other);
            assert_eq!((draft.content.as_str(), draft.read.as_slice()), (content, &[sheet.to_owned()][..]));
        }
        assert!(!Draft::of_upload(&Fields::default(), "b".to_owned()).is_of_other, "nothing to drop");
    }

    #[test]
    fn only_what_was_checked_is_imported() {
        let checked = Draft::of(&fields(&[("dateOrder", "dmy")])).fingerprint();
        let as_checked = |more: &[(&str, &str)]| {
            Draft::of(&fields(&[&[("checked", checked.as_str())], more].concat())).is_as_checked()
        };
        assert!(as_checked(&[("dateOrder", "dmy"), ("cell", "5 weight a\r\nb"), ("value", "ab")]));
        for other in [("dateOrder", "mdy"), ("dateOrder", "auto")] {
            assert!(!as_checked(&[other]));
        }
        for other in [("ifExists", "skip"), ("mend", "1 weight 3"), ("decided", "1"), ("same", "1 ask L")] {
            assert!(!as_checked(&[("dateOrder", "dmy"), other]), "{other:?}");
        }
    }

    #[test]
    fn decisions_about_known_references_become_corrections() {
        let same = [
            ("columns", "reference weight"),
            ("same", "1 move L1"),
            ("same", "2 new L2"),
            ("same", "3 skip L3"),
        ];
        let draft = Draft::of(&fields(&same));
        assert_eq!(corrected(&draft), [(1, "id", "L1"), (3, "reference", ""), (3, "weight", "")]);
        assert_eq!((draft.decided.iter().copied().collect::<Vec<_>>(), draft.is_undecided), (vec![2], false));
        let open = Draft::of(&fields(&[("same", "1 ask L1")]));
        assert!(open.is_undecided && open.corrections.is_empty());
        let all = Draft::of(&fields(&[("same", "1 ask L1"), ("same", "2 ask L2"), ("same-all", "move")]));
        assert_eq!(corrected(&all), [(1, "id", "L1"), (2, "id", "L2")]);
    }

    #[test]
    fn an_import_updates_what_exists_unless_told_otherwise() {
        let draft = Draft::of(&fields(&[
            ("heading", "commodityName Crop"),
            ("heading", "- Remark"),
            ("heading", " Day"),
        ]));
        let api = draft.api_fields(Purpose::Check, Some("grain"));
        assert!(
            api.contains(&("ifExists", "update".to_owned())) && api.contains(&("dryRun", "true".to_owned()))
        );
        assert!(
            api.contains(&("headings", r#"{"Crop":"commodityName","Remark":null}"#.to_owned())),
            "{api:?}"
        );
        assert!(api.contains(&("organisationId", "grain".to_owned())));
        let nobody = Draft::of(&fields(&[("organiser", "none")])).api_fields(Purpose::Run, Some("grain"));
        assert!(!nobody.iter().any(|(name, _)| *name == "organisationId"), "{nobody:?}");
        let run = draft.api_fields(Purpose::Run, None);
        assert!(!run.iter().any(|(name, _)| ["dryRun", "invalidRows", "format"].contains(name)), "{run:?}");
        assert!(draft.api_fields(Purpose::Sheet("XLSX"), None).contains(&("format", "XLSX".to_owned())));
        assert_eq!(Draft::of(&fields(&[("ifExists", "delete")])).if_exists, "update");
    }
}
