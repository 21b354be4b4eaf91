//! The columns of listings as CSV and XLSX (`docs/api/listings.md`, "Search").

use std::borrow::Cow;
use std::sync::Arc;

use common::{Error, TableLayout};
use database::{Json, Timestamp};
use serde_json::Value;
use tables::{RowWriter, TableCell};

use super::calendar::months_since;
use super::model::Listing;
use crate::categories::Categories;

/// The header row.
const COLUMNS: [&str; 24] = [
    "id",
    "type",
    "status",
    "category",
    "organisationId",
    "organisationName",
    "description",
    "quantity",
    "breed",
    "sexes",
    "minAge",
    "maxAge",
    "priceType",
    "pricePerUnit",
    "minPrice",
    "maxPrice",
    "currency",
    "city",
    "region",
    "postcode",
    "lat",
    "lon",
    "tags",
    "createdAtUTC",
];

/// Returns the layout of an export. `now` is the time for which the ages of dogs are computed.
pub(crate) fn table_layout(
    categories: Arc<Categories>,
    now: Timestamp,
) -> TableLayout<impl Fn(&Json, &mut RowWriter) -> Result<(), Error> + use<>> {
    let write = move |document: &Json, rows: &mut RowWriter| {
        rows.row(cells(document, &categories, now)?);
        Ok(())
    };
    TableLayout { columns: COLUMNS.to_vec(), write }
}

type Cells = [TableCell<'static>; COLUMNS.len()];

fn cells(document: &Json, categories: &Categories, now: Timestamp) -> Result<Cells, Error> {
    let listing: Listing = document.parse()?;
    let dog = listing.search_fields().born.map(|born| number(Some(months_since(born, now).to_string())));
    let property = |name: &str| listing.properties.as_ref()?.get(name).map(to_cell);
    let price = listing.price;
    let monies = [price.per_unit, price.min, price.max];
    let [per_unit, min, max] = monies.each_ref().map(|money| Some(money.as_ref()?.amount.to_string()));
    let (address, coordinates) =
        listing.location.map(|location| (location.address, location.coordinates)).unwrap_or_default();
    let address = address.unwrap_or_default();
    let (lat, lon) = coordinates.map(|c| (c.lat.to_string(), c.lon.to_string())).unzip();
    let or_empty = |cell: Option<TableCell<'static>>| cell.unwrap_or_else(|| text(None));
    Ok([
        text(Some(listing.id.to_string())),
        TableCell::text(listing.kind.as_str()),
        TableCell::text(listing.status.as_str()),
        text(categories.main_name(&listing.category_ids).map(str::to_owned)),
        text(Some(listing.organisation_id)),
        text(Some(listing.organisation_name)),
        text(Some(listing.description)),
        or_empty(property("quantity")),
        or_empty(property("breed")),
        or_empty(property("sexes").or_else(|| property("sex"))),
        or_empty(property("minAge").or_else(|| dog.clone())),
        or_empty(property("maxAge").or_else(|| dog.clone())),
        TableCell::text(price.kind.as_str()),
        number(per_unit),
        number(min),
        number(max),
        text(monies.into_iter().flatten().next().map(|money| money.currency)),
        text(address.city.map(|name| name.0)),
        text(address.region.map(|name| name.0)),
        text(address.postcode.map(|postcode| postcode.0)),
        number(lat),
        number(lon),
        TableCell::List(listing.tags.into_iter().map(Cow::Owned).collect()),
        TableCell::Instant(listing.created_at.to_string().into()),
    ])
}

fn text(text: Option<String>) -> TableCell<'static> {
    TableCell::Text(text.unwrap_or_default().into())
}

fn number(digits: Option<String>) -> TableCell<'static> {
    TableCell::Number(digits.unwrap_or_default().into())
}

