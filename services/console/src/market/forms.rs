//! The form of a listing: the fields of its category, what they contain at first, and the body that they make. The name
//! of a field is the path of the member in the API.

use serde_json::{Map, Value, json};

use super::categories::{CATEGORIES, CURRENCY, Category, Field, Kind, PARTS};
use crate::api::FieldError;
use crate::api::market::Listing;
use crate::fields::Fields;
use crate::format::{parse_date, parse_number, typed_date, typed_number};
use crate::loads::{FILE_ERROR, FILES};

/// The fields of forms of listings besides those of the members.
const TECHNICAL: [&str; 7] = ["form-token", "key", "revision", "was", "then", "first", FILES];

/// Returns the names of the text fields of all forms.
pub(crate) fn texts() -> Vec<&'static str> {
    let members = CATEGORIES.iter().flat_map(|category| category.fields().map(|field| field.name));
    members.chain(TECHNICAL).collect()
}

/// The form of a listing of a category.
pub(crate) struct Form {
    pub(crate) category: &'static Category,
}

impl Form {
    /// Returns what the fields of a new listing contain at first.
    pub(crate) fn of_new() -> Fields {
        let first = [
            ("type", "selling"),
            ("price.type", "fixed"),
            (CURRENCY, "GBP"),
            ("location.address.countryISO", "GB"),
        ];
        Fields(first.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    /// Returns what the fields of a listing contain at first.
    pub(crate) fn initial(&self, listing: &Listing) -> Fields {
        let mut initial = Vec::new();
        for field in self.category.fields() {
            let values = values(listing, field);
            initial.extend(values.into_iter().map(|value| (field.name.to_owned(), value)));
        }
        let files = listing.files.iter().map(|file| (FILES.to_owned(), format!("{} {}", file.id, file.name)));
        initial.extend(files);
        Fields(initial)
    }

    /// Makes the body of a new listing.
    ///
    /// # Errors
    /// The fields whose text cannot be sent.
    pub(crate) fn new_body(&self, typed: &Fields, is_draft: bool) -> Result<Value, Vec<FieldError>> {
        let mut errors = file_errors(typed);
        let mut body = Map::new();
        for field in self.category.fields().filter(|field| !field.name.starts_with("price.")) {
            match self.value(field, typed, &mut errors) {
                Value::Null => {}
                value => set(&mut body, field.name, value),
            }
        }
        body.insert("price".to_owned(), price(typed, &mut errors));
        body.insert("isDraft".to_owned(), json!(is_draft));
        body.insert(FILES.to_owned(), files(typed));
        for (name, value) in [("location", Value::Null), ("description", json!("")), ("tags", json!([]))] {
            body.entry(name).or_insert(value);
        }
        if has_no_place(typed) {
            body.insert("location".to_owned(), Value::Null);
        }
        if self.category.fields().any(|field| field.name.starts_with("properties.")) {
            body.entry("properties").or_insert_with(|| json!({}));
        }
        if errors.is_empty() { Ok(Value::Object(body)) } else { Err(errors) }
    }

    /// Makes the body of an edit: what differs from what the fields were.
    ///
    /// # Errors
    /// As [`Self::new_body`].
    pub(crate) fn changes(
        &self,
        typed: &Fields,
        was: &Fields,
    ) -> Result<Map<String, Value>, Vec<FieldError>> {
        let mut errors = file_errors(typed);
        let mut body = Map::new();
        for name in self.changed(typed, was) {
            if name == FILES {
                body.insert(FILES.to_owned(), files(typed));
            } else if name.starts_with("price.") {
                body.insert("price".to_owned(), price(typed, &mut errors));
            } else if let Some(field) = self.category.fields().find(|field| field.name == name) {
                let value = self.value(field, typed, &mut errors);
                // Texts and lists are emptied, not removed.
                let value = if value.is_null() { emptied(field) } else { value };
                set(&mut body, name, value);
            }
        }
        errors.dedup_by(|one, other| one.path == other.path);
        if errors.is_empty() { Ok(body) } else { Err(errors) }
    }

    /// Returns the names of the fields that differ from what they were.
    pub(crate) fn changed(&self, typed: &Fields, was: &Fields) -> Vec<&'static str> {
        let fields =
            self.category.fields().map(|field| (field.name, Some(field.kind))).chain([(FILES, None)]);
        let changed = fields
            .filter(|(name, kind)| self.compared(typed, name, *kind) != self.compared(was, name, *kind));
        changed.map(|(name, _)| name).collect()
    }

    /// Returns what a field says, without the order of its boxes and without what differs between browsers.
    fn compared(&self, fields: &Fields, name: &str, kind: Option<Kind>) -> Vec<String> {
        let texts = fields.all(name).into_iter().map(|text| lines(text.trim()));
        let mut texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        match kind {
            Some(Kind::Parts | Kind::Several(_) | Kind::Joined(_)) => {
                // The category itself is always sent, and not chosen.
                let main = self.category.id.to_string();
                texts.retain(|text| kind != Some(Kind::Parts) || *text != main);
                texts.sort_unstable();
                texts.dedup();
                texts
            }
            Some(Kind::Texts) => {
                let parts = texts.iter().flat_map(|text| text.split(','));
                parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
            }
            _ => texts,
        }
    }

    fn value(&self, field: &Field, typed: &Fields, errors: &mut Vec<FieldError>) -> Value {
        let text = typed.get(field.name);
        match field.kind {
            Kind::Parts => {
                let ids = typed.all(field.name).into_iter().filter_map(|id| id.parse::<i64>().ok());
                json!(
                    [self.category.id]
                        .into_iter()
                        .chain(ids.filter(|id| *id != self.category.id))
                        .collect::<Vec<_>>()
                )
            }
            Kind::Several(_) => json!(typed.all(field.name)),
            Kind::Joined(_) if typed.all(field.name).is_empty() => Value::Null,
            Kind::Joined(_) => json!(typed.all(field.name).join(",")),
            Kind::Texts => {
                json!(text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>())
            }
            _ if text.is_empty() => Value::Null,
            Kind::Flag => json!(true),
            Kind::Number => number(field.name, text, errors),
            Kind::Kilograms => match number(field.name, text, errors) {
                Value::Null => Value::Null,
                weight => json!({"weight": weight, "name": "kilogram", "conversion": 1}),
            },
            Kind::Date => {
                if let Some(day) = parse_date(text) {
                    json!(day.to_string())
                } else {
                    errors.push(error(field.name, "is not a date: write it as 10 Dec 2026"));
                    Value::Null
                }
            }
            Kind::LongText => json!(lines(text)),
            Kind::Text | Kind::Choice(_) => json!(text),
        }
    }

    /// Returns the errors of a service under the names of the fields, and those that belong to no field.
    pub(crate) fn place(&self, errors: &[FieldError]) -> (Vec<FieldError>, Vec<FieldError>) {
        let is_at = |name: &str, path: &str| {
            name == path
                || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
                || path.strip_prefix(name).is_some_and(|rest| rest.starts_with(['[', '.']))
        };
        let place = |error: &FieldError| {
            let mut names = self.category.fields().map(|field| field.name).chain([FILES]);
            let name = names.find(|name| !error.path.is_empty() && is_at(name, &error.path));
            FieldError { path: name.map_or_else(|| error.path.clone(), str::to_owned), ..error.clone() }
        };
        let is_placed = |error: &FieldError| {
            error.path == FILES || self.category.fields().any(|field| field.name == error.path)
        };
        errors.iter().map(place).partition(is_placed)
    }
}

/// Returns the texts of a field of a listing: none, one, or those that are chosen.
fn values(listing: &Listing, field: &Field) -> Vec<String> {
    let some = |text: Option<&String>| text.cloned().into_iter().collect::<Vec<_>>();
    let amount = |money: Option<&crate::api::market::Money>| {
        money.map(|money| typed_number(money.amount)).into_iter().collect::<Vec<_>>()
    };
    let (price, address) = (&listing.price, &listing.location.address);
    match field.name {
        "type" => vec![listing.kind.clone()],
        "description" => vec![listing.description.clone()],
        "tags" => vec![listing.tags.join(", ")],
        PARTS => listing.category_ids.iter().map(ToString::to_string).collect(),
        "price.type" => vec![price.kind.clone()],
        "price.pricePerUnit.amount" => amount(price.per_unit.as_ref()),
        "price.minPrice.amount" => amount(price.least.as_ref()),
        "price.maxPrice.amount" => amount(price.most.as_ref()),
        CURRENCY => {
            let money = price.per_unit.as_ref().or(price.least.as_ref());
            vec![money.map_or_else(|| "GBP".to_owned(), |money| money.currency.clone())]
        }
        "location.address.postcode" => some(address.postcode.as_ref()),
        "location.address.city" => some(address.city.as_ref()),
        "location.address.region" => some(address.region.as_ref()),
        "location.address.countryISO" => vec![address.country.clone().unwrap_or_else(|| "GB".to_owned())],
        name => property(listing, name, field.kind),
    }
}

fn property(listing: &Listing, name: &str, kind: Kind) -> Vec<String> {
    let mut path = name.split('.').skip(1);
    let first = path.next().and_then(|name| listing.properties.get(name));
    let value = path.fold(first, |value, name| value.and_then(|value| value.get(name)));
    match (value, kind) {
        (None | Some(Value::Null), _) => Vec::new(),
        (Some(Value::Array(items)), Kind::Texts) => {
            vec![items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")]
        }
        (Some(Value::Array(items)), _) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        (Some(Value::String(text)), Kind::Joined(_)) => {
            text.split(',').map(|part| part.trim().to_owned()).collect()
        }
        (Some(Value::String(text)), Kind::Date) => {
            let day = text.get(..10).and_then(parse_date);
            vec![day.map_or_else(|| text.clone(), typed_date)]
        }
        (Some(Value::String(text)), _) => vec![text.clone()],
        (Some(Value::Bool(is_so)), _) => {
            if *is_so {
                vec!["yes".to_owned()]
            } else {
                Vec::new()
            }
        }
        (Some(Value::Number(number)), _) => number.as_f64().map(typed_number).into_iter().collect(),
        (Some(Value::Object(weight)), _) => {
            let member =
                |name: &str, otherwise: f64| weight.get(name).and_then(Value::as_f64).unwrap_or(otherwise);
            vec![typed_number(member("weight", 0.0) * member("conversion", 1.0))]
        }
    }
}

/// Returns the price with the amounts of its type.
fn price(typed: &Fields, errors: &mut Vec<FieldError>) -> Value {
    let kind = typed.get("price.type");
    let currency = match typed.get(CURRENCY) {
        "" => "GBP",
        currency => currency,
    };
    let mut price = Map::new();
    if !kind.is_empty() {
        price.insert("type".to_owned(), json!(kind));
    }
    let amounts: &[&str] = match kind {
        "fixed" => &["pricePerUnit"],
        "range" => &["minPrice", "maxPrice"],
        _ => &[],
    };
    for name in amounts {
        let field = format!("price.{name}.amount");
        let text = typed.get(&field);
        if text.is_empty() {
            errors.push(error(&field, "is needed for this kind of price"));
        } else {
            let amount = number(&field, text, errors);
            price.insert((*name).to_owned(), json!({"amount": amount, "currency": currency}));
        }
    }
    Value::Object(price)
}

fn files(typed: &Fields) -> Value {
    let ids = typed.all(FILES).into_iter().map(|file| file.split(' ').next().unwrap_or(file));
    json!(ids.map(|id| json!({"id": id})).collect::<Vec<_>>())
}

fn file_errors(typed: &Fields) -> Vec<FieldError> {
    typed.all(FILE_ERROR).into_iter().map(|message| error(FILES, message)).collect()
}

/// Returns true if nothing says where it is: the country alone has a value from the start.
fn has_no_place(typed: &Fields) -> bool {
    ["postcode", "city", "region"]
        .iter()
        .all(|name| typed.get(&format!("location.address.{name}")).is_empty())
}

/// Returns a text with the line ends of the API. Browsers send others.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn emptied(field: &Field) -> Value {
    if field.name == "description" { json!("") } else { Value::Null }
}

fn error(path: &str, message: &str) -> FieldError {
    FieldError { path: path.to_owned(), message: message.to_owned() }
}

fn number(name: &str, text: &str, errors: &mut Vec<FieldError>) -> Value {
    match parse_number(text) {
        // A whole number is sent as one: the number of animals is.
        Ok(number) if number.fract() == 0.0 && number < 1e9 => {
            format!("{number:.0}").parse::<i64>().map_or(Value::Null, |whole| json!(whole))
        }
        Ok(number) => json!(number),
        Err(why) => {
            errors.push(error(name, why.message()));
            Value::Null
        }
    }
}

/// Sets a member by its path.
fn set(body: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            body.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            if let Value::Object(inner) = body.entry(first).or_insert_with(|| json!({})) {
                set(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn form(slug: &str) -> Form {
        Form { category: Category::of_slug(slug).unwrap() }
    }

    #[test]
    fn a_new_listing_has_what_was_typed_and_the_required_members() {
        let fields = typed(&[
            ("type", "selling"),
            ("properties.title", "Store steers"),
            ("properties.quantity", "12"),
            ("properties.sexes", "steers"),
            ("properties.sexes", "heifers"),
            ("properties.performance.averageWeight", "465,5"),
            ("price.type", "fixed"),
            ("price.pricePerUnit.amount", "1250"),
            ("price.minPrice.amount", "left over"),
            ("price.currency", "EUR"),
            ("location.address.countryISO", "GB"),
            ("tags", "a, b"),
            ("files", "id-1 steers.jpg"),
        ]);
        // An amount of another kind of price is not looked at.
        let body = form("cattle").new_body(&fields, false).unwrap();
        let expected = json!({
            "type": "selling", "isDraft": false, "categoryIds": [2], "location": null, "description": "",
            "price": {"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "EUR"}}, "tags": ["a", "b"],
            "files": [{"id": "id-1"}],
            "properties": {
                "title": "Store steers", "quantity": 12, "sexes": "steers,heifers", "additionalInfo": [],
                "performance": {"averageWeight": {"weight": 465.5, "name": "kilogram", "conversion": 1}},
            },
        });
        assert_eq!(body, expected);
        let feed = form("feed").new_body(&typed(&[("price.type", "poa")]), true).unwrap();
        assert_eq!((feed.get("properties"), &feed["isDraft"]), (None, &json!(true)));
    }

    #[test]
    fn an_edit_sends_what_changed() {
        let listing: Listing = serde_json::from_value(json!({
            "type": "selling", "categoryIds": [1, 105], "description": "Ewes", "tags": ["spring"],
            "price": {"type": "fixed", "pricePerUnit": {"amount": 145, "currency": "GBP"}},
            "location": {"address": {"postcode": "LD3 7HR", "countryISO": "GB"}},
            "files": [{"id": "id-1", "name": "ewes.jpg"}],
            "properties": {"breed": "Beulah", "sexes": "shearlings,ewes", "type": ["store"], "health": {"data": "Fluke"}},
        }))
        .unwrap();
        let form = form("sheep");
        let was = form.initial(&listing);
        assert_eq!(was.all("properties.sexes"), ["shearlings", "ewes"]);
        assert_eq!(form.changes(&was, &was).unwrap(), Map::new());
        let change = |name: &str, value: &str| {
            let kept = was.0.iter().filter(|(known, _)| known != name).cloned();
            Fields(kept.chain([(name.to_owned(), value.to_owned())]).collect())
        };
        let body = |name: &str, value: &str| json!(form.changes(&change(name, value), &was).unwrap());
        assert_eq!(body("properties.breed", " "), json!({"properties": {"breed": null}}));
        assert_eq!(body("tags", ""), json!({"tags": []}));
        assert_eq!(body("files", "id-2 b.jpg"), json!({"files": [{"id": "id-2"}]}));
        assert_eq!(body("price.type", "poa"), json!({"price": {"type": "poa"}}));
        assert_eq!(
            body("location.address.city", "Brecon"),
            json!({"location": {"address": {"city": "Brecon"}}})
        );
        // What the form does not show, such as coordinates, stays.
        assert_eq!(
            body("location.address.postcode", ""),
            json!({"location": {"address": {"postcode": null}}})
        );
        // Neither the order of boxes nor the line ends of browsers are a change.
        let mut sent = was.clone();
        sent.0.reverse();
        sent.0.push(("categoryIds".to_owned(), "1".to_owned()));
        assert_eq!(form.changed(&sent, &was), Vec::<&str>::new());
        let lines = |text: &str| typed(&[("description", text)]);
        assert_eq!(form.changed(&lines("a\r\nb"), &lines("a\nb")), Vec::<&str>::new());
        assert_eq!(
            json!(form.changes(&lines("a\r\nb"), &lines("a")).unwrap()),
            json!({"description": "a\nb"})
        );
        assert_eq!(form.changes(&change("price.type", "range"), &was).unwrap_err().len(), 2);
    }

    #[test]
    fn errors_stand_at_their_fields() {
        let error = |path: &str| error(path, "must be");
        let paths = [
            "price.pricePerUnit",
            "properties.breed",
            "files[0].id",
            "categoryIds[1]",
            "tags[3]",
            "",
            "location.address",
        ];
        let (placed, others) = form("sheep").place(&paths.map(error));
        let names: Vec<_> = placed.iter().map(|error| error.path.as_str()).collect();
        let expected = [
            "price.pricePerUnit.amount",
            "properties.breed",
            "files",
            "categoryIds",
            "tags",
            "location.address.postcode",
        ];
        assert_eq!((names, others.len()), (expected.into(), 1));
    }

    #[test]
    fn a_listing_is_of_the_category_of_its_parts() {
        let listing = |ids: &[i64]| Listing { category_ids: ids.into(), ..Listing::default() };
        // A chain, and a circle.
        let parent = |id: i64| match id {
            401 => Some(4),
            4011 => Some(401),
            7 => Some(7),
            _ => None,
        };
        let slug = |ids: &[i64]| Category::of_listing(&listing(ids), parent).map(|category| category.slug);
        assert_eq!((slug(&[401]), slug(&[206, 2]), slug(&[9])), (Some("feed"), Some("cattle"), None));
        assert_eq!((slug(&[4011]), slug(&[7])), (Some("feed"), None));
        assert!(texts().contains(&"properties.registration.dateOfBirth") && texts().contains(&"was"));
    }
}
