//! Images for tests.

use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

use webpx::Unstoppable;

use crate::plan::Plan;
use crate::raster::Raster;
use crate::{Format, ImageError};

/// Decodes an image.
pub(crate) fn decode(content: &[u8], format: Format, max_width: u32) -> Result<Raster, ImageError> {
    let mut content = Cursor::new(content);
    let plan = Plan::new(&mut content, format, max_width)?;
    crate::decode::decode(content, &plan)
}

/// Content that counts the bytes that are read from it.
pub(crate) struct CountedContent {
    content: Cursor<Vec<u8>>,
    read: Rc<Cell<u64>>,
}

impl CountedContent {
    /// Returns the content and the count.
    pub(crate) fn new(content: Vec<u8>) -> (Self, Rc<Cell<u64>>) {
        let read = Rc::default();
        (Self { content: Cursor::new(content), read: Rc::clone(&read) }, read)
    }
}

impl Read for CountedContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

impl Seek for CountedContent {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }
}

/// Pixels of a gradient with 3 or 4 bytes each. The lower half is transparent.
pub(crate) fn pixels(width: u32, height: u32, channels: u32) -> Vec<u8> {
    let pixel = |n: u32| {
        let (x, y) = (n % width, n / width);
        let alpha = if y * 2 < height { 255 } else { 0 };
        [(x * 255 / width) as u8, (y * 255 / height) as u8, 90, alpha]
    };
    (0..width * height).flat_map(|n| pixel(n).into_iter().take(channels as usize)).collect()
}

pub(crate) fn jpeg(width: u32, height: u32, is_progressive: bool) -> Vec<u8> {
    let mut content = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut content, 90);
    encoder.set_progressive(is_progressive);
    let pixels = pixels(width, height, 3);
    encoder.encode(&pixels, width as u16, height as u16, jpeg_encoder::ColorType::Rgb).unwrap();
    content
}

pub(crate) fn png(width: u32, height: u32, color: png::ColorType) -> Vec<u8> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(color);
    let channels = color.samples() as u32;
    let pixels: Vec<u8> = pixels(width, height, 4)
        .chunks(4)
        .flat_map(|pixel| pixel[4 - channels as usize..].to_vec())
        .collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    content
}

pub(crate) fn gif(width: u16, height: u16) -> Vec<u8> {
    let palette = [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9];
    let mut encoder = gif::Encoder::new(Vec::new(), width, height, &palette).unwrap();
    let mut frame = gif::Frame { width, height, transparent: Some(3), ..gif::Frame::default() };
    frame.buffer = (0..u32::from(width) * u32::from(height)).map(|n| (n % 4) as u8).collect();
    encoder.write_frame(&frame).unwrap();
    encoder.into_inner().unwrap()
}

pub(crate) fn webp(width: u32, height: u32, channels: u32) -> Vec<u8> {
    let pixels = pixels(width, height, channels);
    let encoder = match channels {
        4 => webpx::Encoder::new_rgba(&pixels, width, height),
        _ => webpx::Encoder::new_rgb(&pixels, width, height),
    };
    encoder.quality(90.0).encode(Unstoppable).unwrap()
}

/// EXIF data with an orientation, the name of a camera, and a position, which has the text `SECRET-POSITION`.
pub(crate) fn exif_with_position(orientation: u8, is_little_endian: bool) -> Vec<u8> {
    let short = |n: u16| if is_little_endian { n.to_le_bytes() } else { n.to_be_bytes() };
    let long = |n: u32| if is_little_endian { n.to_le_bytes() } else { n.to_be_bytes() };
    let mut tiff = if is_little_endian { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
    tiff.extend(long(8));
    let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
        [&short(tag)[..], &short(kind), &long(count), &value].concat()
    };
    let [a, b] = short(orientation.into());
    tiff.extend(short(3));
    tiff.extend(entry(0x010f, 2, 7, long(50)));
    tiff.extend(entry(0x0112, 3, 1, [a, b, 0, 0]));
    tiff.extend(entry(0x8825, 4, 1, long(58)));
    tiff.extend(long(0));
    tiff.extend(b"Camera\0\0");
    tiff.extend(short(1));
    tiff.extend(entry(0x0002, 2, 16, long(76)));
    tiff.extend(long(0));
    tiff.extend(b"SECRET-POSITION\0");
    tiff
}
