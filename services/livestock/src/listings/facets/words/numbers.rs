//! Lists of numbers, one after the other in one array: two bytes for each number, or six for numbers from 65,535 on.

/// Before a number that takes two more units: its upper and its lower half.
const WIDE: u16 = u16::MAX;

/// The place of a list in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    len: u16,
}

impl Span {
    /// Returns whether the list has no numbers.
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the length of the list in units of two bytes.
    pub(crate) fn units(self) -> usize {
        self.len.into()
    }
}

/// The lists of numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<u16>);

impl Numbers {
    /// Returns the length of the array in units of two bytes, with lists that are no longer used.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the length of a list in units of two bytes.
    pub(crate) fn units_of(list: &[u32]) -> usize {
        list.len() + 2 * list.iter().filter(|number| **number >= WIDE.into()).count()
    }

    /// Adds a list, unless it or the array is then too long.
    pub(crate) fn add(&mut self, list: &[u32], max_units: usize) -> Option<Span> {
        let len = u16::try_from(Self::units_of(list)).ok()?;
        let start = u32::try_from(self.0.len()).ok()?;
        if self.0.len() + usize::from(len) > max_units {
            return None;
        }
        for number in list {
            let [a, b, c, d] = number.to_be_bytes();
            let (upper, lower) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            if *number < WIDE.into() {
                self.0.push(lower);
            } else {
                self.0.extend([WIDE, upper, lower]);
            }
        }
        Some(Span { start, len })
    }

    /// Returns the numbers of a list.
    #[inline]
    pub(crate) fn list(&self, span: Span) -> impl Iterator<Item = u32> {
        let start = span.start as usize;
        let mut units = self.0.get(start..start + span.units()).unwrap_or_default().iter().copied();
        std::iter::from_fn(move || {
            let first = units.next()?;
            if first != WIDE {
                return Some(first.into());
            }
            Some(u32::from(units.next()?) << 16 | u32::from(units.next()?))
        })
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u16>()
    }
}
