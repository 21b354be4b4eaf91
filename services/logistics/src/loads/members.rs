//! The members of loads, each declared once: who may edit it, its value in the history, and its column in CSV and XLSX
//! (docs/api/batches.md). Their types are in `model.rs` and `form.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use common::history::{self, Changes};
use common::wire::WeightMeasure;
use common::{Error, TableLayout};
use database::Json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tables::{RowWriter, TableCell};

use super::model::Load;
use super::party::Party;
use super::quality::Quality;

/// The reference of the sample row of the template. Rows with it are skipped. Whoever writes over it gets a normal row.
pub(crate) const SAMPLE_REFERENCE: &str = "EXAMPLE (this row is skipped)";

/// A member of a load, or of a body that creates or edits one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The name in requests, histories and header rows.
    pub(crate) name: &'static str,
    pub(crate) editor: Editor,
    /// Patches may replace it, but not remove it.
    pub(crate) is_required: bool,
    history: Option<fn(&Load) -> Option<Value>>,
    pub(crate) column: Option<Column>,
}

/// Who may change a member by a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Editor {
    Nobody,
    /// Whoever manages the load.
    Manager,
    /// The carrier too.
    Carrier,
}

/// A column of CSV and XLSX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) kind: Kind,
    /// True if batches store the column. They ignore other known columns; `id` identifies an existing load.
    pub(crate) is_stored: bool,
    /// What it is for, in the template.
    pub(crate) explanation: &'static str,
    /// Its cell in the sample row of the template.
    pub(crate) sample: Sample,
    /// `None`: exports do not have the column.
    write: Option<WriteCell>,
}

type WriteCell = for<'a> fn(&'a CsvLoad<'_>) -> TableCell<'a>;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Tags,
    Date,
    Number,
}

/// A cell of the sample row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sample {
    Empty,
    Text(&'static str),
    Number(f64),
    /// Year, month and day.
    Date(u16, u8, u8),
}

use Editor::{Carrier, Manager, Nobody};
use Sample::Empty;

