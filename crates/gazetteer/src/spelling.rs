//! An automaton for `fst` that accepts words within a few edits of a word. An edit inserts, removes or replaces a
//! letter, or swaps two neighbours (optimal string alignment distance).

use fst::Automaton;

/// Greatest supported number of edits.
pub(crate) const MAX_EDITS: usize = 2;
/// A distance that is greater than any accepted one. Cells outside the table have it.
const UNREACHABLE: u8 = 100;
/// Width of the band around the diagonal of the table. Cells outside it are more than [`MAX_EDITS`] away.
const BAND_WIDTH: usize = 2 * MAX_EDITS + 1;

/// Accepts words within `max_edits` (at most [`MAX_EDITS`]) of `word`. If the first letter differs, accepts only one
/// edit: wrong first letters are rare, and a search below all letters takes several times as long.
pub(crate) struct SpellingAutomaton<'a> {
    pub word: &'a [u8],
    pub max_edits: u8,
}

/// The state of the automaton after `read` bytes: the last two rows of the table of distances between prefixes. Cell
/// `j` of a row is for the prefix of the word with `read + j - MAX_EDITS` bytes.
#[derive(Clone, Copy)]
pub(crate) struct DistanceRows {
    max_edits: u8,
    read: usize,
    last_byte: u8,
    previous: [u8; BAND_WIDTH],
    current: [u8; BAND_WIDTH],
}

impl SpellingAutomaton<'_> {
    /// Returns the number of edits between the bytes read and the whole word.
    pub(crate) fn distance(&self, rows: &DistanceRows) -> u8 {
        (self.word.len() + MAX_EDITS)
            .checked_sub(rows.read)
            .and_then(|j| rows.current.get(j))
            .copied()
            .unwrap_or(UNREACHABLE)
    }
}

impl Automaton for SpellingAutomaton<'_> {
    type State = DistanceRows;

    fn start(&self) -> DistanceRows {
        let mut current = [UNREACHABLE; BAND_WIDTH];
        for (distance, cell) in (0..).zip(&mut current[MAX_EDITS..]).take(self.word.len() + 1) {
            *cell = distance;
        }
        let previous = [UNREACHABLE; BAND_WIDTH];
        DistanceRows { max_edits: self.max_edits, read: 0, last_byte: 0, previous, current }
    }

    fn is_match(&self, rows: &DistanceRows) -> bool {
        self.distance(rows) <= rows.max_edits
    }

    fn can_match(&self, rows: &DistanceRows) -> bool {
        rows.current.iter().any(|distance| *distance <= rows.max_edits)
    }

    fn accept(&self, rows: &DistanceRows, byte: u8) -> DistanceRows {
        let read = rows.read + 1;
        let mut current = [UNREACHABLE; BAND_WIDTH];
        for j in 0..BAND_WIDTH {
            let Some(column) = (read + j).checked_sub(MAX_EDITS).filter(|column| *column <= self.word.len())
            else {
                continue;
            };
            let mut distance = rows.current.get(j + 1).map_or(UNREACHABLE, |above| above + 1);
            if j > 0 {
                distance = distance.min(current[j - 1] + 1);
            }
            if column > 0 {
                let letter = self.word[column - 1];
                distance = distance.min(rows.current[j] + u8::from(letter != byte));
                if column > 1 && letter == rows.last_byte && self.word[column - 2] == byte {
                    distance = distance.min(rows.previous[j] + 1);
                }
            }
            current[j] = distance.min(UNREACHABLE);
        }
        let first_differs = read == 1 && self.word.first() != Some(&byte);
        let max_edits = if first_differs { rows.max_edits.min(1) } else { rows.max_edits };
        DistanceRows { max_edits, read, last_byte: byte, previous: rows.current, current }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the number of edits, from the whole table.
    pub(crate) fn edits(a: &[u8], b: &[u8]) -> usize {
        let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
        for i in 1..=a.len() {
            let mut row = vec![i];
            for j in 1..=b.len() {
                let mut distance = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
                distance = distance.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    distance = distance.min(rows[i - 2][j - 2] + 1);
                }
                row.push(distance);
            }
            rows.push(row);
        }
        rows[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn agrees_with_the_whole_table(word in "[abc]{0,8}", read in "[abc]{0,8}") {
            let automaton = SpellingAutomaton { word: word.as_bytes(), max_edits: 2 };
            let rows = read.bytes().fold(automaton.start(), |rows, byte| automaton.accept(&rows, byte));
            let distance = edits(word.as_bytes(), read.as_bytes());
            let first_differs = !read.is_empty() && word.bytes().next() != read.bytes().next();
            let is_similar = distance <= if first_differs { 1 } else { 2 };
            prop_assert_eq!(automaton.is_match(&rows), is_similar);
            if is_similar {
                prop_assert_eq!(usize::from(automaton.distance(&rows)), distance);
                prop_assert!(automaton.can_match(&rows));
            }
        }
    }
}
