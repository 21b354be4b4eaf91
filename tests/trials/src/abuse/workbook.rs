//! Workbooks (XLSX) of one sheet.

use super::compression::{Deflated, deflate, zip};

/// Namespace of sheets.
pub const SPREADSHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A workbook of one sheet: the rows of `begin`, then `piece` repeated for `mib` MiB.
pub fn workbook(begin: &str, piece: &str, mib: usize) -> Vec<u8> {
    encode(sheet(begin, piece, mib), no_strings())
}

/// A sheet: the rows of `begin`, then `piece` repeated for `mib` MiB. Its elements are not closed.
pub fn sheet(begin: &str, piece: &str, mib: usize) -> Deflated {
    let begin = format!("<worksheet xmlns=\"{SPREADSHEET}\"><sheetData>{begin}");
    let piece = piece.repeat((1 << 20) / piece.len().max(1));
    repeat(&begin, &piece, mib)
}

/// Shared strings of `mib` MiB.
pub fn strings(mib: usize) -> Deflated {
    repeat(&format!("<sst xmlns=\"{SPREADSHEET}\">"), &"<si><t>a</t></si>".repeat(61_680), mib)
}

/// No shared strings.
pub fn no_strings() -> Deflated {
    deflate(b"<sst/>", 1)
}

/// `begin`, then `mebibyte` repeated for `mib` MiB.
pub fn repeat(begin: &str, mebibyte: &str, mib: usize) -> Deflated {
    deflate(begin.as_bytes(), 1).then(deflate(mebibyte.as_bytes(), mib))
}

/// Encodes a workbook of one sheet and its shared strings.
pub fn encode(sheet: Deflated, strings: Deflated) -> Vec<u8> {
    let text = |text: String| deflate(text.as_bytes(), 1);
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>")
    };
    let relations = |all: String| text(format!("<Relationships xmlns=\"{RELATIONS}\">{all}</Relationships>"));
    let workbook = format!(
        "<workbook xmlns=\"{SPREADSHEET}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"a\" sheetId=\"1\" r:id=\"s\"/></sheets></workbook>"
    );
    zip(&[
        ("_rels/.rels", relations(relation("w", "officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", text(workbook)),
        (
            "xl/_rels/workbook.xml.rels",
            relations(relation("s", "worksheet", "s.xml") + &relation("t", "sharedStrings", "t.xml")),
        ),
        ("xl/s.xml", sheet),
        ("xl/t.xml", strings),
    ])
}
