//! Numbers that are the same in every run.

/// What all that is drawn begins with.
pub const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// A row of them, by what it begins with.
pub struct Random(pub u64);

impl Random {
    /// The row of this number: each number has its own, so rows may be drawn from in any order.
    pub fn of(number: usize) -> Self {
        let mut random = Self((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The first few of a row still look like those of its neighbours.
        for _ in 0..8 {
            random.next();
        }
        random
    }

    /// From 0 to below 1.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
    }

    /// From the first to below the second.
    pub fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.next()
    }

    /// From 0 to below this.
    pub fn below(&mut self, end: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small and positive"
        )]
        let n = (self.next() * end as f64) as usize;
        n
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Whether something happens that does so many times in a hundred.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}
