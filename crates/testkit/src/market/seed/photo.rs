//! Photographs of the sample market: drawings, as PNG.

use std::io::Write;

use anyhow::Result;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use crate::market::random::Random;

/// Width in pixels.
pub const WIDTH: i32 = 320;
/// Height in pixels.
pub const HEIGHT: i32 = 240;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// A picture. Shapes may reach beyond its edges.
pub struct Canvas {
    palette: Vec<Colour>,
    /// An index of `palette` for each pixel, row by row.
    pixels: Vec<u8>,
}

impl Canvas {
    /// A picture of one colour.
    pub fn new(background: Colour) -> Self {
        Self { palette: vec![background], pixels: vec![0; (WIDTH * HEIGHT).unsigned_abs() as usize] }
    }

    /// Fills the ellipse with this centre and these radii.
    pub fn ellipse(&mut self, (x, y): (i32, i32), (rx, ry): (i32, i32), colour: Colour) {
        for dy in -ry..=ry {
            let share = f64::from(dy) / f64::from(ry);
            let half = rounded(f64::from(rx) * (1.0 - share * share).sqrt());
            self.rectangle((x - half, y + dy), (2 * half + 1, 1), colour);
        }
    }

    /// Fills the rectangle with this upper left corner, width and height.
    pub fn rectangle(&mut self, (x, y): (i32, i32), (width, height): (i32, i32), colour: Colour) {
        let index = self.palette.iter().position(|known| *known == colour).unwrap_or_else(|| {
            self.palette.push(colour);
            self.palette.len() - 1
        });
        let index = u8::try_from(index).unwrap_or(u8::MAX);
        let (left, right) = (x.clamp(0, WIDTH), (x + width).clamp(0, WIDTH));
        for row in y.clamp(0, HEIGHT)..(y + height).clamp(0, HEIGHT) {
            let offset = |column: i32| (row * WIDTH + column).unsigned_abs() as usize;
            if left < right {
                self.pixels[offset(left)..offset(right)].fill(index);
            }
        }
    }

    /// Fills everything below a line. `top` returns its y for each x.
    pub fn below(&mut self, top: impl Fn(i32) -> i32, colour: Colour) {
        for x in 0..WIDTH {
            self.rectangle((x, top(x)), (1, HEIGHT), colour);
        }
    }

    /// Encodes the picture as a PNG file of some kB.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut header = [WIDTH.to_be_bytes(), HEIGHT.to_be_bytes()].concat();
        header.extend([8, 3, 0, 0, 0]); // 8 bits, a palette, no interlacing
        let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
        for row in self.pixels.chunks(WIDTH.unsigned_abs() as usize) {
            data.write_all(&[0])?; // no filter
            data.write_all(row)?;
        }
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let chunks: [(&[u8; 4], Vec<u8>); 4] = [
            (b"IHDR", header),
            (b"PLTE", self.palette.as_flattened().to_vec()),
            (b"IDAT", data.finish()?),
            (b"IEND", Vec::new()),
        ];
        for (name, content) in chunks {
            let mut crc = Crc::new();
            crc.update(name);
            crc.update(&content);
            png.extend(u32::try_from(content.len())?.to_be_bytes());
            png.extend(name);
            png.extend(content);
            png.extend(crc.sum().to_be_bytes());
        }
        Ok(png)
    }
}

/// Rounds a coordinate.
pub fn rounded(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "coordinates of a small picture")]
    let whole = value.round() as i32;
    whole
}

const WHITE: Colour = [250, 248, 240];
const WOOL: Colour = [236, 228, 208];
const BLACK: Colour = [34, 32, 36];
const BROWN: Colour = [124, 62, 34];
const STRAW: Colour = [222, 186, 92];
const STRAW_SHADE: Colour = [184, 144, 58];

/// What a photograph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A flock of sheep.
    Sheep,
    /// Cattle, black or brown with white faces.
    Cattle {
        /// Whether they are black.
        black: bool,
    },
    /// A working dog.
    Dog,
    /// Round bales.
    Bales {
        /// Whether they are wrapped in plastic.
        wrapped: bool,
    },
    /// A heap of grain or sand.
    Heap {
        /// Whether it is pale.
        pale: bool,
    },
    /// A stack of square bales.
    Stack,
}

