//! Near spellings: an automaton that walks an `fst` and accepts what is a few edits from a word. An edit is a letter too
//! many, too few or changed, or two neighbours swapped.

use fst::Automaton;

/// Most edits that are ever looked for.
pub const MAX_EDITS: usize = 2;
/// More than any number of edits that matters.
const FAR: u8 = 100;
/// Columns of a row: as many beside the diagonal as there may be edits.
const BAND: usize = 2 * MAX_EDITS + 1;

/// What is at most `edits` (up to [`MOST`]) from `word`; only one edit where the first letter is another, for one that is
/// wrong is rare, and looking under all letters takes several times as long.
pub struct Near<'a> {
    pub word: &'a [u8],
    pub edits: u8,
}

/// The last two rows of the table of distances between beginnings, after `read` bytes. Column `j` is for the beginning of
/// the word that is `j - MOST` longer than what was read.
#[derive(Clone, Copy)]
pub struct Rows {
    edits: u8,
    read: usize,
    last: u8,
    before: [u8; BAND],
    now: [u8; BAND],
}

impl Near<'_> {
    /// How far all that was read is from the whole word.
    pub fn distance(&self, rows: &Rows) -> u8 {
        (self.word.len() + MAX_EDITS)
            .checked_sub(rows.read)
            .and_then(|j| rows.now.get(j))
            .copied()
            .unwrap_or(FAR)
    }
}

impl Automaton for Near<'_> {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut now = [FAR; BAND];
        for (distance, cell) in (0..).zip(&mut now[MAX_EDITS..]).take(self.word.len() + 1) {
            *cell = distance;
        }
        Rows { edits: self.edits, read: 0, last: 0, before: [FAR; BAND], now }
    }

    fn is_match(&self, rows: &Rows) -> bool {
        self.distance(rows) <= rows.edits
    }

    fn can_match(&self, rows: &Rows) -> bool {
        rows.now.iter().any(|distance| *distance <= rows.edits)
    }

    fn accept(&self, rows: &Rows, byte: u8) -> Rows {
        let read = rows.read + 1;
        let mut now = [FAR; BAND];
        for j in 0..BAND {
            let Some(column) = (read + j).checked_sub(MAX_EDITS).filter(|column| *column <= self.word.len())
            else {
                continue;
            };
            let mut least = rows.now.get(j + 1).map_or(FAR, |above| above + 1);
            if j > 0 {
                least = least.min(now[j - 1] + 1);
            }
            if column > 0 {
                let letter = self.word[column - 1];
                least = least.min(rows.now[j] + u8::from(letter != byte));
                if column > 1 && letter == rows.last && self.word[column - 2] == byte {
                    least = least.min(rows.before[j] + 1);
                }
            }
            now[j] = least.min(FAR);
        }
        let is_other = read == 1 && self.word.first() != Some(&byte);
        let edits = if is_other { rows.edits.min(1) } else { rows.edits };
        Rows { edits, read, last: byte, before: rows.now, now }
    }
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by the whole table.
    pub fn edits(a: &[u8], b: &[u8]) -> usize {
        let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
        for i in 1..=a.len() {
            let mut row = vec![i];
            for j in 1..=b.len() {
                let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
                least = least.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                row.push(least);
            }
            rows.push(row);
        }
        rows[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn as_by_the_whole_table(word in "[abc]{0,8}", read in "[abc]{0,8}") {
            let near = Near { word: word.as_bytes(), edits: 2 };
            let rows = read.bytes().fold(near.start(), |rows, byte| near.accept(&rows, byte));
            let distance = edits(word.as_bytes(), read.as_bytes());
            let is_other = !read.is_empty() && word.bytes().next() != read.bytes().next();
            let near_enough = distance <= if is_other { 1 } else { 2 };
            prop_assert_eq!(near.is_match(&rows), near_enough);
            if near_enough {
                prop_assert_eq!(usize::from(near.distance(&rows)), distance);
                prop_assert!(near.can_match(&rows));
            }
        }
    }
}
