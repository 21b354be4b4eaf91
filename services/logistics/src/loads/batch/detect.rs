//! Decides from the texts of a file how its dates and numbers are written (docs/api/batches.md, "Spreadsheets").

use std::fs::File;

use tables::text::unescape_formula;
use tables::{Budget, Cell, TableError};

use super::options::{CellOptions, DateOrder, DecimalSeparator};
use super::table::{FileRow, Layout, Table};
use crate::loads::members::Kind;

/// How the texts of a file are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detected {
    /// Absent if no text decides, though there may be texts that ask.
    pub(crate) date_order: Option<DateOrder>,
    /// Like `date_order`.
    pub(crate) decimal: Option<DecimalSeparator>,
    /// A date could have both orders, and no other one decides.
    pub(crate) asks_date_order: bool,
    /// A date is the same in both orders, and no other one decides.
    has_same_dates: bool,
    /// A number could have both separators, and no other one decides.
    pub(crate) asks_decimal: bool,
}

impl Detected {
    /// Returns how cells are read. What is asked is read in the way in which no text is invalid.
    pub(crate) fn options(self) -> CellOptions {
        let is_either = self.asks_date_order || self.has_same_dates;
        let date_order = if is_either { DateOrder::Dmy } else { DateOrder::Iso };
        let decimal = if self.asks_decimal { DecimalSeparator::Comma } else { DecimalSeparator::Point };
        CellOptions {
            date_order: self.date_order.unwrap_or(date_order),
            decimal: self.decimal.unwrap_or(decimal),
        }
    }
}

/// What a text tells about two ways to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence<T> {
    Nothing,
    /// It is the same in both ways.
    Same,
    /// It can be read in both ways, and is something else in each.
    Either,
    Only(T),
}

/// The texts that demand each of two ways, and whether some could have both or are the same in both.
#[derive(Debug)]
struct Votes<T> {
    ways: Vec<(T, usize)>,
    has_either: bool,
    has_same: bool,
}

impl<T: Copy + PartialEq> Votes<T> {
    fn new() -> Self {
        Self { ways: Vec::new(), has_either: false, has_same: false }
    }

    fn add(&mut self, evidence: Evidence<T>) {
        match evidence {
            Evidence::Nothing => {}
            Evidence::Same => self.has_same = true,
            Evidence::Either => self.has_either = true,
            Evidence::Only(way) => match self.ways.iter_mut().find(|(known, _)| *known == way) {
                Some((_, count)) => *count += 1,
                None => self.ways.push((way, 1)),
            },
        }
    }

    /// Returns the way that most texts demand. Of equals, the one that a text demands first.
    fn winner(&self) -> Option<T> {
        self.ways.iter().rev().max_by_key(|(_, count)| *count).map(|(way, _)| *way)
    }
}

/// Reads a file to its end, or as far as it can be read, and decides what the form leaves open. `first_row` is the
/// number of its first row.
///
/// # Errors
/// If the file is not a table, lacks the worksheet, or exceeds the limits before its first row.
pub(crate) fn detect(
    file: &File,
    layout: &Layout,
    first_row: usize,
    (date_order, decimal): (Option<DateOrder>, Option<DecimalSeparator>),
    budget: &mut Budget,
) -> Result<Detected, TableError> {
    if date_order.is_some() && decimal.is_some() {
        return Ok(Detected { date_order, decimal, ..Detected::default() });
    }
    let mut table = Table::open(file, layout, false, budget)?;
    let positions = |kind: Kind| {
        let columns = ["deliveryDateISO", "weight", "weightNet"].into_iter();
        let positions = columns.filter_map(|column| table.header.position(column));
        positions.filter(|at| table.header.kind(*at) == Some(kind)).collect::<Vec<_>>()
    };
    let (dates, numbers) = (positions(Kind::Date), positions(Kind::Number));
    let (mut orders, mut separators) = (Votes::new(), Votes::new());
    let mut rows = first_row;
    // What is wrong with the rest is reported when the rows are validated.
    while let Ok(Some(row)) = table.next(&mut rows, budget) {
        let FileRow::Data(index, mut row) = row else { continue };
        table.correct(index, &mut row.cells);
        let texts = |positions: &[usize]| {
            let cells = positions.iter().filter_map(|at| row.cells.get(*at));
            let text =
                |cell: &Cell| if let Cell::Text(text) = cell { Some(text.trim().to_owned()) } else { None };
            cells.filter_map(text).filter(|text| !text.is_empty()).collect::<Vec<_>>()
        };
        for text in texts(&dates) {
            orders.add(date_evidence(unescape_formula(&text)));
        }
        for text in texts(&numbers) {
            separators.add(number_evidence(unescape_formula(&text)));
        }
    }
    let date_order = date_order.or_else(|| orders.winner());
    let decimal = decimal.or_else(|| separators.winner());
    Ok(Detected {
        date_order,
        decimal,
        asks_date_order: date_order.is_none() && orders.has_either,
        has_same_dates: date_order.is_none() && orders.has_same,
        asks_decimal: decimal.is_none() && separators.has_either,
    })
}

