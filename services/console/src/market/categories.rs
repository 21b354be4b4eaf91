//! The fields of each category of listings. The name of a field is the path of the member in the API.

use crate::api::market::Listing;
use crate::fields::{self, field, required};

/// The field with the currency of all amounts.
pub(super) const CURRENCY: &str = "price.currency";
/// The fields of the parts of a category.
pub(super) const PARTS: &str = "categoryIds";
/// How deep categories are nested at most.
const MAX_DEPTH: usize = 10;

/// A main category, with its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Category {
    /// The last part of the path of the operation that creates its listings.
    pub(crate) slug: &'static str,
    pub(crate) id: i64,
    pub(crate) name: &'static str,
    fields: &'static [&'static [Field]],
}

/// A field of a form of listings.
pub(crate) type Field = fields::Field<Kind>;

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    LongText,
    Number,
    /// A weight in kilograms.
    Kilograms,
    Date,
    /// Yes or nothing.
    Flag,
    /// Texts separated by commas.
    Texts,
    /// One of these values.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any of these values, which the API takes as an array.
    Several(&'static [(&'static str, &'static str)]),
    /// The same, which the API takes as one text with commas.
    Joined(&'static [(&'static str, &'static str)]),
    /// Parts of the category, by the ids that the API lists.
    Parts,
}

const OFFER: [Field; 1] =
    [required("type", "For sale or wanted", Kind::Choice(&[("selling", "For sale"), ("buying", "Wanted")]))];
const TITLE: [Field; 1] = [field("properties.title", "Title", Kind::Text)];
const KIND: [Field; 1] = [field(PARTS, "What it is", Kind::Parts)];
const BREED: [Field; 3] = [
    field("properties.breed", "Breed", Kind::Text),
    field("properties.breedType", "Breeding, such as pure or cross", Kind::Text),
    field("properties.breedSociety", "Breed society", Kind::Text),
];
const HERD: [Field; 3] = [
    field("properties.quantity", "Number of animals", Kind::Number),
    field("properties.minAge", "Age of the youngest, months", Kind::Number),
    field("properties.maxAge", "Age of the oldest, months", Kind::Number),
];
const SHEEP: [Field; 4] = [
    field(
        "properties.sexes",
        "Sex and age",
        Kind::Joined(&[("ewes", "Ewes"), ("rams", "Rams"), ("lambs", "Lambs"), ("shearlings", "Shearlings")]),
    ),
    field(
        "properties.additionalInfo",
        "Also",
        Kind::Several(&[
            ("crossbred", "Crossbred"),
            ("pedigree", "Pedigree"),
            ("in-lamb", "In lamb"),
            ("organic", "Organic"),
            ("named-sire", "Named sire"),
        ]),
    ),
    field("properties.type", "Use, such as store, separated by commas", Kind::Texts),
    field("properties.health.data", "Health", Kind::LongText),
];
const CATTLE: [Field; 10] = [
    field(
        "properties.sexes",
        "Sex and age",
        Kind::Joined(&[("heifers", "Heifers"), ("steers", "Steers"), ("bulls", "Bulls"), ("cows", "Cows")]),
    ),
    field(
        "properties.additionalInfo",
        "Also",
        Kind::Several(&[
            ("crossbred", "Crossbred"),
            ("pedigree", "Pedigree"),
            ("in-calf", "In calf"),
            ("organic", "Organic"),
            ("named-sire", "Named sire"),
        ]),
    ),
    field("properties.type", "Use, such as store or calves", Kind::Text),
    field("properties.societyNumber", "Herd number at the society", Kind::Text),
    field("properties.performance.averageWeight", "Average weight, kg", Kind::Kilograms),
    field("properties.performance.dailyLiveWeightGain", "Daily live weight gain, kg", Kind::Kilograms),
    field("properties.health.tbStatus", "TB status", Kind::Text),
    field("properties.health.tbInterval", "Interval of TB tests", Kind::Text),
    field("properties.health.tbDetails", "More on TB", Kind::LongText),
    field("properties.health.data", "Health", Kind::LongText),
];
const DOG: [Field; 5] = [
    field("properties.sex", "Sex", Kind::Choice(&[("male", "Dog"), ("female", "Bitch")])),
    field("properties.registration.dateOfBirth", "Born on", Kind::Date),
    field("properties.registration.name", "Registered name", Kind::Text),
    field("properties.registration.registrationNumber", "Registration number", Kind::Text),
    field("properties.registration.isRegistered", "Registered", Kind::Flag),
];
const TEXT: [Field; 1] = [required("description", "Description", Kind::LongText)];
const PRICE: [Field; 5] = [
    required(
        "price.type",
        "Price",
        Kind::Choice(&[
            ("fixed", "One price"),
            ("range", "From one price to another"),
            ("poa", "On application"),
        ]),
    ),
    field("price.pricePerUnit.amount", "Price of one animal or unit", Kind::Number),
    field("price.minPrice.amount", "Lowest price", Kind::Number),
    field("price.maxPrice.amount", "Highest price", Kind::Number),
    field(CURRENCY, "Currency", Kind::Choice(&[("GBP", "Pounds"), ("EUR", "Euros")])),
];
const PLACE: [Field; 4] = [
    field("location.address.postcode", "Postcode", Kind::Text),
    field("location.address.city", "Town", Kind::Text),
    field("location.address.region", "County", Kind::Text),
    field(
        "location.address.countryISO",
        "Country",
        Kind::Choice(&[("GB", "United Kingdom, Man, Channel Islands"), ("IE", "Ireland")]),
    ),
];
const TAGS: [Field; 1] = [field("tags", "Tags, separated by commas", Kind::Texts)];

/// The main categories, in the order of the API.
pub(crate) const CATEGORIES: [Category; 5] = [
    Category {
        slug: "sheep",
        id: 1,
        name: "Sheep",
        fields: &[&OFFER, &TITLE, &KIND, &BREED, &HERD, &SHEEP, &TEXT, &PRICE, &PLACE, &TAGS],
    },
    Category {
        slug: "cattle",
        id: 2,
        name: "Cattle",
        fields: &[&OFFER, &TITLE, &KIND, &BREED, &HERD, &CATTLE, &TEXT, &PRICE, &PLACE, &TAGS],
    },
    Category {
        slug: "working-dog",
        id: 3,
        name: "Working dog",
        fields: &[&OFFER, &TITLE, &KIND, &BREED, &DOG, &TEXT, &PRICE, &PLACE, &TAGS],
    },
    Category { slug: "feed", id: 4, name: "Feed", fields: &[&OFFER, &KIND, &TEXT, &PRICE, &PLACE, &TAGS] },
    Category {
        slug: "bedding",
        id: 5,
        name: "Bedding",
        fields: &[&OFFER, &KIND, &TEXT, &PRICE, &PLACE, &TAGS],
    },
];

/// Returns a category, its parent, the parent of that, and so on.
pub(crate) fn ancestors(id: i64, parent: impl Fn(i64) -> Option<i64>) -> impl Iterator<Item = i64> {
    std::iter::successors(Some(id), move |id| parent(*id)).take(MAX_DEPTH)
}

impl Category {
    /// Returns the category with this name in addresses.
    pub(crate) fn of_slug(slug: &str) -> Option<&'static Self> {
        CATEGORIES.iter().find(|category| category.slug == slug)
    }

    /// Returns the main category of a listing. `parent` returns that of a part.
    pub(crate) fn of_listing(
        listing: &Listing,
        parent: impl Fn(i64) -> Option<i64>,
    ) -> Option<&'static Self> {
        let is_main = |id: &i64| CATEGORIES.iter().find(|category| category.id == *id);
        listing.category_ids.iter().find_map(|id| ancestors(*id, &parent).find_map(|id| is_main(&id)))
    }

    /// Returns its fields in the order of the form.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().flat_map(|group| group.iter())
    }
}
