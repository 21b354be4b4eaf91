//! Random filters that find listings of the generated data.

use testkit::market::listings;
use testkit::market::random::Random;

/// A category and a breed that its listings have.
#[derive(Debug)]
pub struct Animal {
    /// Name of the category.
    pub category: &'static str,
    /// Id of the category.
    pub category_id: usize,
    /// Name of the breed.
    pub breed: String,
}

/// Chooses a category and a breed: half of them as often as listings have them, half of them evenly.
pub fn random_animal(random: &mut Random) -> Animal {
    let (category, category_id) = random.one(&[("sheep", 1), ("cattle", 2), ("working-dog", 3)]);
    let breed = if random.percent(50) {
        listings::breed(random, category_id)
    } else {
        format!("Breed {}", 1 + random.below(80))
    };
    Animal { category, category_id, breed }
}

/// Chooses a latitude and a longitude: half of them where listings are, half of them evenly over Great Britain.
pub fn random_point(random: &mut Random) -> (f64, f64) {
    if random.percent(50) {
        return listings::point(random);
    }
    (random.between((50.5, 58.0)), random.between((-5.0, 1.0)))
}
