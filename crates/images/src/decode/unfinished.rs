//! JPEG content without the marker of its end, which was cut off. Browsers show what can be decoded of it, and so do
//! copies: without the last of several scans, or, if the only one is not complete, with gray in place of its rest.

use std::io::{self, Read, Seek};

use crate::plan::Frame;
use crate::reader::Reader;
use crate::segments::{EOI, Segment, next_segment};

const DHT: u8 = 0xc4;
const SOS: u8 = 0xda;
const DRI: u8 = 0xdd;
const RESTART: u8 = 0xd0;
/// No intervals, and tables whose only codes are zeros: for the value of the block before, and for no other
/// coefficients. A scan with these tables and no bits is gray.
const NEUTRAL_TABLES: [u8; 46] = {
    let mut tables = [0; 46];
    let head = [0xff, DRI, 0, 4, 0, 0, 0xff, DHT, 0, 38];
    let mut n = 0;
    while n < head.len() {
        tables[n] = head[n];
        n += 1;
    }
    // One code of one bit in each table, of DC and of AC coefficients.
    tables[11] = 1;
    tables[28] = 0x10;
    tables[29] = 1;
    tables
};

/// How content is decoded as far as it goes.
pub(super) struct Rest {
    /// Bytes of the content to decode.
    pub(super) length: u64,
    /// What the decoder reads after them.
    pub(super) tail: Vec<u8>,
    /// The pixels that the content has. `None` if it has some for the whole image.
    pub(super) known: Option<Known>,
}

/// The pixels up to one in a row of blocks.
pub(super) struct Known {
    /// The height of a row of blocks, in pixels.
    height: u32,
    /// The rows that are complete.
    rows: u32,
    /// The pixels that are known of the row after them.
    columns: u32,
}

impl Known {
    /// Returns how many pixels of a row of pixels are known.
    pub(super) fn columns(&self, y: u32) -> u32 {
        match (y / self.height).cmp(&self.rows) {
            std::cmp::Ordering::Less => u32::MAX,
            std::cmp::Ordering::Equal => self.columns,
            std::cmp::Ordering::Greater => 0,
        }
    }
}

/// Examines content without an end. It has a scan.
pub(super) fn examine(content: impl Read + Seek, frame: &Frame) -> io::Result<Rest> {
    let mut reader = Reader::new(content)?;
    let (mut tables, mut interval, mut scans, mut last) = (Tables::default(), 0, 0, None::<(Segment, Scan)>);
    // The components that have scans.
    let mut seen = Vec::new();
    while let Some(segment) = next_segment(&mut reader)? {
        match segment.marker {
            DHT => tables.read(&reader.bytes(segment.payload_bytes())?),
            DRI => interval = reader.array()?.map_or(0, u16::from_be_bytes).into(),
            SOS => {
                scans += 1;
                let header = reader.bytes(segment.payload_bytes())?;
                if let Some((_, before)) = last.take() {
                    seen.extend(before.components.iter().map(|component| component.id));
                }
                last = Scan::parse(&header, frame, &tables, interval).map(|scan| (segment, scan));
            }
            _ => {}
        }
        reader.seek(segment.end)?;
    }
    let mut rest = Rest { length: reader.size, tail: Vec::new(), known: None };
    if let Some((segment, scan)) = last {
        reader.seek(segment.end)?;
        let done = scan.walk(&mut reader)?;
        let is_complete = done.units == scan.units();
        if is_complete || scans == 1 {
            seen.extend(scan.components.iter().map(|component| component.id));
        } else {
            rest.length = segment.start;
        }
        if !is_complete && scans == 1 {
            // The decoder expects the marker of each interval that follows.
            let intervals = scan.units().checked_div(scan.interval).unwrap_or(0);
            rest.tail.extend((done.restarts..intervals).flat_map(|n| [0xff, RESTART + (n % 8) as u8]));
            let (rows, columns) = (done.units / scan.columns, done.units % scan.columns);
            rest.known = Some(Known {
                height: scan.unit_size.1,
                rows: rows as u32,
                columns: columns as u32 * scan.unit_size.0,
            });
        }
    }
    if !frame.is_progressive {
        rest.tail.extend(NEUTRAL_TABLES);
        for (id, ..) in frame.components.iter().filter(|(id, ..)| !seen.contains(id)) {
            // The decoder takes missing bits for zeros.
            rest.tail.extend([0xff, SOS, 0, 8, 1, *id, 0, 0, 63, 0]);
        }
    }
    rest.tail.extend([0xff, EOI]);
    Ok(rest)
}

/// A Huffman table: for each length of codes the first code and where its values begin.
#[derive(Clone)]
struct Huffman {
    counts: [u8; 16],
    values: Vec<u8>,
}

/// The tables of DC and AC coefficients.
#[derive(Clone, Default)]
struct Tables([[Option<Huffman>; 4]; 2]);

impl Tables {
    fn read(&mut self, mut data: &[u8]) {
        while let Some(([kind, counts @ ..], rest)) = data.split_first_chunk::<17>() {
            let total = counts.iter().map(|count| usize::from(*count)).sum();
            let Some((values, rest)) = rest.split_at_checked(total) else { return };
            let class = self.0.get_mut(usize::from(kind >> 4));
            let Some(table) = class.and_then(|class| class.get_mut(usize::from(kind & 15))) else { return };
            *table = Some(Huffman { counts: *counts, values: values.to_vec() });
            data = rest;
        }
    }
}

/// A component of a scan.
struct Component {
    id: u8,
    /// Its blocks in a unit.
    blocks: u32,
    dc: Option<Huffman>,
    ac: Option<Huffman>,
}

