//! Sets of the numbers of texts.

/// The numbers that pass a filter.
#[derive(Debug)]
pub(crate) enum NumberSet {
    /// All numbers: there is no filter.
    All,
    /// A list in ascending order, for a few of many numbers.
    Listed(Vec<u32>),
    /// One bit for each of the first `len` numbers, for sets of any size.
    Bits { words: Vec<u64>, len: usize },
}

impl NumberSet {
    /// Returns the set of these numbers, in any order.
    pub(crate) fn listed(numbers: impl Iterator<Item = u32>) -> Self {
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.shrink_to_fit();
        Self::Listed(numbers)
    }

    /// Returns the length of a list; `None` for the other kinds of sets.
    pub(crate) fn listed_len(&self) -> Option<usize> {
        if let Self::Listed(numbers) = self { Some(numbers.len()) } else { None }
    }

    /// Converts the set to bits and decides the numbers below `len` that are not decided yet.
    pub(crate) fn extend(&mut self, len: usize, passes: impl Fn(usize) -> bool) {
        if !matches!(self, Self::Bits { .. }) {
            *self = Self::Bits { words: Vec::new(), len: 0 };
        }
        if let Self::Bits { words, len: decided } = self {
            words.resize(len.div_ceil(64), 0);
            for number in *decided..len {
                words[number / 64] |= u64::from(passes(number)) << (number % 64);
            }
            *decided = len;
        }
    }

    /// Returns whether a number is in the set.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        match self {
            Self::All => true,
            Self::Listed(numbers) => numbers.binary_search(&number).is_ok(),
            Self::Bits { words, .. } => {
                words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
            }
        }
    }

    /// Sets bits in the table for each number that is not in the set. All listed numbers must be indexes of the table.
    pub(crate) fn mark_others(&self, table: &mut [u8], bits: u8) {
        match self {
            Self::All => {}
            Self::Listed(numbers) => {
                for marks in table.iter_mut() {
                    *marks |= bits;
                }
                for number in numbers {
                    table[*number as usize] &= !bits;
                }
            }
            Self::Bits { .. } => {
                for (number, marks) in (0..).zip(table) {
                    *marks |= if self.contains(number) { 0 } else { bits };
                }
            }
        }
    }

    /// Returns the heap memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Listed(numbers) => numbers.capacity() * size_of::<u32>(),
            Self::Bits { words, .. } => words.capacity() * size_of::<u64>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_exactly_its_numbers() {
        let contains =
            |numbers: &NumberSet| [0, 1, 63, 64, 65, 130, u32::MAX].map(|number| numbers.contains(number));
        assert_eq!(contains(&NumberSet::All), [true; 7]);
        let listed = NumberSet::listed([65, 1, 65].into_iter());
        assert_eq!(
            (contains(&listed), listed.listed_len()),
            ([false, true, false, false, true, false, false], Some(2))
        );
        let mut bits = NumberSet::All;
        bits.extend(65, |number| number == 1 || number == 64);
        assert_eq!(contains(&bits), [false, true, false, true, false, false, false]);
        let mut table = [0_u8; 66];
        for (numbers, others) in [(&NumberSet::All, 0), (&listed, 64), (&bits, 64)] {
            table.fill(0b10);
            numbers.mark_others(&mut table, 1);
            let marked: u32 = table.iter().map(|marks| u32::from(marks & 1)).sum();
            assert_eq!(marked, others);
            assert_eq!(table[1], 0b10);
        }
        // Decided numbers are not decided again.
        bits.extend(131, |number| number != 63);
        assert_eq!(contains(&bits), [false, true, false, true, true, true, false]);
        assert_eq!((bits.bytes() >= 24, listed.bytes(), NumberSet::All.bytes()), (true, 8, 0));
    }
}
