//! Photographs of listings: animals, bales and heaps in a landscape.

use anyhow::Result;
use stack::random::Random;

use super::canvas::{Canvas, Colour, HEIGHT, WIDTH, rounded};

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
