//! Texts as numbers: what many listings say is kept once, and compared at once.

use std::collections::HashMap;

/// No text.
pub const NONE: u32 = 0;
/// A text that no listing has.
pub const UNKNOWN: u32 = u32::MAX;

/// What listings say; numbered apart, for what is counted is as long as the first.
#[derive(Debug, Default)]
pub struct Texts {
    /// Breeds, breed types and breed societies.
    pub terms: Terms,
    /// All values of `properties.type`, as one text.
    pub types: Terms,
    pub organisations: Terms,
}

/// Every text that was met, by number from 1.
#[derive(Debug, Default)]
pub struct Terms {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Terms {
    /// The number of a text, a new one if it was not met before.
    pub fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return NONE;
        }
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.texts.push(text.into());
        let number = u32::try_from(self.texts.len()).unwrap_or(UNKNOWN);
        self.numbers.insert(text.into(), number);
        number
    }

    /// The number of a text, [`UNKNOWN`] if it was not met.
    pub fn find(&self, text: &str) -> u32 {
        self.numbers.get(text).copied().unwrap_or(UNKNOWN)
    }

    /// The text of a number.
    pub fn text(&self, number: usize) -> Option<&str> {
        self.texts.get(number.checked_sub(1)?).map(|text| &**text)
    }

    /// How many numbers there are, the one for no text with them.
    pub fn len(&self) -> usize {
        self.texts.len() + 1
    }
}