/// A scan. It consists of units, which have blocks of each of its components.
struct Scan {
    components: Vec<Component>,
    /// The coefficients that it has of each block.
    spectrum: (u8, u8),
    /// Whether it refines coefficients of scans before.
    refines: bool,
    /// The units between two markers. 0 without markers.
    interval: u64,
    columns: u64,
    rows: u64,
    /// Width and height of a unit in pixels.
    unit_size: (u32, u32),
}

/// How far a scan goes.
struct Done {
    units: u64,
    /// The markers between its units.
    restarts: u64,
}

impl Scan {
    fn parse(header: &[u8], frame: &Frame, tables: &Tables, interval: u64) -> Option<Self> {
        let (count, rest) = header.split_first()?;
        let (list, rest) = rest.split_at_checked(usize::from(*count) * 2)?;
        let [start, end, approximation] = *rest.first_chunk()?;
        let max = |factor: fn(&(u8, u32, u32)) -> u32| frame.components.iter().map(factor).max().unwrap_or(1);
        let (max_h, max_v) = (max(|(_, h, _)| *h), max(|(_, _, v)| *v));
        let (mut components, mut unit_size) = (Vec::new(), (8 * max_h, 8 * max_v));
        for [id, selected] in list.as_chunks::<2>().0 {
            let (_, h, v) = frame.components.iter().find(|(other, ..)| other == id)?;
            let table = |class: usize, index: u8| tables.0[class].get(usize::from(index))?.clone();
            let blocks = if *count == 1 { 1 } else { h * v };
            if *count == 1 {
                unit_size = (8 * max_h / h, 8 * max_v / v);
            }
            components.push(Component {
                id: *id,
                blocks,
                dc: table(0, selected >> 4),
                ac: table(1, selected & 15),
            });
        }
        Some(Self {
            components,
            spectrum: (start, end),
            refines: approximation >> 4 != 0,
            interval,
            columns: frame.size.0.div_ceil(unit_size.0).into(),
            rows: frame.size.1.div_ceil(unit_size.1).into(),
            unit_size,
        })
    }

    fn units(&self) -> u64 {
        self.columns * self.rows
    }

    /// Reads the units until the content ends. What a refinement has depends on the scans before it, so none is read.
    fn walk(&self, reader: &mut Reader<impl Read + Seek>) -> io::Result<Done> {
        let mut bits = Bits { reader, buffer: 0, count: 0, failure: None };
        let (mut done, mut eob_run) = (Done { units: 0, restarts: 0 }, 0);
        while !self.refines && done.units < self.units() {
            if done.units > 0 && self.interval > 0 && done.units.is_multiple_of(self.interval) {
                if bits.restart().is_none() {
                    break;
                }
                (done.restarts, eob_run) = (done.restarts + 1, 0);
            }
            let mut blocks = self.components.iter().flat_map(|c| std::iter::repeat_n(c, c.blocks as usize));
            if blocks.any(|component| self.block(component, &mut bits, &mut eob_run).is_none()) {
                break;
            }
            done.units += 1;
        }
        bits.failure.map_or(Ok(done), Err)
    }

    /// Reads a block. Returns `None` if the content ends or has no valid code.
    fn block<R: Read + Seek>(
        &self,
        component: &Component,
        bits: &mut Bits<'_, R>,
        eob_run: &mut u32,
    ) -> Option<()> {
        let (start, end) = self.spectrum;
        if start == 0 {
            let length = bits.symbol(component.dc.as_ref()?)?;
            bits.take((length <= 16).then_some(length)?)?;
        }
        let mut k = start.max(1);
        if k <= end && *eob_run > 0 {
            *eob_run -= 1;
            return Some(());
        }
        while k <= end {
            let symbol = bits.symbol(component.ac.as_ref()?)?;
            match (symbol >> 4, symbol & 15) {
                (15, 0) => k = k.saturating_add(16),
                (run, 0) => {
                    *eob_run = (1 << run) - 1 + bits.take(run)?;
                    break;
                }
                (run, length) => {
                    bits.take(length)?;
                    k = k.saturating_add(run + 1);
                }
            }
        }
        Some(())
    }
}

/// The bits of a scan.
struct Bits<'a, R> {
    reader: &'a mut Reader<R>,
    buffer: u32,
    count: u8,
    failure: Option<io::Error>,
}

impl<R: Read + Seek> Bits<'_, R> {
    /// Returns the next bits, up to 16. `None` at the end, and before a marker.
    fn take(&mut self, count: u8) -> Option<u32> {
        while self.count < count {
            let byte = self.byte()?;
            if byte == 0xff && self.byte()? != 0 {
                return None;
            }
            self.buffer = self.buffer << 8 | u32::from(byte);
            self.count += 8;
        }
        self.count -= count;
        Some(self.buffer >> self.count & ((1 << count) - 1))
    }

    fn symbol(&mut self, table: &Huffman) -> Option<u8> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in table.counts.map(u32::from) {
            code = code << 1 | self.take(1)?;
            if code < first + count {
                return table.values.get((index + code - first) as usize).copied();
            }
            (index, first) = (index + count, (first + count) << 1);
        }
        None
    }

    /// Continues after the marker that follows.
    fn restart(&mut self) -> Option<()> {
        self.count = 0;
        let mut marker = (self.byte()? == 0xff).then(|| self.byte())??;
        while marker == 0xff {
            marker = self.byte()?;
        }
        (marker & !7 == RESTART).then_some(())
    }

    fn byte(&mut self) -> Option<u8> {
        self.reader.byte().unwrap_or_else(|error| {
            self.failure = Some(error);
            None
        })
    }
}