/// All members. Columns have this order.
pub(crate) const MEMBERS: [Member; 38] = [
    member("id", Nobody).exported(|load| text(&load.id)),
    member("reference", Manager).required().in_history(|load| Some(json!(load.reference))).stored(
        Kind::Text,
        "Your reference of the load, up to 100 characters",
        Sample::Text(SAMPLE_REFERENCE),
        |load| text(&load.reference),
    ),
    member("status", Nobody).exported(|load| text(&load.status)),
    member("deliveryDateISO", Manager).required().in_history(|load| Some(json!(load.delivery_date))).stored(
        Kind::Date,
        "The day of the delivery, such as 2026-03-01, or a date-time with offset",
        Sample::Date(2026, 3, 1),
        |load| TableCell::Day(borrow(&load.delivery_date)),
    ),
    member("organiserId", Nobody).stored(
        Kind::Text,
        "The id of the organisation that orders the load: yours if you name no organiser and no carrier",
        Sample::Text("id of the organiser"),
        |load| text(&load.organiser.id),
    ),
    member("organiserName", Nobody).stored(
        Kind::Text,
        "Its name. It can be left out for your own organisation",
        Sample::Text("Border Grain"),
        |load| text(&load.organiser.name),
    ),
    member("carrierId", Manager)
        .in_history(|load| load.carrier.as_ref().and_then(|carrier| optional(carrier.id.as_ref())))
        .stored(
            Kind::Text,
            "The id of the organisation that moves the load",
            Sample::Text("id of the carrier"),
            |load| text(&load.carrier.id),
        ),
    member("carrierName", Manager)
        .in_history(|load| load.carrier.as_ref().map(|carrier: &Party| json!(carrier.name)))
        .stored(
            Kind::Text,
            "Its name, which is needed with carrierId unless your address book has it",
            Sample::Text("Hereford Haulage"),
            |load| text(&load.carrier.name),
        ),
    member("commodityId", Manager).required().in_history(|load| Some(json!(load.commodity.id))).stored(
        Kind::Number,
        "The id of the commodity: see the sheet Commodities. Required without commodityName",
        Empty,
        |load| TableCell::number(load.commodity.id.get()),
    ),
    member("commodityName", Nobody).stored(
        Kind::Text,
        "The name of the commodity: see the sheet Commodities. Required without commodityId",
        Sample::Text("Feed Wheat"),
        |load| text(&load.commodity.name),
    ),
    member("weight", Manager).in_history(|load| tonnes(load.weight.as_ref())).stored(
        Kind::Number,
        "The agreed weight in tonnes, up to 1,000",
        Sample::Number(29.4),
        |load| weight(load.weight.as_ref()),
    ),
    member("weightNet", Carrier).in_history(|load| tonnes(load.weight_net.as_ref())).stored(
        Kind::Number,
        "The net weight in tonnes, up to 1,000",
        Empty,
        |load| weight(load.weight_net.as_ref()),
    ),
    member("weightUnit", Nobody).stored(Kind::Text, "tonne, or empty", Sample::Text("tonne"), |load| {
        text(load.weight.as_ref().or(load.weight_net.as_ref()).map_or("", |weight| &*weight.name))
    }),
    member("vehicleRegistration", Carrier)
        .in_history(|load| optional(load.vehicle_registration.as_ref()))
        .stored(Kind::Text, "The registration of the vehicle", Sample::Text("VX21 ABC"), |load| {
            text(&load.vehicle_registration)
        }),
    member("ticketNumber", Carrier).in_history(|load| optional(load.ticket_number.as_ref())).stored(
        Kind::Text,
        "The number of the weighbridge ticket",
        Sample::Text("000123"),
        |load| text(&load.ticket_number),
    ),
    member("pickupPostcode", Manager).in_history(|load| optional(load.pickup_postcode.as_ref())).stored(
        Kind::Text,
        "The postcode where the load is collected",
        Sample::Text("HR4 9AR"),
        |load| text(&load.pickup_postcode),
    ),
    member("dropoffPostcode", Manager).in_history(|load| optional(load.dropoff_postcode.as_ref())).stored(
        Kind::Text,
        "The postcode where the load is delivered",
        Sample::Text("GL1 2EZ"),
        |load| text(&load.dropoff_postcode),
    ),
    member("tags", Manager).required().in_history(|load| Some(json!(load.tags))).stored(
        Kind::Tags,
        "Up to 50 labels, separated by semicolons",
        Sample::Text("harvest;urgent"),
        |load| TableCell::list(load.tags.iter().map(|tag| &tag.0)),
    ),
    member("files", Carrier)
        .in_history(|load| {
            let files = load.files.iter().map(|file| json!({ "id": file.id, "name": file.name }));
            Some(files.collect())
        })
        .exported(|load| TableCell::list(load.files.iter().map(|file| &file.id))),
    member("completedAtUTC", Nobody).exported(|load| TableCell::Instant(borrow(&load.completed_at))),
    member("createdAtUTC", Nobody).accepted(),
    member("revision", Nobody),
    member("updatedAtUTC", Nobody),
    member("weightGross", Nobody).in_history(|load| tonnes(load.weight_gross.as_ref())),
    member("weightTare", Nobody).in_history(|load| tonnes(load.weight_tare.as_ref())),
    member("quality", Nobody).in_history(|load| list(&load.quality)),
    member("collection", Nobody).in_history(|load| document(load.collection.as_ref())),
    member("rejection", Nobody).in_history(|load| document(load.rejection.as_ref())),
    member("organiser", Nobody),
    member("organisationId", Nobody),
    member("organisationName", Nobody),
    member("carrier", Nobody),
    member("commodity", Nobody),
    member("createdBy", Nobody),
    member("batchId", Nobody),
    member("newestNote", Nobody),
    member("driverIds", Nobody),
    member("warnings", Nobody),
];

