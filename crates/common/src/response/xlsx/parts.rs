//! The parts of a workbook that are always the same.

/// The path of the sheet in the archive.
pub(super) const SHEET_PART: &str = "xl/worksheets/sheet1.xml";

/// The styles of cells, by their index in [`STATIC_PARTS`].
pub(super) mod style {
    /// The header row.
    pub(in super::super) const HEADER: u32 = 1;
    /// A text. Stays one when it is edited.
    pub(in super::super) const TEXT: u32 = 2;
    /// A day.
    pub(in super::super) const DAY: u32 = 3;
    /// An instant. The format shows its offset, by which batches recognize it.
    pub(in super::super) const INSTANT: u32 = 4;
}

macro_rules! xml {
    ($($text:literal)*) => {
        concat!("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n", $($text),*)
    };
}

/// The parts before the sheet, with their paths.
pub(super) const STATIC_PARTS: [(&str, &str); 5] = [
    (
        "[Content_Types].xml",
        xml!(
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">"#
            r#"<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>"#
            r#"<Default Extension="xml" ContentType="application/xml"/>"#
            r#"<Override PartName="/xl/workbook.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>"#
            r#"<Override PartName="/xl/styles.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>"#
            r#"<Override PartName="/xl/worksheets/sheet1.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>"#
            r#"</Types>"#
        ),
    ),
    (
        "_rels/.rels",
        xml!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">"#
            r#"<Relationship Id="rId1" Target="xl/workbook.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/>"#
            r#"</Relationships>"#
        ),
    ),
    (
        "xl/workbook.xml",
        xml!(
            r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" "#
            r#"xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">"#
            r#"<sheets><sheet name="Export" sheetId="1" r:id="rId1"/></sheets></workbook>"#
        ),
    ),
    (
        "xl/_rels/workbook.xml.rels",
        xml!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">"#
            r#"<Relationship Id="rId1" Target="worksheets/sheet1.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/>"#
            r#"<Relationship Id="rId2" Target="styles.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles"/>"#
            r#"</Relationships>"#
        ),
    ),
    (
        "xl/styles.xml",
        xml!(
            r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">"#
            r#"<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/>"#
            r#"<numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss&quot;Z&quot;"/></numFmts>"#
            r#"<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font>"#
            r#"<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>"#
            r#"<fills count="2"><fill><patternFill patternType="none"/></fill>"#
            r#"<fill><patternFill patternType="gray125"/></fill></fills>"#
            r#"<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"#
            r#"<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>"#
            r#"<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>"#
            r#"<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>"#
            r#"<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>"#
            r#"<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>"#
            r#"<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>"#
            r#"<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#
        ),
    ),
];

/// The sheet before its first row: the header row stays visible.
pub(super) const SHEET_START: &str = xml!(
    r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews>"#
    r#"<sheetView tabSelected="1" workbookViewId="0">"#
    r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#
    r#"<selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews>"#
    r#"<sheetFormatPr defaultRowHeight="15"/><cols><col min="1" max="40" width="20" customWidth="1"/></cols><sheetData>"#
);

/// The sheet after its last row.
pub(super) const SHEET_END: &str = "</sheetData></worksheet>";
