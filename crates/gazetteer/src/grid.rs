//! The three-word grid, version "tw1", as `data/rebuild/threewords_reference.py` specifies it: cells of 0.00009 degree
//! are numbered, and the numbers mixed so that neighbours have quite different words. The words are frozen with the
//! version: another list would give every point another address.

use fst::{IntoStreamer, Map, Streamer};

use crate::spelling::Near;
use crate::tables::{WORD_NUMBERS, WORDS};

const ROWS: i64 = 2_000_000;
const COLUMNS: i64 = 4_000_000;
/// Side of a cell, and a quarter and half of the way around, in units of 1e-7 degree.
const STEP: i64 = 900;
const QUARTER: i64 = 900_000_000;
const HALF: i64 = 1_800_000_000;
/// Number of words.
const BASE: u64 = 20_000;
const ROUNDS: u64 = 12;
/// Longest text that is looked at, in bytes, and most near spellings that are combined to suggestions.
const LONGEST: usize = 200;
const MAX_COMBINATIONS: usize = 1_000;

/// Addresses of three words for cells of about 10 m by 10 m, all over the earth.
pub struct Grid {
    numbers: Map<&'static [u8]>,
}

/// The text is no address of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Addresses that are spelled nearly so, at most three. First those in or near the British Isles: by chance hardly
    /// any is there. Then by edits, then by alphabet.
    pub suggestions: Vec<String>,
}

impl Grid {
    /// Ready at once.
    pub fn open() -> Self {
        let Ok(numbers) = Map::new(WORD_NUMBERS) else { unreachable!("build/ wrote it") };
        Self { numbers }
    }

    /// The words of the cell that WGS84 degrees are in: `one.two.three`.
    pub fn encode(&self, lat: f64, lon: f64) -> String {
        let units = |degrees: f64| (degrees * 1e7).round() as i64;
        let row = ((units(lat).clamp(-QUARTER, QUARTER) + QUARTER) / STEP).min(ROWS - 1);
        let column = (units(lon).rem_euclid(2 * HALF) + HALF) % (2 * HALF) / STEP;
        words(mix((row * COLUMNS + column).cast_unsigned()))
    }

    /// The centre of the cell of three words, in degrees. They are written in any case and parted by dots, spaces, commas
    /// or slashes.
    pub fn decode(&self, text: &str) -> Result<(f64, f64), Unknown> {
        let lower = if text.len() > LONGEST { String::new() } else { text.to_lowercase() };
        let mut parts = lower.split(['.', ' ', ',', '/']).filter(|word| !word.is_empty());
        let (Some(a), Some(b), Some(c), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Unknown { suggestions: vec![] });
        };
        match [a, b, c].map(|word| self.numbers.get(word)) {
            [Some(a), Some(b), Some(c)] => Ok(centre(unmix([a, b, c]))),
            _ => Err(Unknown { suggestions: self.suggest([a, b, c]) }),
        }
    }

    fn suggest(&self, asked: [&str; 3]) -> Vec<String> {
        let [a, b, c] = asked.map(|word| self.near(word));
        // As many of each as may be combined: 1000 of one, 31 of two, 10 of three.
        let open = [&a, &b, &c].into_iter().filter(|near| near.len() > 1).count() as u32;
        let most = (1..=MAX_COMBINATIONS).take_while(|n| n.pow(open) <= MAX_COMBINATIONS).count();
        let mut found = Vec::new();
        for a in a.iter().take(most) {
            for b in b.iter().take(most) {
                for c in c.iter().take(most) {
                    let numbers = [a.1, b.1, c.1];
                    let (lat, lon) = centre(unmix(numbers));
                    found.push((
                        !crate::resolved_address::is_near_home(lat, lon),
                        a.0 + b.0 + c.0,
                        words(numbers),
                    ));
                }
            }
        }
        found.sort_unstable();
        found.into_iter().take(3).map(|(.., words)| words).collect()
    }

    /// The word itself, or else words that are spelled nearly so, with the number of edits: the nearest first, and of these
    /// first those with the same first letter.
    fn near(&self, word: &str) -> Vec<(u8, u64)> {
        if let Some(number) = self.numbers.get(word) {
            return vec![(0, number)];
        }
        let near = Near { word: word.as_bytes(), edits: if word.len() < 5 { 1 } else { 2 } };
        let mut stream = self.numbers.search_with_state(&near).into_stream();
        let mut found = Vec::new();
        while let Some((spelled, number, state)) = stream.next() {
            found.push((near.distance(&state), spelled.first() != word.as_bytes().first(), number));
        }
        found.sort_unstable();
        found.into_iter().map(|(edits, _, number)| (edits, number)).collect()
    }
}

fn words(numbers: [u64; 3]) -> String {
    let word = |number: u64| String::from_utf8_lossy(WORDS[number as usize].trim_ascii_end());
    let [a, b, c] = numbers.map(word);
    format!("{a}.{b}.{c}")
}

fn centre(cell: u64) -> (f64, f64) {
    let (row, column) = (cell.cast_signed() / COLUMNS, cell.cast_signed() % COLUMNS);
    let degrees = |number: i64, least: i64| f64::from((number * STEP + STEP / 2 - least) as i32) / 1e7;
    (degrees(row, QUARTER), degrees(column, HALF))
}

/// What round `r` of the Feistel network adds to the digit `r % 3`, from the two others.
fn addend(round: u64, x: &[u64; 3]) -> u64 {
    let digit = |after: u64| x[((round + after) % 3) as usize];
    let mut z = ((round << 48) ^ (digit(1) << 24) ^ digit(2)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % BASE
}

fn mix(cell: u64) -> [u64; 3] {
    let mut x = [cell / (BASE * BASE), cell / BASE % BASE, cell % BASE];
    for round in 0..ROUNDS {
        x[(round % 3) as usize] = (x[(round % 3) as usize] + addend(round, &x)) % BASE;
    }
    x
}

fn unmix(mut x: [u64; 3]) -> u64 {
    for round in (0..ROUNDS).rev() {
        x[(round % 3) as usize] = (x[(round % 3) as usize] + BASE - addend(round, &x)) % BASE;
    }
    (x[0] * BASE + x[1]) * BASE + x[2]
}