/// Draws a photograph as PNG. The number decides on the light, the hills and the positions.
pub fn listing(subject: Subject, number: usize) -> Result<Vec<u8>> {
    let random = &mut Random::of(number);
    let mut canvas = landscape(random);
    let mut herd = |count: i32, distance: i32| {
        let mut points: Vec<_> = (0..count)
            .map(|index| (40 + distance * index + whole(random, 40), 144 + whole(random, 50)))
            .collect();
        points.sort_by_key(|point| point.1); // the nearest last
        points
    };
    match subject {
        Subject::Sheep => herd(4, 70).into_iter().for_each(|at| sheep(&mut canvas, at, at.0 % 2 == 0)),
        Subject::Cattle { black } => herd(3, 90).into_iter().for_each(|at| cow(&mut canvas, at, black)),
        Subject::Bales { wrapped } => herd(4, 70).into_iter().for_each(|at| bale(&mut canvas, at, wrapped)),
        Subject::Dog => dog(&mut canvas, (130 + whole(random, 60), 160)),
        Subject::Heap { pale } => heap(&mut canvas, (160, 210), pale, random),
        Subject::Stack => stack(&mut canvas, (60 + whole(random, 40), 196)),
    }
    canvas.png()
}

/// A whole number in `0..end`.
fn whole(random: &mut Random, end: usize) -> i32 {
    i32::try_from(random.below(end)).unwrap_or_default()
}

/// Sky, sun, clouds, two rows of hills and a field.
fn landscape(random: &mut Random) -> Canvas {
    let [sky, far, near, field] = random.one(&[
        [[126, 182, 226], [118, 152, 138], [92, 142, 78], [118, 168, 74]],
        [[176, 196, 206], [134, 150, 148], [110, 136, 92], [138, 160, 90]],
        [[204, 190, 184], [150, 132, 120], [146, 122, 70], [170, 150, 84]],
    ]);
    let mut canvas = Canvas::new(sky);
    for band in 1..5 {
        let lighter = |value: u8| value.saturating_add(8 * band);
        canvas.rectangle((0, 26 * i32::from(band)), (WIDTH, HEIGHT), sky.map(lighter));
    }
    canvas.ellipse((30 + whole(random, 260), 34), (16, 16), [255, 236, 170]);
    for _ in 0..3 {
        let (x, y) = (whole(random, 300), 30 + whole(random, 40));
        for (dx, size) in [(0, 14), (16, 18), (34, 12)] {
            canvas.ellipse((x + dx, y - size / 4), (size, size / 2), WHITE);
        }
    }
    for (colour, base, height, length) in
        [(far, 108, 26.0, 60.0), (near, 128, 14.0, 42.0), (field, 142, 3.0, 90.0)]
    {
        let shift = random.between((0.0, 6.0));
        canvas.below(|x| base - rounded(height * (f64::from(x) / length + shift).sin()), colour);
    }
    canvas
}

fn legs(
    canvas: &mut Canvas,
    (x, y): (i32, i32),
    offsets: [i32; 4],
    (width, length): (i32, i32),
    colour: Colour,
) {
    for offset in offsets {
        canvas.rectangle((x + offset, y), (width, length), colour);
    }
}

fn sheep(canvas: &mut Canvas, (x, y): (i32, i32), dark_face: bool) {
    let face = if dark_face { BLACK } else { WHITE };
    legs(canvas, (x, y), [-16, -9, 8, 14], (4, 28), face);
    for (dx, dy) in [(-16, 0), (-9, -9), (3, -11), (14, -6), (17, 3), (6, 8), (-8, 8)] {
        canvas.ellipse((x + dx, y + dy), (11, 9), WOOL);
    }
    canvas.ellipse((x, y), (20, 13), WOOL);
    canvas.ellipse((x + 28, y - 10), (8, 6), face);
    canvas.ellipse((x + 21, y - 15), (5, 2), face);
    canvas.rectangle((x + 29, y - 12), (2, 2), if dark_face { WHITE } else { BLACK });
}

