//! Photographs of weighbridge tickets.

use anyhow::Result;

use super::canvas::{Canvas, HEIGHT};

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
