//! The columns of loads as CSV and XLSX (docs/api/batches.md). Exports write them, and batches read them.

use std::borrow::Cow;

use common::{Error, TableLayout};
use database::Json;
use serde::Deserialize;
use serde_json::value::RawValue;
use tables::{RowWriter, TableCell};

/// Writes load documents as rows.
pub(super) const LAYOUT: TableLayout = TableLayout { columns: &COLUMNS, write };

/// The header row of an export.
pub(super) const COLUMNS: [&str; 20] = [
    "id",
    "reference",
    "status",
    "deliveryDateISO",
    "organiserId",
    "organiserName",
    "carrierId",
    "carrierName",
    "commodityId",
    "commodityName",
    "weight",
    "weightNet",
    "weightUnit",
    "vehicleRegistration",
    "ticketNumber",
    "pickupPostcode",
    "dropoffPostcode",
    "tags",
    "files",
    "completedAtUTC",
];

/// The members of a load document that are written as CSV. Borrows ids, instants and numbers as they are in the
/// document, without parsing and formatting them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CsvLoad<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    reference: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, rename = "deliveryDateISO")]
    delivery_date: Cow<'a, str>,
    #[serde(borrow, default)]
    organiser: CsvParty<'a>,
    #[serde(borrow, default)]
    carrier: CsvParty<'a>,
    #[serde(borrow)]
    commodity: CsvCommodity<'a>,
    #[serde(borrow, default)]
    weight: Option<CsvWeight<'a>>,
    #[serde(borrow, default)]
    weight_net: Option<CsvWeight<'a>>,
    #[serde(borrow, default)]
    vehicle_registration: Cow<'a, str>,
    #[serde(borrow, default)]
    ticket_number: Cow<'a, str>,
    #[serde(borrow, default)]
    pickup_postcode: Cow<'a, str>,
    #[serde(borrow, default)]
    dropoff_postcode: Cow<'a, str>,
    #[serde(borrow)]
    tags: Vec<CsvText<'a>>,
    #[serde(borrow)]
    files: Vec<CsvFile<'a>>,
    #[serde(borrow, default, rename = "completedAtUTC")]
    completed_at: Cow<'a, str>,
}

/// A text in a list. A `Cow` within a `Vec` would always be copied.
#[derive(Deserialize)]
#[serde(transparent)]
struct CsvText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default, Deserialize)]
struct CsvParty<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct CsvCommodity<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct CsvWeight<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    weight: &'a RawValue,
}

#[derive(Deserialize)]
struct CsvFile<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

