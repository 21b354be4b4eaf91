//! Workbooks of hand-written XML.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The parts of the namespaces and of the types of relations that the two kinds of workbooks have in common.
pub const TRANSITIONAL: [&str; 2] = [
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
];
pub const STRICT: [&str; 2] = [
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
    "http://purl.oclc.org/ooxml/officeDocument/relationships",
];
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

/// Returns a ZIP archive with these parts, deflated.
pub fn archive(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        deflated.write_all(content).unwrap();
        let (packed, offset) = (deflated.finish().unwrap(), file.len());
        let mut crc = flate2::Crc::new();
        crc.update(content);
        // Version, flags, method, time, date, CRC, sizes, lengths of name and extra field.
        let mut fields = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
        fields.extend(crc.sum().to_le_bytes());
        fields
            .extend([packed.len(), content.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes()).concat());
        fields.extend([u16::try_from(name.len()).unwrap(), 0].map(u16::to_le_bytes).concat());
        file.extend([b"PK\x03\x04", &fields[..], name.as_bytes(), &packed].concat());
        let location = [[0; 10].to_vec(), u32::try_from(offset).unwrap().to_le_bytes().to_vec()].concat();
        directory.extend([b"PK\x01\x02\x14\0", &fields[..], &location, name.as_bytes()].concat());
    }
    let mut end = [0, 0, parts.len(), parts.len()].map(|n| u16::try_from(n).unwrap().to_le_bytes()).concat();
    end.extend([directory.len(), file.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes()).concat());
    [file, directory, b"PK\x05\x06".to_vec(), end, vec![0, 0]].concat()
}

/// A workbook whose first sheet has the name `Loads`.
pub struct RawWorkbook {
    /// Main namespace, and namespace of relations.
    pub namespaces: [&'static str; 2],
    /// Elements of the workbook before and after the sheets.
    pub around: [&'static str; 2],
    /// The attributes of the element `sheet`, the kind of the relation, and the part.
    pub sheets: Vec<(&'static str, &'static str, Vec<u8>)>,
    pub strings: Vec<u8>,
    pub styles: Vec<u8>,
}

impl RawWorkbook {
    /// Returns a workbook with one sheet.
    pub fn new(sheet: Vec<u8>) -> Self {
        Self {
            namespaces: TRANSITIONAL,
            around: [""; 2],
            sheets: vec![("name='Loads'", "worksheet", sheet)],
            strings: STRINGS.to_vec(),
            styles: STYLES.to_vec(),
        }
    }

    /// Returns the file.
    pub fn pack(&self) -> Vec<u8> {
        let [main, types] = self.namespaces;
        let relation = |id: &str, kind: &str, target: &str| {
            format!("<Relationship Id='{id}' Type='{types}/{kind}' Target='{target}'/>")
        };
        let list = |relations: String| {
            format!("<Relationships xmlns='{PACKAGE}'>{relations}</Relationships>").into_bytes()
        };
        let (mut relations, mut sheets) = (String::new(), Vec::new());
        relations += &relation("r1", "sharedStrings", "strings.xml");
        relations += &relation("r2", "styles", "styles.xml");
        let mut parts = vec![("xl/strings.xml".to_owned(), self.part(&self.strings))];
        parts.push(("xl/styles.xml".to_owned(), self.part(&self.styles)));
        for (n, (attributes, kind, part)) in self.sheets.iter().enumerate() {
            relations += &relation(&format!("s{n}"), kind, &format!("sheet{n}.xml"));
            write!(sheets, "<sheet sheetId='{n}' {attributes} r:id='s{n}'/>").unwrap();
            parts.push((format!("xl/sheet{n}.xml"), self.part(part)));
        }
        let ([before, after], sheets) = (self.around, String::from_utf8(sheets).unwrap());
        let book = format!(
            "<workbook xmlns:r='{types}' xmlns='{main}'>{before}<sheets>{sheets}</sheets>{after}</workbook>"
        );
        parts.push(("_rels/.rels".to_owned(), list(relation("r", "officeDocument", "xl/book.xml"))));
        parts.push(("xl/book.xml".to_owned(), book.into_bytes()));
        parts.push(("xl/_rels/book.xml.rels".to_owned(), list(relations)));
        let parts: Vec<_> = parts.iter().map(|(name, content)| (&**name, content.clone())).collect();
        archive(&parts)
    }

    /// Declares the main namespace in a part that has none.
    fn part(&self, xml: &[u8]) -> Vec<u8> {
        let end = xml.iter().position(|byte| b" >/".contains(byte)).unwrap_or(xml.len());
        let (root, rest) = xml.split_at(end);
        if root.contains(&b':') || rest.starts_with(b" xmlns") {
            return xml.to_vec();
        }
        [root, format!(" xmlns='{}'", self.namespaces[0]).as_bytes(), rest].concat()
    }
}

/// Returns a workbook with these XML parts.
pub fn book(sheet: Vec<u8>, strings: Vec<u8>, styles: Vec<u8>) -> Vec<u8> {
    RawWorkbook { strings, styles, ..RawWorkbook::new(sheet) }.pack()
}

pub fn sheet(head: &str, rows: &str) -> Vec<u8> {
    format!("<worksheet>{head}<sheetData>{rows}</sheetData></worksheet>").into_bytes()
}

/// Returns the rows of a sheet. A cell is its text, or `attributes|content` with XML. An empty one is left out.
pub fn rows(rows: &[&[&str]]) -> String {
    let cell = |row: usize, (column, cell): (usize, &&str)| {
        let letter = char::from(b'A' + u8::try_from(column).unwrap());
        match cell.split_once('|') {
            Some((attributes, content)) => format!("<c r='{letter}{row}' {attributes}>{content}</c>"),
            None if cell.is_empty() => String::new(),
            None => format!("<c r='{letter}{row}' t='inlineStr'><is><t>{cell}</t></is></c>"),
        }
    };
    let row = |(row, cells): (usize, &&[&str])| {
        let cells: String = cells.iter().enumerate().map(|column| cell(row, column)).collect();
        format!("<row r='{row}'>{cells}</row>")
    };
    (1..).zip(rows).map(row).collect()
}

/// Returns styles with these number formats, as styles from 1 on.
pub fn styles(formats: &[&str]) -> Vec<u8> {
    let escape = |code: &str| code.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let format =
        |(id, code): (usize, &&str)| format!("<numFmt numFmtId='{id}' formatCode=\"{}\"/>", escape(code));
    let formats_xml: String = (170..).zip(formats).map(format).collect();
    let uses =
        (170..).zip(formats).map(|(id, _)| format!("<xf numFmtId='{id}'/>")).collect::<Vec<_>>().concat();
    let xml = format!(
        "<styleSheet><numFmts>{formats_xml}</numFmts><cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs><xf/>{uses}\
         </cellXfs><dxfs><dxf><numFmt numFmtId='170' formatCode='yyyy'/></dxf></dxfs></styleSheet>"
    );
    xml.into_bytes()
}

pub const STRINGS: &[u8] = b"<sst count='9' uniqueCount='9'><si><t>reference</t></si></sst>";
pub const STYLES: &[u8] = b"<styleSheet><cellXfs><xf numFmtId='0'/></cellXfs></styleSheet>";
