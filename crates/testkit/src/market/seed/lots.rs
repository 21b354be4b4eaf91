//! What the farms of the sample market sell: kinds of animals and product with their usual ages and prices.

/// A kind of animals. Ages are months, prices pounds a head.
#[derive(Debug, Clone, Copy)]
pub struct Animals {
    /// Id of the category.
    pub category: u16,
    /// Name of the kind, in the plural.
    pub noun: &'static str,
    /// `properties.sexes`.
    pub sexes: &'static str,
    /// `properties.type`.
    pub purpose: &'static str,
    /// `properties.additionalInfo`.
    pub info: &'static [&'static str],
    /// Lowest and highest age.
    pub age: (usize, usize),
    /// Lowest and highest price.
    pub price: (usize, usize),
    /// Lowest and highest number of animals.
    pub quantity: (usize, usize),
    /// Share of all lots in percent.
    pub share: usize,
    /// A sentence of the description.
    pub text: &'static str,
}

#[rustfmt::skip]
#[expect(clippy::too_many_arguments, reason = "a row of a table")]
const fn animals(
    category: u16, noun: &'static str, sexes: &'static str, purpose: &'static str, info: &'static [&'static str],
    age: (usize, usize), price: (usize, usize), quantity: (usize, usize), share: usize, text: &'static str,
) -> Animals {
    Animals { category, noun, sexes, purpose, info, age, price, quantity, share, text }
}

#[rustfmt::skip]
pub const SHEEP: [Animals; 8] = [
    animals(107, "store lambs", "lambs", "store", &["crossbred"], (5, 8), (68, 105), (20, 120), 26, "Off the hill, wormed and clear of scab."),
    animals(103, "in-lamb ewes", "ewes", "breeding", &["in-lamb"], (24, 60), (135, 210), (8, 60), 18, "Scanned with twins, to lamb from the end of March."),
    animals(105, "shearlings", "shearlings", "breeding", &[], (15, 19), (160, 280), (6, 40), 15, "Well grown, ready for the ram."),
    animals(106, "rams", "rams", "breeding", &["pedigree", "named-sire"], (15, 40), (380, 950), (1, 3), 12, "Good on their feet, vaccinated against pasteurella."),
    animals(102, "ewes with lambs at foot", "ewes", "breeding", &[], (24, 72), (190, 290), (5, 30), 10, "Twins at foot, turned out in April."),
    animals(108, "finished lambs", "lambs", "finished", &[], (4, 7), (98, 138), (20, 80), 9, "42 kg on average, farm assured."),
    animals(104, "ewe lambs", "lambs", "breeding", &["pedigree"], (6, 10), (110, 190), (8, 40), 6, "From a closed flock, MV accredited."),
    animals(109, "cull ewes", "ewes", "cull", &[], (60, 96), (62, 118), (5, 40), 4, "In fair condition."),
];

#[rustfmt::skip]
pub const CATTLE: [Animals; 8] = [
    animals(206, "store heifers", "heifers", "store", &["crossbred"], (12, 20), (920, 1420), (3, 18), 24, "Strong and quiet to handle, wintered outside."),
    animals(206, "store steers", "steers", "store", &["crossbred"], (12, 20), (980, 1520), (3, 22), 24, "Level bunch, dehorned, clear of TB."),
    animals(208, "calves", "heifers,bulls", "calves", &["crossbred"], (1, 4), (210, 420), (3, 20), 14, "Reared on milk and creep feed, vaccinated against pneumonia."),
    animals(203, "in-calf heifers", "heifers", "breeding", &["in-calf"], (24, 32), (1650, 2350), (2, 12), 12, "In calf to an Aberdeen Angus, due from March."),
    animals(202, "cows with calves at foot", "cows", "breeding", &[], (36, 90), (1900, 2950), (1, 8), 10, "Second and third calvers with strong calves."),
    animals(205, "bulls", "bulls", "breeding", &["pedigree", "named-sire"], (18, 36), (2800, 6800), (1, 1), 8, "Semen tested, halter trained, high health status."),
    animals(207, "finished steers", "steers", "finished", &[], (22, 30), (1750, 2250), (4, 15), 4, "Farm assured, 640 kg on average."),
    animals(210, "cull cows", "cows", "cull", &["organic"], (84, 140), (850, 1350), (1, 6), 4, "Organic, in good order."),
];

/// A kind of feed or bedding. Prices are pounds a unit.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// Id of the category.
    pub category: u16,
    /// Name of the product.
    pub noun: &'static str,
    /// Unit of the price.
    pub unit: &'static str,
    /// Lowest and highest price.
    pub price: (usize, usize),
    /// Lowest and highest quantity.
    pub quantity: (usize, usize),
    /// A sentence of the description.
    pub text: &'static str,
}

