//! JPEG. The decoder reduces an image to 1/2, 1/4 or 1/8, so that the pixels of a large image never exist. But it holds
//! the coefficients of a progressive image as a whole, and goes through the whole image for each scan.

use std::io::{Read, Seek};

use super::{MAX_MEMORY_BYTES, Memory};
use crate::fit::Goal;
use crate::reader::Reader;
use crate::segments::{APP1, EOI, Segment, exif_data, next_segment};
use crate::{ImageError, MAX_PIXELS};

/// The most scans. Encoders write up to 20.
const MAX_SCANS: u64 = 100;
/// The most pixels of all scans: 30 scans of the largest image.
const MAX_SCAN_PIXELS: u64 = 30 * MAX_PIXELS;
/// The most bytes of Huffman and quantization tables. Encoders write about a thousand bytes for each scan.
const MAX_TABLE_BYTES: u64 = 1 << 20;
/// The denominators of the sizes that the decoder can reduce to are 8, 4, 2 and 1: these are the numerators of 8.
const EIGHTHS: [u32; 4] = [1, 2, 4, 8];

const DHT: u8 = 0xc4;
const SOS: u8 = 0xda;
const DQT: u8 = 0xdb;
const APP2: u8 = 0xe2;
/// Start of a frame: baseline, extended sequential, and progressive.
const SEQUENTIAL: [u8; 2] = [0xc0, 0xc1];
const PROGRESSIVE: u8 = 0xc2;
/// Start of a frame: lossless, hierarchical, and with arithmetic coding.
const OTHER_FRAMES: [u8; 10] = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

/// How a JPEG is decoded.
#[derive(Debug)]
pub(crate) struct JpegPlan {
    pub(crate) goal: Goal,
    /// The size that the decoder must at least reduce to. It is smaller than the copy if that saves memory that is not
    /// there.
    pub(crate) reduced: (u32, u32),
    /// The frame, if the content has no end, so that it has to be examined first.
    pub(crate) unfinished: Option<Frame>,
}

impl JpegPlan {
    /// Reads the segments. Returns the plan, and the memory that it takes in bytes.
    pub(super) fn new(content: &mut (impl Read + Seek), max_width: u32) -> Result<(Self, u64), ImageError> {
        let structure = Structure::read(&mut Reader::new(content)?)?;
        let frame = structure.frame.ok_or_else(|| ImageError::undecodable("no frame"))?;
        if structure.scans == 0 {
            return Err(ImageError::undecodable("no scan"));
        }
        let goal = Goal::new(frame.size, max_width, structure.exif.as_deref())?;
        let pixels = u64::from(frame.size.0) * u64::from(frame.size.1);
        if structure.scans > MAX_SCANS || structure.scans * pixels > MAX_SCAN_PIXELS {
            return Err(ImageError::undecodable(format!("{} scans", structure.scans)));
        }
        if structure.table_bytes > MAX_TABLE_BYTES {
            return Err(ImageError::undecodable("too many tables"));
        }
        let memory = |eighths| frame.memory(eighths, goal.copy, structure.profile_bytes);
        let wanted = frame.eighths(goal.copy);
        let is_affordable = |eighths: &u32| memory(*eighths).bytes() <= MAX_MEMORY_BYTES;
        let mut choices = EIGHTHS.into_iter().rev().filter(|eighths| *eighths <= wanted);
        let eighths = choices.find(is_affordable).unwrap_or(1);
        let reduced = if eighths == wanted { goal.copy } else { frame.reduced(eighths) };
        let bytes = memory(eighths).checked()?;
        Ok((Self { goal, reduced, unfinished: (!structure.has_end).then_some(frame) }, bytes))
    }
}

/// What the segments say about the work of decoding.
#[derive(Default)]
struct Structure {
    /// The first frame. The decoder refuses a second one.
    frame: Option<Frame>,
    /// EXIF data before the frame.
    exif: Option<Vec<u8>>,
    scans: u64,
    has_end: bool,
    table_bytes: u64,
    /// Bytes of `APP2` segments, in which colour profiles are. The decoder holds them.
    profile_bytes: u64,
}