fn cow(canvas: &mut Canvas, (x, y): (i32, i32), black: bool) {
    let coat = if black { BLACK } else { BROWN };
    legs(canvas, (x, y), [-28, -18, 18, 27], (6, 38), coat);
    canvas.rectangle((x - 30, y - 18), (62, 30), coat);
    canvas.ellipse((x, y + 8), (30, 10), coat);
    canvas.ellipse((x - 30, y - 4), (8, 14), coat);
    canvas.rectangle((x - 38, y - 14), (3, 34), coat);
    canvas.ellipse((x + 34, y - 14), (10, 14), coat);
    canvas.ellipse((x + 46, y - 20), (13, 9), if black { coat } else { WHITE });
    canvas.ellipse((x + 36, y - 28), (7, 3), coat);
    canvas.ellipse((x + 57, y - 18), (4, 5), [206, 150, 140]);
    canvas.rectangle((x + 45, y - 24), (3, 3), if black { WHITE } else { BLACK });
}

fn dog(canvas: &mut Canvas, (x, y): (i32, i32)) {
    legs(canvas, (x, y), [-30, -22, 18, 26], (7, 44), WHITE);
    canvas.ellipse((x - 2, y), (38, 17), BLACK);
    canvas.ellipse((x - 46, y + 8), (16, 6), BLACK);
    canvas.ellipse((x - 60, y + 12), (6, 4), WHITE);
    canvas.ellipse((x + 32, y - 8), (14, 20), WHITE);
    canvas.ellipse((x + 44, y - 28), (16, 13), BLACK);
    canvas.ellipse((x + 58, y - 23), (11, 6), WHITE);
    canvas.ellipse((x + 68, y - 24), (3, 3), BLACK);
    canvas.ellipse((x + 36, y - 42), (5, 9), BLACK);
    canvas.rectangle((x + 48, y - 31), (3, 3), [196, 140, 60]);
}

fn bale(canvas: &mut Canvas, (x, y): (i32, i32), wrapped: bool) {
    let (light, dark) = if wrapped { ([58, 74, 64], BLACK) } else { (STRAW, STRAW_SHADE) };
    canvas.ellipse((x, y + 30), (36, 5), [88, 108, 58]);
    for (radius, colour) in [(32, dark), (29, light), (20, dark), (18, light), (9, dark), (7, light)] {
        canvas.ellipse((x, y), (radius, radius), colour);
    }
}

fn heap(canvas: &mut Canvas, (x, y): (i32, i32), pale: bool, random: &mut Random) {
    let (light, dark) = if pale { (WOOL, [196, 184, 160]) } else { (STRAW, STRAW_SHADE) };
    canvas.ellipse((x, y), (120, 74), dark);
    canvas.ellipse((x - 6, y + 4), (112, 72), light);
    for _ in 0..160 {
        let (dx, dy) = (whole(random, 150) - 75, whole(random, 60) - 45);
        canvas.rectangle((x + dx, y + dy), (3, 2), dark);
    }
    canvas.rectangle((0, y), (WIDTH, HEIGHT), [148, 146, 142]);
}

fn stack(canvas: &mut Canvas, (x, y): (i32, i32)) {
    for row in 0..4 {
        for column in 0..(5 - row) {
            let corner = (x + 42 * column + 21 * row, y - 26 * (row + 1));
            canvas.rectangle(corner, (41, 25), STRAW_SHADE);
            canvas.rectangle((corner.0 + 1, corner.1 + 1), (38, 21), STRAW);
            canvas.rectangle((corner.0 + 12, corner.1 + 1), (2, 21), BROWN);
            canvas.rectangle((corner.0 + 27, corner.1 + 1), (2, 21), BROWN);
        }
    }
}

const INK: [u8; 3] = [40, 40, 60];
/// Pixels of one dot of a letter.
const DOT: i32 = 3;

/// The characters that a ticket can have, in the order of `GLYPHS`.
const CHARACTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