#[rustfmt::skip]
const fn product(
    category: u16, noun: &'static str, unit: &'static str, price: (usize, usize), quantity: (usize, usize), text: &'static str,
) -> Product {
    Product { category, noun, unit, price, quantity, text }
}

#[rustfmt::skip]
pub const FEED: [Product; 8] = [
    product(401, "meadow hay", "round bale", (34, 52), (20, 120), "Barn stored, not rained on."),
    product(401, "small bale hay", "bale", (5, 9), (100, 600), "From old ley, soft and green."),
    product(402, "haylage", "bale", (44, 62), (15, 80), "Wrapped within a day of baling, 65 % dry matter."),
    product(403, "grass silage", "bale", (26, 40), (20, 150), "First cut, analysis available."),
    product(404, "rolled barley", "tonne", (182, 214), (3, 29), "Farm assured, treated with propionic acid."),
    product(405, "ewe nuts", "tonne", (296, 348), (1, 12), "18 % protein, in half tonne bags."),
    product(406, "fodder beet", "tonne", (32, 44), (10, 29), "Lifted clean, loaded at the roadside."),
    product(407, "mineral licks", "tub", (21, 29), (10, 60), "High magnesium, 22.5 kg."),
];

#[rustfmt::skip]
pub const BEDDING: [Product; 5] = [
    product(501, "wheat straw", "square bale", (24, 36), (20, 200), "Quadrant bales, delivery by arrangement."),
    product(501, "barley straw", "round bale", (18, 28), (20, 140), "Bright and dry, under cover."),
    product(502, "wood shavings", "bag", (7, 10), (30, 300), "Dust extracted, 20 kg."),
    product(503, "bedding sand", "tonne", (26, 34), (15, 29), "Washed, for cubicles."),
    product(504, "paper bedding", "bale", (9, 13), (20, 200), "Shredded, low in dust."),
];

/// A kind of working dogs. Ages are months, prices pounds.
#[derive(Debug, Clone, Copy)]
pub struct Dog {
    /// Id of the category.
    pub category: u16,
    /// Lowest and highest age.
    pub age: (usize, usize),
    /// Lowest and highest price.
    pub price: (usize, usize),
    /// What it can do.
    pub text: &'static str,
}

#[rustfmt::skip]
pub const DOGS: [Dog; 3] = [
    Dog { category: 301, age: (30, 72), price: (2800, 8500), text: "Fully trained, strong on sheep and cattle, works on whistle." },
    Dog { category: 302, age: (10, 24), price: (1100, 3000), text: "Part-trained, runs on both sides, stops and recalls." },
    Dog { category: 303, age: (2, 5), price: (350, 850), text: "Pup from working parents, vaccinated and chipped." },
];

/// Breeds of working dogs, the usual one first.
pub const DOG_BREEDS: [&str; 4] = ["Border Collie", "Welsh Sheepdog", "Huntaway", "Australian Kelpie"];

/// Breeds that any farm may also keep. The first of them are the most common.
pub const SHEEP_BREEDS: [&str; 10] = [
    "Texel",
    "North of England Mule",
    "Suffolk",
    "Welsh Mule",
    "Cheviot",
    "Beltex",
    "Bluefaced Leicester",
    "Zwartbles",
    "Jacob",
    "Valais Blacknose",
];

/// The same of cattle.
pub const CATTLE_BREEDS: [&str; 8] = [
    "Limousin",
    "Aberdeen Angus",
    "Charolais",
    "Hereford",
    "British Blue",
    "Simmental",
    "Dexter",
    "Longhorn",
];