impl Structure {
    fn read(reader: &mut Reader<impl Read + Seek>) -> Result<Self, ImageError> {
        let mut structure = Self::default();
        while let Some(segment) = next_segment(reader)? {
            match segment.marker {
                EOI => {
                    structure.has_end = true;
                    break;
                }
                DHT | DQT => structure.table_bytes += segment.payload_bytes(),
                SOS => structure.scans += 1,
                APP1 if structure.frame.is_none() => {
                    let data = reader.bytes(segment.payload_bytes())?;
                    structure.exif = exif_data(&data).map(<[u8]>::to_vec).or(structure.exif);
                }
                APP2 => structure.profile_bytes += segment.payload_bytes(),
                marker if OTHER_FRAMES.contains(&marker) => {
                    return Err(ImageError::undecodable("neither baseline nor progressive"));
                }
                marker
                    if structure.frame.is_none()
                        && (marker == PROGRESSIVE || SEQUENTIAL.contains(&marker)) =>
                {
                    structure.frame = Some(Frame::read(reader, &segment)?);
                }
                _ => {}
            }
            reader.seek(segment.end)?;
        }
        Ok(structure)
    }
}

/// A frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) is_progressive: bool,
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
    /// The components: an id, and the sampling factors horizontally and vertically, 1 to 4.
    pub(crate) components: Vec<(u8, u32, u32)>,
}

impl Frame {
    fn read(reader: &mut Reader<impl Read + Seek>, segment: &Segment) -> Result<Self, ImageError> {
        let data = reader.bytes(segment.payload_bytes())?;
        let parse = || {
            let ([_, size @ .., count], rest) = data.split_first_chunk::<6>()?;
            let [y1, y2, x1, x2] = *size;
            let components = rest.as_chunks::<3>();
            let factors = components.0.iter().map(|[id, factors, _]| (*id, factors >> 4, factors & 15));
            let is_valid = matches!(*count, 1 | 3 | 4)
                && components.0.len() == usize::from(*count)
                && components.1.is_empty()
                && factors.clone().all(|(_, h, v)| (1..=4).contains(&h) && (1..=4).contains(&v));
            is_valid.then(|| Self {
                is_progressive: segment.marker == PROGRESSIVE,
                size: (u16::from_be_bytes([x1, x2]).into(), u16::from_be_bytes([y1, y2]).into()),
                components: factors.map(|(id, h, v)| (id, h.into(), v.into())).collect(),
            })
        };
        parse().ok_or_else(|| ImageError::undecodable("the frame cannot be read"))
    }

    /// Returns the size of the image, reduced to these eighths.
    fn reduced(&self, eighths: u32) -> (u32, u32) {
        let reduce = |side: u32| (side * eighths).div_ceil(8);
        (reduce(self.size.0), reduce(self.size.1))
    }

    /// Returns the eighths that the decoder reduces to for a copy.
    fn eighths(&self, copy: (u32, u32)) -> u32 {
        let suffices = |eighths: &u32| {
            let (width, height) = self.reduced(*eighths);
            width >= copy.0 || height >= copy.1
        };
        EIGHTHS.into_iter().find(suffices).unwrap_or(8)
    }

    /// Returns the number of samples of each component, with those that complete the blocks of 8 × 8.
    fn samples(&self) -> impl Iterator<Item = u64> {
        let max = |factor: fn(&(u8, u32, u32)) -> u32| self.components.iter().map(factor).max().unwrap_or(1);
        let (max_h, max_v) = (max(|(_, h, _)| *h), max(|(_, _, v)| *v));
        let (columns, rows) = (self.size.0.div_ceil(8 * max_h), self.size.1.div_ceil(8 * max_v));
        self.components.iter().map(move |(_, h, v)| u64::from(columns * h) * u64::from(rows * v) * 64)
    }

    fn memory(&self, eighths: u32, copy: (u32, u32), profile_bytes: u64) -> Memory {
        let samples: u64 = self.samples().sum();
        let largest = self.samples().max().unwrap_or_default();
        // Coefficients have two bytes. Threads of the decoder transform them, and rows of them wait for these threads
        // in queues without a limit. Up to half of a sequential image waits. Of a progressive one the component that is
        // being completed waits as a whole, because its rows only have to be copied.
        let (held, waiting) = if self.is_progressive { (2 * samples, 2 * largest) } else { (0, samples) };
        let planes = samples * u64::from(eighths * eighths) / 64;
        let (width, height) = self.reduced(eighths);
        let decoded = u64::from(width) * u64::from(height) * self.components.len() as u64;
        let copy = (copy.0.min(width), copy.1.min(height));
        Memory {
            decoder: profile_bytes + held + planes + waiting.max(decoded),
            decoded,
            copy_pixels: u64::from(copy.0) * u64::from(copy.1),
        }
    }
}
