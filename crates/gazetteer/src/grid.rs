//! The three-word grid, version "tw1", as `data/rebuild/threewords_reference.py` specifies it.
//!
//! Cells of 0.00009 degrees are numbered. A Feistel network permutes the numbers, so that neighbouring cells have
//! different words. The word list is frozen with the version: another list would change the address of every point.

use fst::{IntoStreamer, Map, Streamer};

use crate::resolve;
use crate::spelling::SpellingAutomaton;
use crate::tables::{WORD_NUMBERS, WORDS};

/// Number of cells from pole to pole.
const ROWS: i64 = 2_000_000;
/// Number of cells around the earth.
const COLUMNS: i64 = 4_000_000;
/// Side of a cell, in units of 1e-7 degree.
const CELL_SIZE: i64 = 900;
/// 90 degrees, in units of 1e-7 degree.
const QUARTER_TURN: i64 = 900_000_000;
/// 180 degrees, in units of 1e-7 degree.
const HALF_TURN: i64 = 1_800_000_000;
/// Number of words in the list.
const WORD_COUNT: u64 = 20_000;
/// Rounds of the Feistel network.
const ROUNDS: u64 = 12;
/// Longest text that is decoded, in bytes.
const MAX_TEXT_BYTES: usize = 200;
/// Maximum number of combinations of similar words that are considered as suggestions.
const MAX_COMBINATIONS: usize = 1_000;
/// Maximum number of suggestions for an unknown address.
const MAX_SUGGESTIONS: usize = 3;

/// Three-word addresses of cells of about 10 m by 10 m that cover the earth.
pub struct Grid {
    numbers: Map<&'static [u8]>,
}

/// The error for a text that is not an address of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWords {
    /// Up to three addresses with similar spelling. Those in or near the British Isles come first: few wrong addresses
    /// are there by chance. They are sorted by the number of edits, then alphabetically.
    pub suggestions: Vec<String>,
}

impl Grid {
    /// Opens the embedded word list.
    pub fn open() -> Self {
        let Ok(numbers) = Map::new(WORD_NUMBERS) else { unreachable!("the build script wrote it") };
        Self { numbers }
    }

    /// Returns the address `one.two.three` of the cell that contains a point in WGS84 degrees.
    pub fn encode(&self, lat: f64, lon: f64) -> String {
        let units = |degrees: f64| (degrees * 1e7).round() as i64;
        let row = ((units(lat).clamp(-QUARTER_TURN, QUARTER_TURN) + QUARTER_TURN) / CELL_SIZE).min(ROWS - 1);
        let column = (units(lon).rem_euclid(2 * HALF_TURN) + HALF_TURN) % (2 * HALF_TURN) / CELL_SIZE;
        words(mix((row * COLUMNS + column).cast_unsigned()))
    }

    /// Returns the centre of the cell with this address, in degrees. The words may be in any case and separated by
    /// dots, spaces, commas or slashes.
    ///
    /// # Errors
    /// [`UnknownWords`] if the text is not an address, with suggestions if it consists of three words.
    pub fn decode(&self, text: &str) -> Result<(f64, f64), UnknownWords> {
        let lower = if text.len() > MAX_TEXT_BYTES { String::new() } else { text.to_lowercase() };
        let mut parts = lower.split(['.', ' ', ',', '/']).filter(|word| !word.is_empty());
        let (Some(a), Some(b), Some(c), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(UnknownWords { suggestions: vec![] });
        };
        match [a, b, c].map(|word| self.numbers.get(word)) {
            [Some(a), Some(b), Some(c)] => Ok(centre(unmix([a, b, c]))),
            _ => Err(UnknownWords { suggestions: self.suggest([a, b, c]) }),
        }
    }

    fn suggest(&self, words_given: [&str; 3]) -> Vec<String> {
        let [a, b, c] = words_given.map(|word| self.similar_words(word));
        // The same number of candidates for each unknown word: 1000 for one, 31 each for two, 10 each for three.
        let unknown = [&a, &b, &c].into_iter().filter(|candidates| candidates.len() > 1).count() as u32;
        let limit = (1..=MAX_COMBINATIONS).take_while(|n| n.pow(unknown) <= MAX_COMBINATIONS).count();
        let mut candidates = Vec::new();
        for a in a.iter().take(limit) {
            for b in b.iter().take(limit) {
                for c in c.iter().take(limit) {
                    let numbers = [a.1, b.1, c.1];
                    let (lat, lon) = centre(unmix(numbers));
                    let is_far = !resolve::is_near_british_isles(lat, lon);
                    candidates.push((is_far, a.0 + b.0 + c.0, words(numbers)));
                }
            }
        }
        candidates.sort_unstable();
        candidates.into_iter().take(MAX_SUGGESTIONS).map(|(.., words)| words).collect()
    }

    /// Returns the word itself if it is in the list, else similar words, with their numbers of edits. They are sorted
    /// by edits; of those with the same number, words with the same first letter come first.
    fn similar_words(&self, word: &str) -> Vec<(u8, u64)> {
        if let Some(number) = self.numbers.get(word) {
            return vec![(0, number)];
        }
        let max_edits = if word.len() < 5 { 1 } else { 2 };
        let automaton = SpellingAutomaton { word: word.as_bytes(), max_edits };
        let mut stream = self.numbers.search_with_state(&automaton).into_stream();
        let mut similar = Vec::new();
        while let Some((spelling, number, state)) = stream.next() {
            let first_differs = spelling.first() != word.as_bytes().first();
            similar.push((automaton.distance(&state), first_differs, number));
        }
        similar.sort_unstable();
        similar.into_iter().map(|(edits, _, number)| (edits, number)).collect()
    }
}

/// Returns the address of three word numbers.
fn words(numbers: [u64; 3]) -> String {
    let word = |number: u64| String::from_utf8_lossy(WORDS[number as usize].trim_ascii_end());
    let [a, b, c] = numbers.map(word);
    format!("{a}.{b}.{c}")
}

/// Returns the centre of a cell in degrees.
fn centre(cell: u64) -> (f64, f64) {
    let (row, column) = (cell.cast_signed() / COLUMNS, cell.cast_signed() % COLUMNS);
    let degrees =
        |number: i64, offset: i64| f64::from((number * CELL_SIZE + CELL_SIZE / 2 - offset) as i32) / 1e7;
    (degrees(row, QUARTER_TURN), degrees(column, HALF_TURN))
}

/// Returns what a round of the Feistel network adds to digit `round % 3`, computed from the other two digits.
fn addend(round: u64, x: &[u64; 3]) -> u64 {
    let digit = |after: u64| x[((round + after) % 3) as usize];
    let mut z = ((round << 48) ^ (digit(1) << 24) ^ digit(2)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) % WORD_COUNT
}

/// Converts a cell number to the numbers of its words.
fn mix(cell: u64) -> [u64; 3] {
    let mut x = [cell / (WORD_COUNT * WORD_COUNT), cell / WORD_COUNT % WORD_COUNT, cell % WORD_COUNT];
    for round in 0..ROUNDS {
        x[(round % 3) as usize] = (x[(round % 3) as usize] + addend(round, &x)) % WORD_COUNT;
    }
    x
}

/// Converts the numbers of words to a cell number.
fn unmix(mut x: [u64; 3]) -> u64 {
    for round in (0..ROUNDS).rev() {
        x[(round % 3) as usize] = (x[(round % 3) as usize] + WORD_COUNT - addend(round, &x)) % WORD_COUNT;
    }
    (x[0] * WORD_COUNT + x[1]) * WORD_COUNT + x[2]
}