/// Returns the member with this name.
pub(crate) fn find_member(name: &str) -> Option<&'static Member> {
    MEMBERS.iter().find(|member| member.name == name)
}

const fn member(name: &'static str, editor: Editor) -> Member {
    Member { name, editor, is_required: false, history: None, column: None }
}

impl Member {
    /// Returns true if a load has this value of the member, as requests write it.
    pub(crate) fn has(&self, load: &Load, value: &Value) -> bool {
        match (self.history.and_then(|history| history(load)), value.as_f64()) {
            (Some(known), Some(number)) => known.as_f64() == Some(number),
            (Some(known), None) => known == *value,
            (None, _) => false,
        }
    }

    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    const fn in_history(mut self, value: fn(&Load) -> Option<Value>) -> Self {
        self.history = Some(value);
        self
    }

    /// Adds a column that exports write and batches store.
    const fn stored(
        mut self,
        kind: Kind,
        explanation: &'static str,
        sample: Sample,
        write: WriteCell,
    ) -> Self {
        self.column = Some(Column { kind, is_stored: true, explanation, sample, write: Some(write) });
        self
    }

    /// Adds a column that exports write and batches do not store.
    const fn exported(mut self, write: WriteCell) -> Self {
        self.column = Some(Column { write: Some(write), ..NOT_STORED });
        self
    }

    /// Adds a column that batches accept and exports do not write.
    const fn accepted(mut self) -> Self {
        self.column = Some(NOT_STORED);
        self
    }
}

/// A column that batches do not store.
const NOT_STORED: Column =
    Column { kind: Kind::Text, is_stored: false, explanation: "", sample: Empty, write: None };

/// Returns the names of the members for which a condition holds.
pub(crate) fn names(condition: impl Fn(&Member) -> bool) -> Vec<&'static str> {
    MEMBERS.iter().filter(|member| condition(member)).map(|member| member.name).collect()
}

/// Returns the columns that batches store, in the order of exports.
pub(crate) fn stored_columns() -> impl Iterator<Item = (&'static str, Column)> {
    let columns = MEMBERS.iter().filter_map(|member| Some((member.name, member.column?)));
    columns.filter(|(_, column)| column.is_stored)
}

/// Returns the members of requests that differ between two states of a load. Files have their ids and names only.
pub(crate) fn changes(before: &Load, after: &Load) -> Changes {
    let values = |load| MEMBERS.iter().filter_map(move |member| Some((member.name, member.history?(load))));
    history::changes(values(before), values(after))
}

/// The header row of an export.
pub(crate) static COLUMNS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| names(|member| member.column.is_some_and(|column| column.write.is_some())));

/// Returns these columns of exports, or all if there are none, and how a load document is written.
pub(super) fn layout(
    columns: &[String],
) -> TableLayout<impl Fn(&Json, &mut RowWriter) -> Result<(), Error> + use<>> {
    let cells = |name: &str| find_member(name).and_then(|member| Some((member.name, member.column?.write?)));
    let chosen: Vec<(&'static str, WriteCell)> = match columns {
        [] => COLUMNS.iter().copied().filter_map(cells).collect(),
        columns => columns.iter().map(String::as_str).filter_map(cells).collect(),
    };
    let columns = chosen.iter().map(|(name, _)| *name).collect();
    let write = move |document: &Json, rows: &mut RowWriter| {
        let load: CsvLoad = document.parse()?;
        rows.row(chosen.iter().map(|(_, write)| write(&load)));
        Ok(())
    };
    TableLayout { columns, write }
}

fn text(text: &str) -> TableCell<'_> {
    TableCell::text(text)
}

fn borrow(text: &str) -> Cow<'_, str> {
    text.into()
}

fn weight<'a>(weight: Option<&'a CsvWeight<'_>>) -> TableCell<'a> {
    TableCell::number(weight.map_or("", |weight| weight.weight.get()))
}

fn tonnes(weight: Option<&WeightMeasure>) -> Option<Value> {
    weight.map(|measure| json!(measure.weight))
}