/// Letters of three by five dots: a number for each row, the highest of its three bits on the left.
#[rustfmt::skip]
const GLYPHS: [[u8; 5]; 38] = [
    [2, 5, 7, 5, 5], [6, 5, 6, 5, 6], [3, 4, 4, 4, 3], [6, 5, 5, 5, 6], [7, 4, 6, 4, 7], [7, 4, 6, 4, 4],
    [3, 4, 5, 5, 3], [5, 5, 7, 5, 5], [7, 2, 2, 2, 7], [1, 1, 1, 5, 2], [5, 5, 6, 5, 5], [4, 4, 4, 4, 7],
    [5, 7, 7, 5, 5], [6, 5, 5, 5, 5], [2, 5, 5, 5, 2], [6, 5, 6, 4, 4], [2, 5, 5, 7, 3], [6, 5, 6, 5, 5],
    [3, 4, 2, 1, 6], [7, 2, 2, 2, 2], [5, 5, 5, 5, 7], [5, 5, 5, 5, 2], [5, 5, 7, 7, 5], [5, 5, 2, 5, 5],
    [5, 5, 2, 2, 2], [7, 1, 2, 4, 7], [7, 5, 5, 5, 7], [2, 6, 2, 2, 7], [7, 1, 7, 4, 7], [7, 1, 7, 1, 7],
    [5, 5, 7, 1, 1], [7, 4, 7, 1, 7], [7, 4, 7, 5, 7], [7, 1, 1, 2, 2], [7, 5, 7, 5, 7], [7, 5, 7, 1, 7],
    [0, 0, 7, 0, 0], [0, 0, 0, 0, 2],
];

/// What a ticket says. Weights are tonnes.
#[derive(Debug, Clone, Copy)]
pub struct Ticket<'a> {
    /// Number of the ticket.
    pub number: &'a str,
    /// Registration of the vehicle.
    pub vehicle: &'a str,
    /// Date of the weighing.
    pub date: &'a str,
    /// Weight of vehicle and goods.
    pub gross: f64,
    /// Weight of the goods.
    pub net: f64,
}

/// Draws a ticket as PNG.
pub fn ticket(ticket: &Ticket<'_>) -> Result<Vec<u8>> {
    let mut canvas = Canvas::new([112, 92, 74]);
    canvas.rectangle((46, 12), (236, HEIGHT - 18), [84, 68, 54]);
    canvas.rectangle((40, 6), (236, HEIGHT - 18), [248, 246, 236]);
    let lines = [
        "WEIGHBRIDGE".to_owned(),
        format!("TICKET  {}", ticket.number),
        format!("DATE    {}", ticket.date),
        format!("VEHICLE {}", ticket.vehicle),
        format!("GROSS   {:.2} T", ticket.gross),
        format!("TARE    {:.2} T", ticket.gross - ticket.net),
        format!("NET     {:.2} T", ticket.net),
    ];
    for (row, line) in (0..).zip(&lines) {
        write(&mut canvas, (54, 20 + 26 * row), line);
    }
    // The signature of the receiver: the digits of the number, joined.
    let mut y = 208;
    for (x, target) in (150..).zip(ticket.number.bytes().flat_map(|byte| [198 + 3 * i32::from(byte % 8); 12]))
    {
        y += (target - y).signum() * 2;
        canvas.ellipse((x, y), (1, 1), [30, 60, 150]);
    }
    canvas.png()
}

fn write(canvas: &mut Canvas, (x, y): (i32, i32), text: &str) {
    for (column, character) in (0..).zip(text.chars()) {
        let Some(glyph) = CHARACTERS.find(character).and_then(|index| GLYPHS.get(index)) else { continue };
        for (row, bits) in (0..).zip(glyph) {
            for (bit, mask) in [(0, 4), (1, 2), (2, 1)] {
                if bits & mask != 0 {
                    canvas.rectangle((x + DOT * (4 * column + bit), y + DOT * row), (DOT, DOT), INK);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photographs_are_small_and_differ() {
        let subjects = [
            Subject::Sheep,
            Subject::Cattle { black: true },
            Subject::Cattle { black: false },
            Subject::Dog,
            Subject::Bales { wrapped: true },
            Subject::Heap { pale: false },
            Subject::Heap { pale: true },
            Subject::Stack,
        ];
        let mut all: Vec<_> = subjects
            .iter()
            .flat_map(|subject| [1, 2].map(|number| listing(*subject, number).unwrap()))
            .collect();
        let (vehicle, date) = ("VX21 KLM", "2026-03-01");
        all.push(ticket(&Ticket { number: "WB-40001", vehicle, date, gross: 43.92, net: 29.12 }).unwrap());
        for (index, png) in all.iter().enumerate() {
            assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{index}");
            assert!((500..12_000).contains(&png.len()), "{index}: {} bytes", png.len());
            assert!(all.iter().skip(index + 1).all(|other| other != png), "{index}");
        }
    }
}
