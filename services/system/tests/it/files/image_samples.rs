//! Images for tests, and the sizes of images in responses.

use std::io::{Cursor, Write};

/// Returns the red of a column: it grows to the right.
fn red(x: u32, width: u32) -> u8 {
    u8::try_from(x * 255 / width).unwrap()
}

/// Returns a PNG of a gradient. The lower half is transparent if `is_transparent`.
pub fn png(width: u32, height: u32, is_transparent: bool) -> Vec<u8> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(if is_transparent { png::ColorType::Rgba } else { png::ColorType::Rgb });
    encoder.set_compression(png::Compression::Fastest);
    let mut writer = encoder.write_header().unwrap();
    let mut stream = writer.stream_writer().unwrap();
    let row = |alpha: u8| -> Vec<u8> {
        let pixel = |x: u32| [red(x, width), 140, 90, alpha];
        let channels = if is_transparent { 4 } else { 3 };
        (0..width).flat_map(|x| pixel(x).into_iter().take(channels)).collect()
    };
    let (upper, lower) = (row(255), row(0));
    for y in 0..height {
        stream.write_all(if y * 2 < height { &upper } else { &lower }).unwrap();
    }
    stream.finish().unwrap();
    drop(writer);
    content
}

/// Returns a small PNG whose smaller copies have many grays: black and white squares of 7 pixels.
pub fn checkered(width: u32, height: u32) -> Vec<u8> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::High);
    let is_white = |x: u32, y: u32| (x / 7 + y / 7) % 2 == 1;
    let byte = |x: u32, y: u32| (0..8).fold(0, |byte, bit| byte << 1 | u8::from(is_white(x + bit, y)));
    let rows = (0..height).flat_map(|y| (0..width).step_by(8).map(move |x| byte(x, y)));
    let pixels: Vec<u8> = rows.collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    content
}

/// Returns a JPEG of a gradient, whose colours have half of the resolution.
pub fn jpeg(width: u16, height: u16, is_progressive: bool) -> Vec<u8> {
    jpeg_with(width, height, is_progressive, jpeg_encoder::SamplingFactor::F_2_2)
}

/// Returns a JPEG of a gradient, whose colours have this resolution.
pub fn jpeg_with(
    width: u16,
    height: u16,
    is_progressive: bool,
    sampling: jpeg_encoder::SamplingFactor,
) -> Vec<u8> {
    let pixel = |x: u16| [red(x.into(), width.into()), 140, 90];
    let row: Vec<u8> = (0..width).flat_map(pixel).collect();
    let pixels = row.repeat(height.into());
    let mut content = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut content, 80);
    encoder.set_progressive(is_progressive);
    encoder.set_sampling_factor(sampling);
    encoder.encode(&pixels, width, height, jpeg_encoder::ColorType::Rgb).unwrap();
    content
}

/// Returns a JPEG with the last scan repeated.
pub fn jpeg_with_scans(width: u16, height: u16, scans: usize) -> Vec<u8> {
    let image = jpeg(width, height, false);
    let scan = image.windows(2).rposition(|marker| marker == [0xff, 0xda]).unwrap();
    [&image[..scan], &image[scan..image.len() - 2].repeat(scans), &[0xff, 0xd9]].concat()
}

/// Returns a JPEG with EXIF data: this orientation, and a position, which has the text `SECRET-POSITION`.
pub fn jpeg_with_position(width: u16, height: u16, orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x02\0".to_vec();
    tiff.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]);
    tiff.extend([0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0]);
    tiff.extend([0; 4]);
    // The directory of the position: one text.
    tiff.extend([1, 0, 2, 0, 2, 0, 16, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0]);
    tiff.extend(b"SECRET-POSITION\0");
    let image = jpeg(width, height, false);
    let length = u16::try_from(tiff.len() + 8).unwrap().to_be_bytes();
    [&image[..2], &[0xff, 0xe1], &length, b"Exif\0\0", &tiff, &image[2..]].concat()
}

/// Returns the size of an image of this media type.
pub fn size(media_type: &str, content: &[u8]) -> (u32, u32) {
    match media_type {
        "image/webp" => {
            let info = webpx::ImageInfo::from_webp(content).unwrap();
            (info.width, info.height)
        }
        "image/png" => {
            let reader = png::Decoder::new(Cursor::new(content)).read_info().unwrap();
            (reader.info().width, reader.info().height)
        }
        "image/jpeg" => {
            // The frame: a marker, a length, the precision, height and width.
            let at = content.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
            let number = |at: usize| u32::from(u16::from_be_bytes([content[at], content[at + 1]]));
            (number(at + 7), number(at + 5))
        }
        other => panic!("{other} is no type of smaller copies"),
    }
}

/// Returns true if the content has this text.
pub fn has(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len()).any(|window| window == text)
}
