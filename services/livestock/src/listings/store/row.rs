//! The rows of `listings`.

use common::Error;
use common::wire::sort_key;
use database::{Amount, AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use crate::listings::geo::Point;
use crate::listings::location::Location;
use crate::listings::model::{Listing, Status};
use crate::listings::search_fields::lines;
use crate::listings::search_text::search_text;
use crate::schema::listings;
use crate::schema::spellings::{self, dsl as s};

/// The version of the columns that [`ListingRow::of`] derives from a document. Increment it with each change there, so
/// that [`rebuild_stale_rows`] rebuilds the rows of older versions.
pub(in crate::listings) const ROW_VERSION: i32 = 8;

/// A row of a listing: the columns that searches filter and sort by, and the document. `schema.rs` has the units.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = listings, treat_none_as_default_value = false, treat_none_as_null = true)]
pub(in crate::listings) struct ListingRow {
    id: Id,
    organisation_id: String,
    kind: &'static str,
    status: &'static str,
    category: i32,
    published_at: Timestamp,
    organisation_key: String,
    price: Option<i64>,
    age: Option<i64>,
    min_age: Option<i64>,
    max_age: Option<i64>,
    quantity: Option<i64>,
    born: Option<i64>,
    breed: Option<String>,
    breed_type: Option<String>,
    breed_society: Option<String>,
    types: String,
    sexes: String,
    additional_info: String,
    band: Option<i32>,
    lon: Option<f64>,
    x: Option<f64>,
    y: Option<f64>,
    z: Option<f64>,
    public_x: Option<f64>,
    public_y: Option<f64>,
    public_z: Option<f64>,
    derived: i32,
    pub(in crate::listings) document: Json,
    search_text: Option<String>,
}

/// The columns that releases since 1.0 have added or write in another form: texts are folded since 1.2.
#[derive(AsChangeset)]
#[diesel(table_name = listings, treat_none_as_null = true)]
pub(super) struct NewColumns {
    organisation_key: String,
    breed: Option<String>,
    breed_type: Option<String>,
    breed_society: Option<String>,
    public_x: Option<f64>,
    public_y: Option<f64>,
    public_z: Option<f64>,
    derived: i32,
    search_text: Option<String>,
}

impl ListingRow {
    /// Returns the columns that rows of 1.0 lack or have in another form.
    pub(super) fn without_old_columns(self) -> NewColumns {
        NewColumns {
            organisation_key: self.organisation_key,
            breed: self.breed,
            breed_type: self.breed_type,
            breed_society: self.breed_society,
            public_x: self.public_x,
            public_y: self.public_y,
            public_z: self.public_z,
            derived: self.derived,
            search_text: self.search_text,
        }
    }

    pub(in crate::listings) fn of(listing: &Listing, category: i32) -> Result<Self, Error> {
        let fields = listing.search_fields();
        let point = listing.location.as_ref().and_then(Location::point);
        let vector = point.map(Point::unit_vector);
        let [x, y, z] = parts(vector);
        let [public_x, public_y, public_z] = parts(vector.map(|vector| Point::rounded(vector).unit_vector()));
        let scaled = |amount: Option<Amount>| amount.map(Amount::scaled);
        Ok(Self {
            id: listing.id,
            organisation_id: listing.organisation_id.clone(),
            kind: listing.kind.as_str(),
            status: listing.status.as_str(),
            category,
            published_at: listing.published_at.unwrap_or(listing.created_at),
            organisation_key: sort_key(&listing.organisation_name),
            price: scaled(listing.price.sort_amount()),
            age: scaled(fields.age()),
            min_age: scaled(fields.min_age),
            max_age: scaled(fields.max_age),
            quantity: scaled(fields.quantity),
            born: fields.born,
            types: lines(&fields.types),
            sexes: lines(&fields.sexes),
            additional_info: lines(&fields.additional_info),
            breed: fields.breed,
            breed_type: fields.breed_type,
            breed_society: fields.breed_society,
            band: point.map(Point::band),
            lon: point.map(|point| point.lon),
            x,
            y,
            z,
            public_x,
            public_y,
            public_z,
            derived: ROW_VERSION,
            document: Json::of(listing)?,
            search_text: Some(search_text(listing)),
        })
    }
}

fn parts(vector: Option<[f64; 3]>) -> [Option<f64>; 3] {
    vector.map_or([None; 3], |vector| vector.map(Some))
}

#[diesel::declare_sql_function]
extern "SQL" {
    /// Inserts the terms that are not there. Returns their number.
    fn insert_spellings(terms: Array<Text>, spellings: Array<Text>) -> Integer;
}

/// Records the terms of a published listing. The first listing with a breed or society determines its spelling in
/// facets. The terms are written in ascending order, so that concurrent transactions cannot deadlock.
pub(in crate::listings) fn record_spellings(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    if matches!(listing.status, Status::Draft | Status::Cancelled) {
        return Ok(());
    }
    let terms = listing.terms();
    match c {
        // One round trip, and no failure if a concurrent transaction records the same term.
        AnyConnection::Postgres(c) => {
            let (terms, spellings): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
            diesel::select(insert_spellings(terms, spellings)).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for (term, spelling) in terms {
                let values = (s::term.eq(term), s::spelling.eq(spelling));
                diesel::insert_into(spellings::table).values(values).on_conflict_do_nothing().execute(c)?;
            }
        }
    }
    Ok(())
}
