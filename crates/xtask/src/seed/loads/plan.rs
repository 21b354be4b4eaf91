//! What happens to each load of the sample market.

use chrono::{Datelike, NaiveDate, TimeDelta};
use stack::random::Random;

use crate::seed::listings::weighted;
use crate::seed::people::{DRIVERS, FARMS, HAULIERS, ORGANISERS, Person};

/// Number of loads.
pub const COUNT: usize = 300;

/// Days from the delivery of the first load until today, and until that of the last.
const PERIOD: (i64, i64) = (-365, 14);

/// How a load is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In a spreadsheet of the organiser, with its carrier.
    Batch,
    /// By the carrier.
    Carrier,
    /// By the organiser, without a carrier.
    Organiser,
}

/// A load and what happens to it.
#[derive(Debug)]
pub struct LoadPlan {
    /// A reference that no other load has.
    pub reference: String,
    /// How it is entered.
    pub form: Form,
    /// The organiser.
    pub organiser: Person,
    /// The haulier that carries it, or would.
    pub haulier: Person,
    /// Id of the commodity.
    pub commodity: u32,
    /// Weight in units of 10 kg.
    pub weight: u32,
    /// Date of the delivery.
    pub date: NaiveDate,
    /// Index of the farm where it is loaded.
    pub pickup: usize,
    /// Index of the place where it is delivered.
    pub dropoff: usize,
    /// A tag.
    pub tag: &'static str,
    /// Whether the organiser sends it to the haulier.
    pub is_sent: bool,
    /// The driver that the haulier sends it to.
    pub driver: Option<Person>,
    /// The proof of its delivery.
    pub proof: Option<Proof>,
    /// Whether the organiser accepts it.
    pub is_accepted: bool,
}

/// A proof of delivery.
#[derive(Debug)]
pub struct Proof {
    /// Net weight in units of 10 kg.
    pub net: u32,
    /// Weight of the empty vehicle in units of 10 kg.
    pub tare: u32,
    /// Number of the ticket.
    pub ticket: String,
    /// Registration of the vehicle.
    pub vehicle: String,
    /// When it was signed.
    pub captured_at: String,
    /// Whether it has a photograph of the ticket.
    pub has_photo: bool,
}

