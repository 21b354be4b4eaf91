//! Generated batches of loads, the same in every run. Organisers, carriers and commodities are skewed as in real data.

use std::fmt::Write;

use crate::market::random::Random;

/// The organiser of 30 % of the loads.
pub const LARGE_ORGANISER: &str = "org-0";
/// The organiser of 13 % of the loads.
pub const MEDIUM_ORGANISER: &str = "org-1";
/// The tag of every 20,000th load.
pub const RARE_TAG: &str = "frostbitten";
const LOADS_PER_RARE_TAG: usize = 20_000;
/// Exponent of the distributions of organisers and carriers: a few are very large.
const PARTY_SKEW: f64 = 1.5;
/// Exponent of the distribution of commodities.
const COMMODITY_SKEW: f64 = 1.1;
/// Number of carriers: `haul-0`, which carries 32 % of the loads, `haul-1`, …
const CARRIERS: usize = 200;

const HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                      vehicleRegistration,ticketNumber,pickupPostcode,dropoffPostcode,tags\r\n";
const VILLAGES: [&str; 8] =
    ["Leominster", "Kington", "Ledbury", "Ludlow", "Hay", "Tenbury", "Bromyard", "Presteigne"];
pub(super) const POSTCODES: [&str; 6] = ["HR4 9AR", "SY8 1EG", "HR6 8QW", "WR15 8BN", "LD8 2AF", "HR8 1EA"];

/// Returns the number of an organiser, small ones more often.
pub fn organiser(random: &mut Random) -> usize {
    random.skewed(1000, PARTY_SKEW)
}

/// Returns the number of a carrier, small ones more often.
pub fn carrier(random: &mut Random) -> usize {
    random.skewed(CARRIERS, PARTY_SKEW)
}

/// Returns the id of a commodity, small ones more often.
pub fn commodity(random: &mut Random) -> usize {
    1 + random.skewed(40, COMMODITY_SKEW)
}

/// Returns a CSV file of `count` loads of 1,000 organisers and 200 carriers. `first` is the number of the first
/// load.
pub fn csv_batch(random: &mut Random, first: usize, count: usize) -> Vec<u8> {
    let mut csv = HEADER.to_owned();
    for number in first..first + count {
        let organiser = organiser(random);
        let village = VILLAGES[organiser % VILLAGES.len()];
        let haulier = carrier(random);
        let (day, month) = (1 + random.below(28), 1 + random.below(12));
        let (pickup, dropoff) = (random.one(&POSTCODES), random.one(&POSTCODES));
        let tag = if number % LOADS_PER_RARE_TAG == 0 {
            RARE_TAG
        } else {
            random.one(&["harvest", "contract", "spot"])
        };
        let _ = write!(
            csv,
            "REF-{number:07},{}-{month:02}-{day:02},org-{organiser},{village} Grain {organiser},haul-{haulier},\
             Haulage {haulier},{},{}.{},VX{:02}KLM,T-{number},{pickup},{dropoff},{tag}\r\n",
            2024 + random.below(3),
            commodity(random),
            1 + random.below(29),
            random.below(10),
            random.below(75),
        );
    }
    csv.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_the_header() {
        let text = String::from_utf8(csv_batch(&mut Random(7), 0, 50)).unwrap();
        let cells: Vec<_> = text.trim_end().split("\r\n").map(|line| line.split(',').count()).collect();
        assert_eq!(cells, vec![13; 51]);
        assert!(text.contains(RARE_TAG));
    }
}
