//! Draws photographs of listings and weighbridge tickets.

mod canvas;
mod scene;
mod ticket;

pub use self::scene::{Subject, listing};
pub use self::ticket::{Ticket, ticket};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photographs_are_small_and_differ() {
        let subjects = [
            Subject::Sheep,
            Subject::Cattle { black: true },
            Subject::Cattle { black: false },
            Subject::Dog,
            Subject::Bales { wrapped: true },
            Subject::Heap { pale: false },
            Subject::Heap { pale: true },
            Subject::Stack,
        ];
        let mut all: Vec<_> = subjects
            .iter()
            .flat_map(|subject| [1, 2].map(|number| listing(*subject, number).unwrap()))
            .collect();
        let (vehicle, date) = ("VX21 KLM", "2026-03-01");
        all.push(ticket(&Ticket { number: "WB-40001", vehicle, date, gross: 43.92, net: 29.12 }).unwrap());
        for (index, png) in all.iter().enumerate() {
            assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{index}");
            assert!((500..12_000).contains(&png.len()), "{index}: {} bytes", png.len());
            assert!(all.iter().skip(index + 1).all(|other| other != png), "{index}");
        }
    }
}