/// A commodity of the sample market: its id, its lowest and highest weight in units of 10 kg, and a tag.
type Product = (u32, (u32, u32), &'static str);

#[rustfmt::skip]
const HARVEST: [Product; 6] = [
    (1, (2720, 2960), "harvest"), (2, (2740, 2960), "harvest"), (10, (2560, 2880), "harvest"), (11, (2600, 2900), "contract"),
    (28, (2680, 2950), "harvest"), (80, (1250, 1780), "straw"),
];
#[rustfmt::skip]
const WINTER: [Product; 7] = [
    (1, (2720, 2960), "store"), (126, (1400, 2900), "feed"), (129, (600, 2400), "feed"), (109, (2500, 2880), "feed"),
    (50, (2500, 2860), "contract"), (69, (1200, 1600), "forage"), (48, (2700, 2950), "contract"),
];
#[rustfmt::skip]
const SPRING: [Product; 5] = [
    (148, (2000, 2800), "fertiliser"), (159, (2780, 2920), "lime"), (129, (600, 2400), "feed"), (10, (2560, 2880), "store"),
    (69, (1200, 1600), "forage"),
];
#[rustfmt::skip]
const SUMMER: [Product; 4] =
    [(1, (2720, 2960), "store"), (2, (2740, 2960), "contract"), (73, (1600, 2400), "forage"), (69, (1200, 1700), "forage")];

/// The plan of the load with this number, from 1 to [`COUNT`].
pub fn plan(number: usize, destinations: &[(f64, f64)], today: NaiveDate) -> LoadPlan {
    let random = &mut Random::of(100_000 + number);
    let (organiser, _) = ORGANISERS[weighted(random, ORGANISERS.iter().map(|(_, share)| *share))];
    let hauliers = HAULIERS.map(|party| party.point);
    let haulier = HAULIERS[if random.percent(75) { nearest(organiser.point, &hauliers)[0] } else { 0 }];
    let pickup = nearest(organiser.point, &FARMS.map(|farm| farm.point))[random.below(8)];
    let dropoff = nearest(FARMS[pickup].point, destinations)[random.below(3)];
    let step = i64::try_from(number).unwrap_or_default() * (PERIOD.1 - PERIOD.0) / 300;
    let date = today + TimeDelta::days(PERIOD.0 + step);
    let products: &[Product] = match date.month() {
        8..=10 => &HARVEST,
        3..=5 => &SPRING,
        6..=7 => &SUMMER,
        _ => &WINTER,
    };
    let (commodity, weight, tag) = random.one(products);
    let weight = between(random, weight);
    let form = match number % 25 {
        24 => Form::Organiser,
        rest if rest % 5 == 3 => Form::Carrier,
        _ => Form::Batch,
    };
    let is_past = date < today;
    let is_sent = form == Form::Organiser && !number.is_multiple_of(3);
    let is_assigned = form != Form::Organiser || is_sent;
    let to_driver = number % 25 == 3 || (!is_past && number.is_multiple_of(4));
    let driver = random.one(&DRIVERS);
    // A few loads were delivered without proof, or not at all.
    let is_proven = is_past && is_assigned && !random.percent(6);
    let vehicle = format!(
        "{}{} {}",
        haulier.letters,
        random.one(&["19", "21", "70", "72"]),
        random.one(&["KLM", "BTF", "HJN", "RWE"])
    );
    let proof = Proof {
        net: weight.saturating_sub(15) + between(random, (0, 25)),
        tare: between(random, (1420, 1560)),
        ticket: format!("WB-{}", 40_000 + number),
        vehicle,
        captured_at: format!("{date}T{:02}:{:02}:00Z", 7 + random.below(11), random.below(60)),
        has_photo: random.percent(70),
    };
    LoadPlan {
        reference: format!("{}-{}", organiser.letters, 1_000 + number),
        form,
        organiser: organiser.person,
        haulier: haulier.person,
        commodity,
        weight,
        date,
        pickup,
        dropoff,
        tag,
        is_sent,
        driver: (to_driver && is_assigned).then_some(driver),
        proof: is_proven.then_some(proof),
        is_accepted: is_past && form == Form::Carrier && random.percent(70),
    }
}

/// The indices of points, the nearest to a point first.
fn nearest((lat, lon): (f64, f64), points: &[(f64, f64)]) -> Vec<usize> {
    // At these latitudes a degree of longitude is about 0.6 times as long as one of latitude.
    let distance = |index: &usize| (points[*index].0 - lat).hypot(0.6 * (points[*index].1 - lon));
    let mut indices: Vec<_> = (0..points.len()).collect();
    indices.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    indices
}

/// A number in `low..=high`.
fn between(random: &mut Random, (low, high): (u32, u32)) -> u32 {
    low + u32::try_from(random.below((high - low + 1) as usize)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_in_all_states_over_a_year_and_the_same_in_each_run() {
        let today = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let all = || {
            (1..=COUNT)
                .map(|number| plan(number, &[(51.5, -2.7), (53.4, -3.0), (53.3, -6.2)], today))
                .collect::<Vec<_>>()
        };
        assert_eq!(format!("{:?}", all()), format!("{:?}", all()));
        let all = all();
        let count = |is: &dyn Fn(&LoadPlan) -> bool| all.iter().filter(|load| is(load)).count();
        for form in [Form::Batch, Form::Carrier, Form::Organiser] {
            assert!(count(&|load| load.form == form) >= 10, "{form:?}");
        }
        assert!(count(&|load| load.proof.is_some()) > 200);
        assert!(count(&|load| load.date > today) > 5, "due");
        assert!(count(&|load| load.date < today && load.proof.is_none()) > 5, "overdue");
        assert!(count(&|load| load.driver.is_some() && load.proof.is_none()) > 0, "with a driver");
        assert!((5..30).contains(&count(&|load| load.is_sent || load.driver.is_some())), "notifications");
        assert!(count(&|load| load.form == Form::Carrier && load.proof.is_some() && !load.is_accepted) > 3);
        assert!(count(&|load| load.organiser.org == "penybont-farm") > 20);
        let references: std::collections::BTreeSet<_> = all.iter().map(|load| &load.reference).collect();
        assert_eq!(references.len(), COUNT);
        assert_eq!(
            (all[0].date, all[COUNT - 1].date),
            (today - TimeDelta::days(364), today + TimeDelta::days(14))
        );
    }
}
