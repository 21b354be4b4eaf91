//! The template of a batch as a workbook (docs/api/batches.md, "Template").

use anyhow::Context;
use common::Caller;
use rust_xlsxwriter::{
    Color, DataValidation, ExcelDateTime, Format, FormatAlign, Formula, Workbook, Worksheet, XlsxError,
};

use super::headings::ALIASES;
use crate::commodities::Catalogue;
use crate::loads::members::{Column, Kind, Sample, stored_columns};

/// The rows with drop-down lists: the most that a batch may have, below the header row.
const LAST_ROW: u32 = 50_000;
const COMMODITIES: &str = "Commodities";
const COLUMNS: &str = "Columns";
const COLUMN_WIDTH: u16 = 18;

/// The columns of which every load needs a cell.
const REQUIRED: [&str; 2] = ["reference", "deliveryDateISO"];
/// The columns of which every load needs one.
const ONE_REQUIRED: [&str; 2] = ["commodityId", "commodityName"];

/// Returns the template: an empty table with a sample row that names the caller's organisation, a sheet that explains
/// the columns, and a sheet with the commodities.
///
/// # Errors
/// If the workbook cannot be written, which is a bug.
pub(crate) fn workbook(catalogue: &Catalogue, caller: &Caller) -> anyhow::Result<Vec<u8>> {
    let mut book = Workbook::new();
    let last_commodity = catalogue.entries().count() + 1;
    table(book.add_worksheet(), last_commodity, caller).context("cannot write the sheet of loads")?;
    columns(book.add_worksheet()).context("cannot write the sheet of columns")?;
    commodities(book.add_worksheet(), catalogue).context("cannot write the sheet of commodities")?;
    Ok(book.save_to_buffer()?)
}

fn table(sheet: &mut Worksheet, last_commodity: usize, caller: &Caller) -> Result<(), XlsxError> {
    let own = |name: &str| {
        let own = caller.organisation.as_ref()?;
        match name {
            "organiserId" => Some(own.id.as_str()),
            "organiserName" => own.name.as_deref(),
            _ => None,
        }
    };
    sheet.set_name("Loads")?.set_freeze_panes(1, 0)?;
    let sample = Format::new().set_font_color(Color::Gray).set_italic();
    for (column, (name, Column { kind, sample: cell, .. })) in (0..).zip(stored_columns()) {
        let format = column_format(kind);
        sheet.set_column_width(column, COLUMN_WIDTH)?.set_column_format(column, &format)?;
        sheet.write_with_format(0, column, name, &header())?;
        let sample = format.merge(&sample);
        match cell {
            Sample::Empty => {}
            Sample::Text(text) => {
                sheet.write_with_format(1, column, own(name).unwrap_or(text), &sample)?;
            }
            Sample::Number(number) => {
                sheet.write_with_format(1, column, number, &sample)?;
            }
            Sample::Date(year, month, day) => {
                let date = ExcelDateTime::from_ymd(year, month, day)?;
                sheet.write_datetime_with_format(1, column, &date, &sample)?;
            }
        }
        let list = match name {
            "commodityName" => DataValidation::new()
                .allow_list_formula(Formula::new(format!("={COMMODITIES}!$B$2:$B${last_commodity}")))
                .set_error_message("Choose a name of the sheet Commodities.")?,
            "weightUnit" => DataValidation::new().allow_list_strings(&["tonne"])?,
            _ => continue,
        };
        sheet.add_data_validation(1, column, LAST_ROW, column, &list)?;
    }
    Ok(())
}

/// Writes what each column is for, whether it is required, and the headings that name it too.
fn columns(sheet: &mut Worksheet) -> Result<(), XlsxError> {
    sheet.set_name(COLUMNS)?.set_freeze_panes(1, 0)?;
    for (column, (name, width)) in
        (0..).zip([("column", 20), ("required", 12), ("explanation", 80), ("headings", 60)])
    {
        sheet.set_column_width(column, width)?;
        sheet.write_with_format(0, column, name, &header())?;
    }
    for (row, (name, column)) in (1..).zip(stored_columns()) {
        let required = match name {
            _ if REQUIRED.contains(&name) => "yes",
            _ if ONE_REQUIRED.contains(&name) => "one of two",
            _ => "",
        };
        let headings: Vec<_> =
            ALIASES.iter().filter(|(_, column)| *column == name).map(|(heading, _)| *heading).collect();
        sheet.write_string(row, 0, name)?.write_string(row, 1, required)?;
        sheet.write_string(row, 2, column.explanation)?;
        sheet.write_string(row, 3, headings.join(", "))?;
    }
    Ok(())
}

fn commodities(sheet: &mut Worksheet, catalogue: &Catalogue) -> Result<(), XlsxError> {
    sheet.set_name(COMMODITIES)?.set_freeze_panes(1, 0)?;
    for (column, name) in (0..).zip(["commodityId", "commodityName", "category"]) {
        sheet.set_column_width(column, COLUMN_WIDTH)?;
        sheet.write_with_format(0, column, name, &header())?;
    }
    for (row, entry) in (1..).zip(catalogue.entries()) {
        sheet.write(row, 0, entry.id)?.write_string(row, 1, &entry.name)?;
        sheet.write_string(row, 2, &entry.category)?;
    }
    Ok(())
}

fn header() -> Format {
    Format::new().set_bold().set_align(FormatAlign::Left)
}

/// Texts stay as they are typed, with leading zeros.
fn column_format(kind: Kind) -> Format {
    match kind {
        Kind::Date => Format::new().set_num_format("yyyy-mm-dd"),
        Kind::Number => Format::new(),
        Kind::Text | Kind::Tags => Format::new().set_num_format("@"),
    }
}