fn date_evidence(text: &str) -> Evidence<DateOrder> {
    if DateOrder::Iso.to_iso(text).is_some() {
        return Evidence::Nothing;
    }
    match (DateOrder::Dmy.to_iso(text), DateOrder::Mdy.to_iso(text)) {
        (Some(dmy), Some(mdy)) if dmy == mdy => Evidence::Same,
        (Some(_), Some(_)) => Evidence::Either,
        (Some(_), None) => Evidence::Only(DateOrder::Dmy),
        (None, Some(_)) => Evidence::Only(DateOrder::Mdy),
        (None, None) => Evidence::Nothing,
    }
}

fn number_evidence(text: &str) -> Evidence<DecimalSeparator> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some(at) = digits.rfind([',', '.']) else { return Evidence::Nothing };
    let (whole, fraction) = (&digits[..at], &digits[at + 1..]);
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (separator, other) = if digits.as_bytes()[at] == b',' { (',', '.') } else { ('.', ',') };
    let is_number = is_digits(fraction)
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && whole.split(other).all(is_digits);
    if !is_number {
        return Evidence::Nothing;
    }
    let may_separate_thousands =
        fraction.len() == 3 && (1..=3).contains(&whole.len()) && is_digits(whole) && !whole.starts_with('0');
    match separator {
        ',' if may_separate_thousands => Evidence::Either,
        ',' => Evidence::Only(DecimalSeparator::Comma),
        _ => Evidence::Only(DecimalSeparator::Point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_demand_an_order_or_ask_for_it() {
        for (text, evidence) in [
            ("13/02/2026", Evidence::Only(DateOrder::Dmy)),
            ("02/13/2026 00:00:00", Evidence::Only(DateOrder::Mdy)),
            ("1.2.2026", Evidence::Either),
            ("03/03/2026", Evidence::Same),
            ("2026-02-01", Evidence::Nothing),
            ("2026-02-01T09:30:00Z", Evidence::Nothing),
            ("13/13/2026", Evidence::Nothing),
            ("soon", Evidence::Nothing),
        ] {
            assert_eq!(date_evidence(text), evidence, "{text}");
        }
    }

    #[test]
    fn numbers_demand_a_separator_or_ask_for_it() {
        let (comma, point) =
            (Evidence::Only(DecimalSeparator::Comma), Evidence::Only(DecimalSeparator::Point));
        for (text, evidence) in [
            ("29,4", comma),
            ("0,125", comma),
            ("1234,567", comma),
            ("1.234,5", comma),
            (",5", comma),
            ("1.234", point),
            ("-29.4", point),
            ("1,234.5", point),
            ("1,234", Evidence::Either),
            ("-999,000", Evidence::Either),
            ("29", Evidence::Nothing),
            ("1,234,567", Evidence::Nothing),
            ("a,b", Evidence::Nothing),
            (",", Evidence::Nothing),
            ("", Evidence::Nothing),
        ] {
            assert_eq!(number_evidence(text), evidence, "{text}");
        }
    }

    #[test]
    fn the_majority_decides_and_of_equals_the_first() {
        let mut votes = Votes::new();
        for way in [2, 1, 1] {
            votes.add(Evidence::Only(way));
        }
        assert_eq!(votes.winner(), Some(1));
        votes.add(Evidence::Only(2));
        assert_eq!(votes.winner(), Some(2));
    }
}
