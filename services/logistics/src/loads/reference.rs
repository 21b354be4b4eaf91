//! How references are compared (docs/api/batches.md, "Rows that exist").

use common::wire::comparison_key;
use sha2::{Digest, Sha256};

/// The most characters of a similarity key. Folding can make a text eighteen times as long, and an entry of an index of
/// PostgreSQL has at most 2,700 bytes.
const MAX_KEY_CHARS: usize = 200;

/// The hash of a [folded] reference, whose text can be eighteen times as long as the reference.
pub(crate) type FoldedHash = [u8; 32];

/// A reference, and what it is compared by: folding takes time, so that it is done once, outside of transactions.
#[derive(Clone, Debug)]
pub(crate) struct ComparedReference {
    pub(crate) text: String,
    pub(crate) folded: FoldedHash,
    pub(crate) similarity_key: String,
}

impl ComparedReference {
    pub(crate) fn new(text: String) -> Self {
        let folded = comparison_key(&text);
        let similarity_key = key_of(&folded);
        Self { folded: Sha256::digest(folded).into(), similarity_key, text }
    }
}

/// Returns the form in which similar references are the same: the letters and digits of the folded reference, without
/// the leading zeros of numbers. Equal references have the same one.
pub(crate) fn similarity_key(reference: &str) -> String {
    key_of(&comparison_key(reference))
}

fn key_of(folded: &str) -> String {
    let mut key = String::with_capacity(folded.len());
    let mut letters = folded.chars().filter(|c| c.is_alphanumeric()).peekable();
    let mut is_in_number = false;
    while let Some(c) = letters.next() {
        let is_leading_zero = c == '0' && !is_in_number && letters.peek().is_some_and(char::is_ascii_digit);
        if !is_leading_zero {
            is_in_number = c.is_ascii_digit();
            key.push(c);
        }
    }
    let key = if key.is_empty() { folded } else { &key };
    key.chars().take(MAX_KEY_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_equal_or_similar() {
        for (a, b) in [
            ("SO-1001", "so\u{2011}1001"),
            ("SO-1001", "SO\u{2013}1001"),
            ("Straße 7", "STRASSE  7"),
            ("O'Neill/3", "o\u{2019}neill/3"),
            ("(A-1)", "A 1"),
            ("---", "---"),
        ] {
            assert_eq!(comparison_key(a), comparison_key(b), "{a} {b}");
            assert_eq!(similarity_key(a), similarity_key(b), "{a} {b}");
        }
        for (a, b) in [
            ("SO-1001", "SO1001"),
            ("SO/1001", "SO.1001"),
            ("PB-2026-0301", "PB20260301"),
            ("0012", "12"),
            ("A-007-B", "A7B"),
            ("T-0", "T00"),
        ] {
            assert_ne!(comparison_key(a), comparison_key(b), "{a} {b}");
            assert_eq!(similarity_key(a), similarity_key(b), "{a} {b}");
        }
        for (a, b) in [("SO-1001", "SO-1010"), ("A-10", "A-1"), ("---", "///"), ("A-0", "A"), ("A1", "B1")] {
            assert_ne!(similarity_key(a), similarity_key(b), "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn equal_references_are_similar(reference in "\\PC{1,100}|[-/.,0-2A-C ß’–]{1,12}") {
            prop_assume!(!reference.trim().is_empty());
            prop_assert!(!comparison_key(&reference).is_empty());
            let key = similarity_key(&reference);
            prop_assert!(!key.is_empty() && key.chars().count() <= MAX_KEY_CHARS);
            prop_assert_eq!(similarity_key(&comparison_key(&reference)), key);
        }
    }
}
