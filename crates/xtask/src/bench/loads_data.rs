//! Loads for the benchmark, as the CSV that a batch takes, the same in every run.

use std::fmt::Write;

use crate::random::Random;

/// Organises three loads of ten.
pub const LARGE: &str = "org-0";
/// Organises one load of ten.
pub const MEDIUM: &str = "org-1";
/// Is a tag of one load in so many.
pub const RARE: (&str, usize) = ("frostbitten", 20_000);

const HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                      vehicleRegistration,ticketNumber,pickupPostcode,dropoffPostcode,tags\r\n";
const VILLAGES: [&str; 8] =
    ["Leominster", "Kington", "Ledbury", "Ludlow", "Hay", "Tenbury", "Bromyard", "Presteigne"];
pub(super) const POSTCODES: [&str; 6] = ["HR4 9AR", "SY8 1EG", "HR6 8QW", "WR15 8BN", "LD8 2AF", "HR8 1EA"];

/// A batch of so many loads of about a thousand organisers and two hundred hauliers, the first with this number.
pub fn batch(random: &mut Random, first: usize, count: usize) -> Vec<u8> {
    let mut csv = HEADER.to_owned();
    for n in first..first + count {
        let organiser = match random.below(10) {
            0..3 => 0,
            3 => 1,
            _ => 2 + random.below(1000),
        };
        let village = VILLAGES[organiser % VILLAGES.len()];
        let haulier = random.below(200);
        let (day, month) = (1 + random.below(28), 1 + random.below(12));
        let (pickup, dropoff) = (random.one(&POSTCODES), random.one(&POSTCODES));
        let tag = if n % RARE.1 == 0 { RARE.0 } else { random.one(&["harvest", "contract", "spot"]) };
        let _ = write!(
            csv,
            "REF-{n:07},{}-{month:02}-{day:02},org-{organiser},{village} Grain {organiser},haul-{haulier},\
             Haulage {haulier},{},{}.{},VX{:02}KLM,T-{n},{pickup},{dropoff},{tag}\r\n",
            2024 + random.below(3),
            1 + random.below(40),
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
    fn a_batch_has_its_header_and_as_many_cells_in_each_row() {
        let text = String::from_utf8(batch(&mut Random(7), 0, 50)).unwrap();
        let cells: Vec<_> = text.trim_end().split("\r\n").map(|line| line.split(',').count()).collect();
        assert_eq!(cells, vec![13; 51]);
        assert!(text.contains(RARE.0));
    }
}