fn list(quality: &[Quality]) -> Option<Value> {
    (!quality.is_empty()).then(|| json!(quality))
}

/// The value in the history, which names files by their ids and names only.
fn document<T: Serialize>(value: Option<&T>) -> Option<Value> {
    let mut document = json!(value?);
    for file in document["files"].as_array_mut().into_iter().flatten() {
        *file = json!({ "id": file["id"], "name": file["name"] });
    }
    Some(document)
}

fn optional(text: Option<&String>) -> Option<Value> {
    text.map(|text| json!(text))
}

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use common::wire::FileReference;
    use database::{Amount, Id, Timestamp};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use tables::{CsvCell, CsvWriter};
    use utoipa::PartialSchema;
    use utoipa::openapi::{RefOr, Schema};

    use super::*;
    use crate::loads::form::{BatchRow, LoadPatch, SharedFields};
    use crate::loads::model::Commodity;
    use crate::loads::party::CreatedBy;
    use crate::loads::status::Status;

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
            quality: Vec::new(),
            collection: None,
            rejection: None,
            status: if random.random_bool(0.5) { Status::Upcoming } else { Status::Completed },
            files: (0..random.random_range(0..3)).map(|_| file(random)).collect(),
            tags: (0..random.random_range(0..3)).map(|_| text(random)).collect(),
            created_at: at(random),
            revision: random.random_range(1..99),
            updated_at: Some(at(random)),
            completed_at: maybe(random, at),
            created_by: maybe(random, |random| CreatedBy { organisation_id: text(random) }),
            batch_id: maybe(random, |_| Id::new()),
            newest_note: None,
            driver_ids: None,
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

    /// Returns the names of the properties of a schema.
    fn properties<T: PartialSchema>() -> BTreeSet<String> {
        let RefOr::T(Schema::Object(schema)) = T::schema() else { panic!("no object") };
        schema.properties.into_keys().collect()
    }

    /// Names the member that is missing somewhere.
    #[test]
    fn each_member_is_everywhere() {
        let set = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        let all = set(names(|_| true));
        let unknown: Vec<_> = properties::<Load>().into_iter().filter(|name| !all.contains(name)).collect();
        assert_eq!(unknown, [""; 0], "MEMBERS lacks members of Load");
        let edited = set(names(|member| member.editor != Editor::Nobody));
        assert_eq!(properties::<LoadPatch>(), edited, "the members of LoadPatch, and those with an editor");
        let columns = set(stored_columns().map(|(name, _)| name).collect());
        assert_eq!(
            properties::<BatchRow>(),
            columns,
            "the members of BatchRow, and the columns that batches store"
        );
        // What a row has in other columns than a body has members, or by name.
        let of_rows = "carrierId carrierName commodityName organiserId organiserName weightNet weightUnit";
        let (form, row) = (properties::<SharedFields>(), properties::<BatchRow>());
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
        assert_eq!(only(&form, &row), [""; 0], "members of SharedFields that BatchRow lacks");
        assert_eq!(only(&row, &form).join(" "), of_rows, "members of BatchRow that SharedFields lacks");
        for member in MEMBERS.iter().filter(|member| member.editor != Editor::Nobody) {
            assert!(
                member.history.is_some() && member.column.is_some(),
                "{}: history and column",
                member.name
            );
        }
    }

    #[test]
    fn writes_the_values_of_the_parsed_load() {
        let (random, all) = (&mut StdRng::seed_from_u64(6), layout(&[]));
        for _ in 0..2000 {
            let load = load(random);
            let (mut written, mut expected) = (RowWriter::csv(), CsvWriter::default());
            let document = Json::of(&load).unwrap();
            (all.write)(&document, &mut written).unwrap();
            expected.row(cells(document.parse().unwrap()));
            assert_eq!(
                String::from_utf8(written.into_csv()).unwrap(),
                String::from_utf8(expected.into_bytes()).unwrap()
            );
        }
    }
}
