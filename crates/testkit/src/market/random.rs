//! Pseudo-random numbers that are the same in every run (xorshift).

/// Seed of the generated data.
pub const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// A sequence of numbers, made from a seed.
pub struct Random(pub u64);

impl Random {
    /// The sequence of a number: each number has its own.
    pub fn of(number: usize) -> Self {
        let mut random = Self((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The first values of neighbouring sequences are alike.
        for _ in 0..8 {
            random.unit();
        }
        random
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
    }

    /// A number in `low..high`.
    pub fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number in `0..end`.
    pub fn below(&mut self, end: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small and positive"
        )]
        let n = (self.unit() * end as f64) as usize;
        n
    }

    /// A number in `0..end`, small ones more often: about a Zipf distribution. `exponent` is above 1.
    pub fn skewed(&mut self, end: usize, exponent: f64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small and positive"
        )]
        let rank = {
            let power = 1.0 - exponent;
            let tail = (end as f64 + 1.0).powf(power);
            (1.0 - self.unit() * (1.0 - tail)).powf(1.0 / power) as usize
        };
        rank.clamp(1, end.max(1)) - 1
    }

    /// One of these elements.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True with a probability of `chance` percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_numbers_are_in_range_and_small_ones_are_frequent() {
        let (mut random, mut counts) = (Random(SEED), [0_usize; 200]);
        for _ in 0..100_000 {
            counts[random.skewed(200, 1.1)] += 1;
        }
        assert!((15_000..18_000).contains(&counts[0]) && (8_000..10_000).contains(&counts[1]), "{counts:?}");
        assert!(counts[100..].iter().all(|count| (20..300).contains(count)), "{counts:?}");
        assert_eq!(random.skewed(1, 1.5), 0);
    }
}
