//! Texts on a listing: its title, price, ages and place.

use serde_json::Value;

use crate::api::market::{Address, Listing, Location, Money};
use crate::format::{number, typed_number};

/// Characters of a description that stand for a title.
const TITLE_CHARS: usize = 70;

/// Returns the title, or the beginning of the description of one that has none.
pub(crate) fn title(listing: &Listing) -> String {
    if let Some(title) = listing.properties.get("title").and_then(Value::as_str) {
        return title.to_owned();
    }
    let line = listing.description.lines().next().unwrap_or_default().trim();
    let short: String = line.chars().take(TITLE_CHARS).collect();
    match short.rfind(' ') {
        _ if line.is_empty() => "Without a title".to_owned(),
        Some(end) if short.len() < line.len() => format!("{}\u{2026}", &short[..end]),
        _ => short,
    }
}

/// Returns the price of one animal, or of feed and bedding, which have no properties and no unit.
pub(crate) fn price(listing: &Listing) -> String {
    let price = &listing.price;
    let each = if listing.properties.is_empty() { "" } else { " each" };
    match (&price.per_unit, &price.least, &price.most) {
        (Some(amount), ..) if price.kind == "fixed" => format!("{}{each}", money(amount)),
        (_, Some(least), Some(most)) if price.kind == "range" => {
            format!("{} to {}{each}", money(least), money(most))
        }
        _ => "Price on application".to_owned(),
    }
}

fn money(Money { amount, currency }: &Money) -> String {
    let exact = typed_number(*amount);
    let text = match exact.split_once('.') {
        // Some prices have up to four decimals.
        Some((_, decimals)) if decimals.len() > 2 => {
            format!("{}.{decimals}", number(amount.trunc()).trim_end_matches(".00"))
        }
        Some(_) => number(*amount),
        None => number(*amount).trim_end_matches(".00").to_owned(),
    };
    match currency.as_str() {
        "GBP" => format!("£{text}"),
        "EUR" => format!("€{text}"),
        other => format!("{text} {other}"),
    }
}

/// Returns the ages in months.
pub(crate) fn ages(listing: &Listing) -> Option<String> {
    let months = |name: &str| listing.properties.get(name).and_then(Value::as_f64).map(typed_number);
    Some(match (months("minAge"), months("maxAge")) {
        (Some(least), Some(most)) if least == most => format!("{least} months"),
        (Some(least), Some(most)) => format!("{least} to {most} months"),
        (Some(least), None) => format!("from {least} months"),
        (None, Some(most)) => format!("up to {most} months"),
        (None, None) => return None,
    })
}

/// Returns the number of animals.
pub(crate) fn animals(listing: &Listing) -> Option<u64> {
    listing.properties.get("quantity").and_then(Value::as_u64)
}

/// Returns city, region and postcode, as far as they are known.
pub(crate) fn place(location: &Location) -> String {
    let Address { city, region, postcode, .. } = &location.address;
    let parts = [city, region, postcode].map(Option::as_deref);
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    match (parts.is_empty(), &location.coordinates) {
        (false, _) => parts.join(", "),
        (true, Some(_)) => "A point on the map".to_owned(),
        (true, None) => "Place not given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn listing(members: Value) -> Listing {
        from_value(members).unwrap()
    }

    #[test]
    fn a_place_is_its_address_or_a_point() {
        let text = |members| place(&listing(json!({"location": members})).location);
        assert_eq!(
            text(json!({"address": {"city": "Brecon", "region": "", "postcode": "LD3 7HR"}})),
            "Brecon, LD3 7HR"
        );
        assert_eq!(text(json!({"coordinates": {"lat": 51.9, "lon": -3.4}})), "A point on the map");
        assert_eq!(text(json!({})), "Place not given");
    }

    #[test]
    fn a_listing_without_a_title_is_called_by_its_description() {
        let words =
            "Meadow hay in small bales, made in July, under cover, to be seen by appointment at the farm.";
        let text = title(&listing(json!({"description": words})));
        assert_eq!(text, "Meadow hay in small bales, made in July, under cover, to be seen by\u{2026}");
        assert_eq!(title(&listing(json!({"description": "Straw\nBig bales"}))), "Straw");
        assert_eq!(title(&listing(json!({"properties": {"title": "Ewes"}}))), "Ewes");
        assert_eq!(title(&Listing::default()), "Without a title");
    }

    #[test]
    fn prices_and_ages_are_as_in_an_advertisement() {
        let of = |price_members: Value| {
            price(&listing(json!({"price": price_members, "properties": {"breed": "x"}})))
        };
        let pounds = |amount: f64| json!({"amount": amount, "currency": "GBP"});
        assert_eq!(of(json!({"type": "fixed", "pricePerUnit": pounds(1250.0)})), "£1,250 each");
        assert_eq!(
            of(json!({"type": "fixed", "pricePerUnit": {"amount": 38.5, "currency": "EUR"}})),
            "€38.50 each"
        );
        assert_eq!(
            of(json!({"type": "range", "minPrice": pounds(95.0), "maxPrice": pounds(110.0)})),
            "£95 to £110 each"
        );
        assert_eq!(of(json!({"type": "poa"})), "Price on application");
        let hay = json!({"price": {"type": "fixed", "pricePerUnit": pounds(1000.1234)}});
        assert_eq!(price(&listing(hay)), "£1,000.1234");
        assert_eq!(
            ages(&listing(json!({"properties": {"minAge": 14, "maxAge": 18}}))).unwrap(),
            "14 to 18 months"
        );
        assert_eq!(ages(&listing(json!({"properties": {"minAge": 12, "maxAge": 12}}))).unwrap(), "12 months");
        assert_eq!(ages(&listing(json!({}))), None);
    }
}
