//! Decoding of all formats.

use std::io::Cursor;

use proptest::prelude::*;

use crate::raster::Raster;
use crate::samples::{self, decode};
use crate::{CopyJob, Encoding, Format, ImageError};

fn decoded(content: &[u8], format: Format, width: u32) -> Raster {
    decode(content, format, width).unwrap()
}

/// Asserts that the raster looks like the sample: red grows to the right, green downwards.
fn assert_gradient(raster: &Raster) {
    let at = |x: u32, y: u32, channel: usize| {
        i32::from(raster.pixels[(y * raster.width + x) as usize * raster.channels + channel])
    };
    let (right, bottom) = (raster.width - 1, raster.height / 2 - 1);
    assert!(at(0, 0, 0) < 12 && at(right, 0, 0) > 235, "{} {}", at(0, 0, 0), at(right, 0, 0));
    assert!(at(0, 0, 1) < 12 && (at(0, bottom, 1) - 120).abs() < 20, "{}", at(0, bottom, 1));
    assert!((at(right / 2, bottom / 2, 2) - 90).abs() < 12);
}

#[test]
fn all_formats_are_reduced() {
    for (content, format, channels) in [
        (samples::jpeg(640, 400, false), Format::Jpeg, 3),
        (samples::jpeg(640, 400, true), Format::Jpeg, 3),
        (samples::png(640, 400, png::ColorType::Rgba), Format::Png, 4),
        (samples::webp(640, 400, 3), Format::WebP, 3),
        (samples::webp(640, 400, 4), Format::WebP, 4),
    ] {
        for (width, expected) in [(160, (160, 100)), (320, (320, 200)), (640, (640, 400)), (1280, (640, 400))]
        {
            let raster = decoded(&content, format, width);
            assert_eq!((raster.width, raster.height), expected, "{format:?}");
            assert_eq!(raster.channels, channels, "{format:?}");
            assert_gradient(&raster);
        }
    }
}

#[test]
fn gray_images_and_palettes_are_decoded() {
    for color in [png::ColorType::Grayscale, png::ColorType::GrayscaleAlpha] {
        let raster = decoded(&samples::png(64, 40, color), Format::Png, 32);
        assert_eq!((raster.width, raster.height), (32, 20));
    }
    let raster = decoded(&samples::gif(64, 40), Format::Gif, 640);
    assert_eq!((raster.width, raster.channels), (64, 4));
    assert_eq!(raster.pixels[..16], [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 0, 0, 0, 0]);
}

#[test]
fn copies_have_the_encoding_that_fits() {
    let encoded = |content: Vec<u8>, format, encoding| {
        let encoded = CopyJob::new(Cursor::new(content), format, 160).unwrap().run(encoding).unwrap();
        assert!(!encoded.content.is_empty());
        encoded.media_type
    };
    let opaque = || samples::png(200, 100, png::ColorType::Rgb);
    let transparent = || samples::png(200, 100, png::ColorType::Rgba);
    assert_eq!(encoded(opaque(), Format::Png, Encoding::WebP), "image/webp");
    assert_eq!(encoded(transparent(), Format::Png, Encoding::WebP), "image/webp");
    assert_eq!(encoded(opaque(), Format::Png, Encoding::JpegOrPng), "image/jpeg");
    assert_eq!(encoded(transparent(), Format::Png, Encoding::JpegOrPng), "image/png");
}

/// Copies of what is there: a complete image without its end, and the first part of one.
#[test]
fn jpegs_without_an_end_are_decoded_as_far_as_they_go() {
    use jpeg_encoder::SamplingFactor::{F_1_1, F_2_1, F_2_2};
    let sequential = |sampling, restarts: u16, quality| {
        let mut content = Vec::new();
        let mut encoder = jpeg_encoder::Encoder::new(&mut content, quality);
        encoder.set_sampling_factor(sampling);
        encoder.set_optimized_huffman_tables(restarts == 0);
        if restarts > 0 {
            encoder.set_restart_interval(restarts);
        }
        encoder.encode(&samples::pixels(640, 400, 3), 640, 400, jpeg_encoder::ColorType::Rgb).unwrap();
        content
    };
    for (n, content) in [
        sequential(F_2_2, 0, 80),
        sequential(F_2_2, 7, 80),
        sequential(F_1_1, 100, 95),
        sequential(F_2_1, 1, 50),
        samples::jpeg(640, 400, true),
    ]
    .into_iter()
    .enumerate()
    {
        let whole = decoded(&content, Format::Jpeg, 160);
        let cut = |bytes: usize| decode(&content[..bytes], Format::Jpeg, 160);
        let close = |raster: &Raster, rows: usize| {
            let pairs = raster.pixels.iter().zip(&whole.pixels).take(rows * 480);
            pairs.map(|(a, b)| a.abs_diff(*b)).max()
        };
        let length = content.len();
        assert_eq!(cut(length - 2).unwrap().pixels, whole.pixels, "{n}");
        assert!(close(&cut(length - 1).unwrap(), 100) == Some(0), "{n}: with half of the marker");
        let scans = content.windows(2).filter(|marker| *marker == [0xff, 0xda]).count();
        let luma =
            |pixel: &[u8]| (u32::from(pixel[0]) * 3 + u32::from(pixel[1]) * 6 + u32::from(pixel[2])) / 10;
        let mut known_before = 100;
        for percent in [90, 60, 40] {
            let raster = cut(length * percent / 100).unwrap();
            assert_eq!((raster.width, raster.height), (160, 100));
            let is_known = |row: &[u8]| row.iter().any(|value| *value != 128);
            let known = raster.pixels.chunks(480).rposition(is_known).map_or(0, |row| row + 1);
            if scans == 1 {
                assert!(known > 5 && known < known_before, "{n} {percent}: {known}");
                assert!(
                    close(&raster, known - 5) <= Some(24),
                    "{n} {percent}: {:?}",
                    close(&raster, known - 5)
                );
                known_before = known;
            } else {
                // The first scan has the brightness, or all colours in less detail.
                assert!(known > 5 && known <= known_before, "{n} {percent}: {known}");
                let pairs = raster.pixels.chunks(3).zip(whole.pixels.chunks(3));
                let most = pairs.take((known - 5) * 160).map(|(a, b)| luma(a).abs_diff(luma(b))).max();
                assert!(most <= Some(24), "{n} {percent}: {most:?}");
            }
        }
        for bytes in (0..length).step_by(211) {
            let _ = cut(bytes);
        }
        assert!(matches!(cut(100), Err(ImageError::Undecodable(_))), "there is no scan");
    }
}