fn write(document: &Json, rows: &mut RowWriter) -> Result<(), Error> {
    let load: CsvLoad = document.parse()?;
    let unit = load.weight.as_ref().or(load.weight_net.as_ref()).map_or("", |w| &*w.name);
    let (text, number) = (TableCell::text, TableCell::number);
    rows.row([
        text(&load.id),
        text(&load.reference),
        text(&load.status),
        TableCell::Day(load.delivery_date),
        text(&load.organiser.id),
        text(&load.organiser.name),
        text(&load.carrier.id),
        text(&load.carrier.name),
        number(load.commodity.id.get()),
        text(&load.commodity.name),
        number(load.weight.as_ref().map_or("", |w| w.weight.get())),
        number(load.weight_net.as_ref().map_or("", |w| w.weight.get())),
        text(unit),
        text(&load.vehicle_registration),
        text(&load.ticket_number),
        text(&load.pickup_postcode),
        text(&load.dropoff_postcode),
        TableCell::list(load.tags.iter().map(|tag| &tag.0)),
        TableCell::list(load.files.iter().map(|file| &file.id)),
        TableCell::Instant(load.completed_at),
    ]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use common::wire::{FileReference, WeightMeasure};
    use database::{Amount, Id, Timestamp};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use tables::{CsvCell, CsvWriter};

    use super::*;
    use crate::loads::model::{Commodity, Load, Status};
    use crate::loads::party::{CreatedBy, Party};

    fn text(random: &mut StdRng) -> String {
        let letters =
            ["a", "B-7", "\"", ",", ";", "\\", "=", "'", "+1", "\u{e9}", "\u{1f404}", " ", "/", "-2"];
        (0..random.random_range(1..5)).map(|_| letters[random.random_range(0..letters.len())]).collect()
    }

    fn weight(random: &mut StdRng) -> WeightMeasure {
        let places = f64::from(10_u32.pow(random.random_range(0..=4)));
        let number = f64::from(random.random_range(0..10_000_000)) / places;
        WeightMeasure::tonnes(Amount::from_f64(number).unwrap())
    }

    /// Returns a value in 6 of 10 cases.
    fn maybe<T>(random: &mut StdRng, value: impl FnOnce(&mut StdRng) -> T) -> Option<T> {
        random.random_bool(0.6).then(|| value(random))
    }

    fn load(random: &mut StdRng) -> Load {
        let party = |random: &mut StdRng| Party {
            id: if random.random_bool(0.5) { Some(text(random)) } else { None },
            name: text(random),
        };
        let file = |random: &mut StdRng| FileReference { id: text(random), ..FileReference::default() };
        let at =
            |random: &mut StdRng| Timestamp::from_millis(random.random_range(0..4_000_000_000_000)).unwrap();
        Load {
            id: Id::new(),
            reference: text(random),
            organiser: maybe(random, party),
            carrier: maybe(random, party),
            commodity: Commodity { id: random.random_range(-9..999), name: text(random) },
            delivery_date: at(random),
            dropoff_postcode: maybe(random, text),
            pickup_postcode: maybe(random, text),
            weight: maybe(random, weight),
            weight_gross: maybe(random, weight),
            weight_tare: maybe(random, weight),
            weight_net: maybe(random, weight),
            vehicle_registration: maybe(random, text),
            ticket_number: maybe(random, text),
            status: if random.random_bool(0.5) { Status::Upcoming } else { Status::Completed },
            files: (0..random.random_range(0..3)).map(|_| file(random)).collect(),
            tags: (0..random.random_range(0..3)).map(|_| text(random)).collect(),
            created_at: at(random),
            completed_at: maybe(random, at),
            created_by: maybe(random, |random| CreatedBy { organisation_id: text(random) }),
            warnings: Vec::new(),
        }
    }

    /// Formats the cells from the parsed load instead of its document.
    fn cells(load: Load) -> [CsvCell<'static>; 20] {
        let (organiser, carrier) = (load.organiser.unwrap_or_default(), load.carrier.unwrap_or_default());
        let weight = |weight: &Option<WeightMeasure>| weight.as_ref().map(|w| w.weight.to_string());
        let unit = load.weight.as_ref().or(load.weight_net.as_ref()).map(|w| w.name.to_string());
        let tags = CsvCell::list(&load.tags);
        let files = CsvCell::list(load.files.iter().map(|file| &file.id));
        let mut cells = [
            Some(load.id.to_string()),
            Some(load.reference),
            Some(load.status.as_str().to_owned()),
            Some(load.delivery_date.to_string()),
            organiser.id,
            Some(organiser.name),
            carrier.id,
            Some(carrier.name),
            Some(load.commodity.id.to_string()),
            Some(load.commodity.name),
            weight(&load.weight),
            weight(&load.weight_net),
            unit,
            load.vehicle_registration,
            load.ticket_number,
            load.pickup_postcode,
            load.dropoff_postcode,
            None,
            None,
            load.completed_at.map(|at| at.to_string()),
        ]
        .map(|text: Option<String>| CsvCell::from(text.unwrap_or_default()));
        (cells[17], cells[18]) = (tags, files);
        cells
    }

    #[test]
    fn writes_the_values_of_the_parsed_load() {
        let random = &mut StdRng::seed_from_u64(6);
        for _ in 0..2000 {
            let load = load(random);
            let (mut written, mut expected) = (RowWriter::csv(), CsvWriter::default());
            let document = Json::of(&load).unwrap();
            write(&document, &mut written).unwrap();
            expected.row(cells(document.parse().unwrap()));
            assert_eq!(
                String::from_utf8(written.into_csv()).unwrap(),
                String::from_utf8(expected.into_bytes()).unwrap()
            );
        }
    }
}
