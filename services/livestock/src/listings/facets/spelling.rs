//! Spellings of breeds and societies in few bytes. Most spellings differ from the term, which is in lower case, only in
//! their capital letters.

use std::borrow::Cow;

/// A spelling of a term.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// One bit for each of the first 64 characters of the term: whether it is a capital.
    Capitals(u64),
    /// Any other spelling.
    Text(Box<str>),
}

impl Spelling {
    /// Encodes a spelling of a term.
    pub(crate) fn of(term: &str, spelling: &str) -> Self {
        Self::capitals(term, spelling).map_or_else(|| Self::Text(spelling.into()), Self::Capitals)
    }

    fn capitals(term: &str, spelling: &str) -> Option<u64> {
        let (mut capitals, mut spelled) = (0, spelling.chars());
        for (at, letter) in term.chars().enumerate() {
            let spelled_letter = spelled.next()?;
            if spelled_letter != letter {
                let is_capital = at < 64 && upper(letter) == spelled_letter;
                capitals |= is_capital.then(|| 1 << at)?;
            }
        }
        spelled.next().is_none().then_some(capitals)
    }

    /// Decodes the spelling. `term` must be the term that was encoded.
    pub(crate) fn decode<'a>(&'a self, term: &'a str) -> Cow<'a, str> {
        match self {
            Self::Capitals(0) => term.into(),
            Self::Capitals(capitals) if term.is_ascii() => {
                let (mut text, mut capitals) = (term.to_owned(), *capitals);
                while capitals != 0 {
                    let at = capitals.trailing_zeros() as usize;
                    if let Some(letter) = text.get_mut(at..=at) {
                        letter.make_ascii_uppercase();
                    }
                    capitals &= capitals - 1;
                }
                text.into()
            }
            Self::Capitals(capitals) => {
                let is_capital = |at| at < 64 && capitals >> at & 1 == 1;
                let letters = term.chars().enumerate();
                letters.map(|(at, letter)| if is_capital(at) { upper(letter) } else { letter }).collect()
            }
            Self::Text(text) => (&**text).into(),
        }
    }
}

/// Returns the capital of a letter, or the letter itself if its capital is not one character.
fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    upper.next().filter(|_| upper.next().is_none()).unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn capitals_are_stored_as_bits() {
        for (term, spelling, capitals) in [
            ("texel", "texel", Some(0)),
            ("aberdeen angus", "Aberdeen Angus", Some(1 << 9 | 1)),
            ("éire", "ÉIRE", Some(0b1111)),
            ("straße", "STRASSE", None),
            ("texel", "Texel cross", None),
            ("texel cross", "Texel", None),
            ("σας", "ΣΑΣ", Some(0b111)),
        ] {
            assert_eq!(Spelling::capitals(term, spelling), capitals, "{spelling}");
        }
        let long = "x".repeat(70);
        assert_eq!(Spelling::of(&long, &long), Spelling::Capitals(0));
        assert_eq!(Spelling::of(&long, &long.to_uppercase()), Spelling::Text(long.to_uppercase().into()));
        assert_eq!(size_of::<Spelling>(), 16);
    }

    proptest! {
        #[test]
        fn decodes_what_was_encoded(text in "(?s).{0,70}", term in proptest::option::of("[a-z]{0,9}")) {
            let term = term.unwrap_or_else(|| text.to_lowercase());
            let spelling = Spelling::of(&term, &text);
            prop_assert_eq!(spelling.decode(&term), text);
        }
    }
}