/// Returns a text without quotes, or a number with the digits of the request.
fn to_cell(value: &Value) -> TableCell<'static> {
    match value {
        Value::Number(digits) => number(Some(digits.to_string())),
        Value::String(value) => text(Some(value.clone())),
        other => text(Some(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the non-empty cells of a listing with these members, as `column=cell`.
    fn non_empty_cells(members: &Value) -> Vec<String> {
        let mut listing = json!({
            "id": "018f0000-0000-7000-8000-000000000001", "userId": "u", "organisationId": "farm",
            "organisationName": "Farm", "type": "selling", "status": "active", "categoryIds": [2],
            "price": {"type": "poa"}, "files": [], "description": "", "tags": [],
            "createdAtUTC": "2026-03-01T09:30:00.000Z",
        });
        for (name, value) in members.as_object().unwrap() {
            listing[name] = value.clone();
        }
        let now = Timestamp::parse("2026-03-15").unwrap();
        let categories = Categories::open(None).unwrap();
        let cells = cells(&Json(listing.to_string()), &categories, now).unwrap();
        let cells = COLUMNS.iter().zip(cells.iter().map(|cell| cell.to_csv().as_str().to_owned()));
        cells.filter(|(_, cell)| !cell.is_empty()).map(|(name, cell)| format!("{name}={cell}")).collect()
    }

    #[test]
    fn writes_all_members_of_a_complete_listing() {
        let money = |amount: f64| json!({"amount": amount, "currency": "EUR"});
        let row = non_empty_cells(&json!({
            "categoryIds": [206, 208], "description": "Twelve,\nquiet", "organisationName": "=Farm", "tags": ["a", "=b"],
            "properties": {"quantity": 12, "breed": "Hereford", "sexes": "heifers, steers", "minAge": 14, "maxAge": 18.5},
            "price": {"type": "range", "pricePerUnit": money(9.0), "minPrice": money(8.5), "maxPrice": money(10.0)},
            "location": {"address": {"city": "Brecon", "region": "Powys", "postcode": "LD3 7EG", "line1": "x"},
                "coordinates": {"lat": 51.9469, "lon": -3}},
        }));
        let expected = "id=018f0000-0000-7000-8000-000000000001|type=selling|status=active|category=cattle|\
            organisationId=farm|organisationName='=Farm|description=Twelve,\nquiet|quantity=12|breed=Hereford|\
            sexes=heifers, steers|minAge=14|maxAge=18.5|priceType=range|pricePerUnit=9|minPrice=8.5|maxPrice=10|\
            currency=EUR|city=Brecon|region=Powys|postcode=LD3 7EG|lat=51.9469|lon=-3|tags=a;'=b|\
            createdAtUTC=2026-03-01T09:30:00.000Z";
        assert_eq!(row.join("|"), expected);
    }

    #[test]
    fn leaves_cells_of_absent_members_empty() {
        let row = non_empty_cells(&json!({"location": {}}));
        assert_eq!(row.len(), 8, "{row:?}");
        let row = non_empty_cells(&json!({"categoryIds": [5], "price": {"type": "range", "minPrice":
            {"amount": 1, "currency": "GBP"}}}));
        for cell in ["category=bedding", "minPrice=1", "currency=GBP"] {
            assert!(row.iter().any(|other| other == cell), "{row:?}");
        }
    }

    #[test]
    fn computes_the_age_of_dogs_from_their_date_of_birth() {
        let registration = json!({"dateOfBirth": "2024-02-16T00:00:00Z", "isRegistered": true});
        let row = non_empty_cells(
            &json!({"categoryIds": [303], "properties": {"sex": "male", "registration": registration}}),
        );
        for cell in ["category=working dog", "sexes=male", "minAge=24", "maxAge=24"] {
            assert!(row.iter().any(|other| other == cell), "{row:?}");
        }
        let newborn = json!({"sex": "female", "registration": {"dateOfBirth": "2026-03-16"}});
        assert!(non_empty_cells(&json!({"properties": newborn})).contains(&"minAge=0".to_owned()));
    }
}