/// Red and blue columns in turn are purple, whichever of them comes first.
#[test]
fn the_colours_of_jpeg_copies_are_averages() {
    for first in [0, 1] {
        let row: Vec<u8> =
            (0..160).flat_map(|x| if x % 2 == first { [255, 0, 0] } else { [0, 0, 255] }).collect();
        let raster = Raster { width: 160, height: 80, channels: 3, pixels: row.repeat(80) };
        let copy = crate::encode::encode(&raster, Encoding::JpegOrPng).unwrap();
        let shown = decoded(&copy.content, Format::Jpeg, 160);
        let mean = |channel: usize| {
            let sum: usize =
                shown.pixels.iter().skip(channel).step_by(3).map(|value| usize::from(*value)).sum();
            sum / (160 * 80)
        };
        let means = [mean(0), mean(1), mean(2)];
        assert!((115..=140).contains(&means[0]) && (115..=140).contains(&means[2]), "{means:?}");
    }
}

/// Returns an animation on a canvas, whose first frame is an image at a position.
fn animation(canvas: (u32, u32), (left, top): (u32, u32), image: &[u8], size: (u32, u32)) -> Vec<u8> {
    let number = |n: u32| n.to_le_bytes()[..3].to_vec();
    let chunk = |name: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        [name, &length, data, &vec![0; data.len() % 2]].concat()
    };
    // Positions are halved, sizes and canvas less one.
    let numbers = [left / 2, top / 2, size.0 - 1, size.1 - 1, 100].map(number).concat();
    let frame = chunk(b"ANMF", &[&numbers[..], &[0], image].concat());
    let header =
        chunk(b"VP8X", &[&[0x12, 0, 0, 0][..], &number(canvas.0 - 1), &number(canvas.1 - 1)].concat());
    let body = [b"WEBP", &header[..], &chunk(b"ANIM", &[0; 6]), &frame, &frame].concat();
    chunk(b"RIFF", &body)
}

#[test]
fn the_first_frame_of_an_animation_is_shown_on_its_canvas() {
    for channels in [3, 4] {
        let image = samples::webp(40, 30, channels);
        // Without the headers of the file; `VP8X` has 18 bytes.
        let chunks = if channels == 4 { &image[30..] } else { &image[12..] };
        let content = animation((80, 60), (20, 10), chunks, (40, 30));
        let raster = decoded(&content, Format::WebP, 80);
        assert_eq!((raster.width, raster.height, raster.channels), (80, 60, 4));
        let alpha = |x: usize, y: usize| raster.pixels[(y * 80 + x) * 4 + 3];
        assert_eq!(
            [alpha(0, 0), alpha(19, 12), alpha(21, 12), alpha(58, 12), alpha(61, 12)],
            [0, 0, 255, 255, 0]
        );
        let small = decoded(&content, Format::WebP, 40);
        assert_eq!((small.width, small.height), (40, 30));
    }
}

/// The size is checked before any pixel is decoded: these have none.
#[test]
fn large_images_are_refused() {
    let mut png = samples::png(1, 1, png::ColorType::Rgb)[..33].to_vec();
    png[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10]);
    let checksum = crc32fast::hash(&png[12..29]);
    png[29..33].copy_from_slice(&checksum.to_be_bytes());
    let mut gif = samples::gif(1, 1);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    let mut jpeg = samples::jpeg(8, 8, false);
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
    for (content, format) in [(png, Format::Png), (gif, Format::Gif), (jpeg, Format::Jpeg)] {
        let error = decode(&content, format, 160).unwrap_err();
        assert!(
            matches!(error, ImageError::TooManyPixels(pixels) if pixels >= 100_000_000),
            "{format:?} {error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_images_are_decoded_or_refused(at in 0usize..4000, value: u8, cut in 1usize..4000) {
        for (content, format) in [
            (samples::jpeg(40, 30, false), Format::Jpeg),
            (samples::jpeg(40, 30, true), Format::Jpeg),
            (samples::png(40, 30, png::ColorType::Rgba), Format::Png),
            (samples::gif(40, 30), Format::Gif),
            (samples::webp(40, 30, 4), Format::WebP),
        ] {
            let mut damaged = content;
            let length = damaged.len();
            damaged[at % length] = value;
            damaged.truncate(cut % length);
            match decode(&damaged, format, 20) {
                Ok(raster) => prop_assert!(raster.width <= 20),
                Err(ImageError::Io(error)) => prop_assert!(false, "{error}"),
                Err(_) => {}
            }
        }
    }
}
