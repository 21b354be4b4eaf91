//! Texts as numbers: what many listings say is kept once, and compared at once.

use std::collections::HashMap;

/// No text.
pub const NONE: u32 = 0;
/// A text that no listing has.
pub const UNKNOWN: u32 = u32::MAX;

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
    pub fn text(&self, number: u32) -> Option<&str> {
        self.texts.get((number as usize).checked_sub(1)?).map(|text| &**text)
    }

    /// How many numbers there are, the one for no text with them.
    pub fn len(&self) -> usize {
        self.texts.len() + 1
    }

    /// All texts with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.texts.iter().map(|text| &**text))
    }
}
