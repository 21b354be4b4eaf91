//! Every query on listings. Each begins from [`visible`].

use common::{Caller, Cursor, Error, Key, Rows, after, after_nullable};
use database::{AnyConnection, By, Id, Json, MultiBackend, Ordered, Ts};
use diesel::prelude::*;

use super::model::{Listing, Sort, Status};
use super::particulars::{line, lines};
use super::search::{CommodityType, Search};
use crate::schema::listings::{self, dsl as l};

type Query<'a> = listings::BoxedQuery<'a, MultiBackend>;

/// The listings that a caller may see: all but the drafts of other organisations, all for `admin`.
fn visible(caller: &Caller) -> Query<'_> {
    let all = listings::table.into_boxed();
    if caller.admin {
        return all;
    }
    all.filter(l::status.ne(Status::Draft.as_str()).or(l::organisation_id.eq(caller.organisation_id())))
}

/// A row: what is searched or sorted by, and the document.
#[derive(Insertable)]
#[diesel(table_name = listings, treat_none_as_default_value = false)]
struct Row {
    id: Id,
    organisation_id: String,
    kind: &'static str,
    status: &'static str,
    category: i32,
    created_at: Ts,
    organisation_key: String,
    price: Option<i64>,
    age: Option<i64>,
    min_age: Option<i64>,
    max_age: Option<i64>,
    quantity: Option<i64>,
    breed: Option<String>,
    breed_type: Option<String>,
    breed_society: Option<String>,
    types: String,
    sexes: String,
    additional_info: String,
    document: Json,
}

impl Row {
    fn of(listing: &Listing, category: i32) -> Result<Self, Error> {
        let text = |sort| if let Some(Key::Text(text)) = listing.key(sort) { Some(text) } else { None };
        let number =
            |sort| if let Some(Key::Number(number)) = listing.key(sort) { Some(number) } else { None };
        let particulars = listing.particulars();
        Ok(Self {
            id: listing.id,
            organisation_id: listing.organisation_id.clone(),
            kind: listing.kind.as_str(),
            status: listing.status.as_str(),
            category,
            created_at: listing.created_at,
            organisation_key: text(Sort::OrganisationName).unwrap_or_default(),
            price: number(Sort::Price),
            age: number(Sort::Age),
            min_age: particulars.min_age.map(database::Amount::scaled),
            max_age: particulars.max_age.map(database::Amount::scaled),
            quantity: number(Sort::Quantity),
            types: lines(&particulars.types),
            sexes: lines(&particulars.sexes),
            additional_info: lines(&particulars.additional_info),
            breed: particulars.breed,
            breed_type: particulars.breed_type,
            breed_society: particulars.breed_society,
            document: Json::of(listing)?,
        })
    }
}

/// Stores a new listing of this main category.
pub fn create(c: &mut AnyConnection, listing: &Listing, category: i32) -> Result<(), Error> {
    diesel::insert_into(listings::table).values(Row::of(listing, category)?).execute(c)?;
    Ok(())
}

/// The document of a listing.
///
/// # Errors
/// 404 if there is none, 403 if it is another organisation's draft.
pub fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select(l::document).first(c).optional()?;
    found.map_or_else(|| Err(missing(c, id)), Ok)
}

/// Why a caller does not see a listing.
fn missing(c: &mut AnyConnection, id: Id) -> Error {
    match diesel::select(diesel::dsl::exists(listings::table.find(id))).get_result(c) {
        Ok(true) => Error::Forbidden("This listing is another organisation's draft."),
        Ok(false) => Error::NotFound,
        Err(error) => error.into(),
    }
}

/// One page of a search, and its cursor. One query; two if a count was asked for.
pub fn search(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<Rows, Error> {
    let columns = (l::created_at, l::organisation_key, l::price, l::age, l::quantity, l::id, l::document);
    let branch = remaining(matching(caller, search), search).select(columns);
    let page = Ordered::new(c, vec![branch], by(search), search.page.fetch(), search.page.offset);
    let mut rows = Rows::new(page.load(c)?, &search.page, |last| {
        let listing: Listing = last.parse()?;
        Ok(Cursor {
            sort: search.sorting.order.clone(),
            value: listing.key(search.sorting.sort),
            id: listing.id,
        })
    })?;
    if search.count {
        rows.total = Some(matching(caller, search).count().get_result(c)?);
    }
    Ok(rows)
}

fn matching<'a>(caller: &'a Caller, search: &'a Search) -> Query<'a> {
    let mut query = visible(caller).filter(l::status.eq(search.status.as_str()));
    if search.status == Status::Draft {
        // An admin may read others' drafts, but a search is for one's own.
        query = query.filter(l::organisation_id.eq(caller.organisation_id()));
    }
    if let Some(kind) = search.kind {
        query = query.filter(l::kind.eq(kind.as_str()));
    }
    if let Some(id) = &search.organisation_id {
        query = query.filter(l::organisation_id.eq(id));
    }
    if let Some(age) = search.min_age {
        query = query.filter(l::min_age.ge(age.scaled()));
    }
    if let Some(age) = search.max_age {
        query = query.filter(l::max_age.le(age.scaled()));
    }
    of_commodity(query, search)
}

/// The filters on what is offered or wanted.
fn of_commodity<'a>(mut query: Query<'a>, search: &'a Search) -> Query<'a> {
    match &search.commodity_type {
        Some(CommodityType::Category(id)) => query = query.filter(l::category.eq(id)),
        Some(CommodityType::Type(name)) => {
            query = query.filter(l::types.like(containing(name)).escape('\\'));
        }
        None => {}
    }
    if !search.breeds.is_empty() {
        let (breeds, breed_types) = (l::breed.eq_any(&search.breeds), l::breed_type.eq_any(&search.breeds));
        query = query.filter(breeds.or(breed_types));
    }
    if !search.breed_societies.is_empty() {
        query = query.filter(l::breed_society.eq_any(&search.breed_societies));
    }
    if let Some(sex) = search.sexes {
        query = query.filter(l::sexes.like(containing(sex.as_str())).escape('\\'));
    }
    if let Some(info) = search.additional_info {
        query = query.filter(l::additional_info.like(containing(info.as_str())).escape('\\'));
    }
    query
}

/// A pattern for a column of [`lines`] that has this text.
fn containing(text: &str) -> String {
    let literal = line(text).replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{literal}%")
}

/// Those after the cursor.
fn remaining<'a>(query: Query<'a>, search: &Search) -> Query<'a> {
    let (desc, page) = (search.sorting.desc, &search.page);
    match search.sorting.sort {
        Sort::CreatedAt => after!(query, l::created_at, l::id, desc, page.after_instant()),
        Sort::OrganisationName => after!(query, l::organisation_key, l::id, desc, page.after_text()),
        Sort::Price => after_nullable!(query, l::price, l::id, desc, page.after_number()),
        Sort::Age => after_nullable!(query, l::age, l::id, desc, page.after_number()),
        Sort::Quantity => after_nullable!(query, l::quantity, l::id, desc, page.after_number()),
    }
}

fn by(search: &Search) -> By {
    let (column, nullable) = match search.sorting.sort {
        Sort::CreatedAt => ("created_at", false),
        Sort::OrganisationName => ("organisation_key", false),
        Sort::Price => ("price", true),
        Sort::Age => ("age", true),
        Sort::Quantity => ("quantity", true),
    };
    By { column, nullable, desc: search.sorting.desc }
}
