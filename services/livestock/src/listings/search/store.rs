//! The queries of the search. Each begins from [`visible_with`] or [`visible`].

use common::{Caller, Cursor, Error, IdBatch, PageRequest, ResultPage, SortValue, after};
use database::{
    AnyConnection, Id, IdSql, Json, JsonSql, MergedQuery, Nulls, OrderBy, Timestamp, TimestampSql,
};
use diesel::connection::DefaultLoadingMode;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Double, Nullable, Text};

use super::super::geo::{chord2_of, from_order, to_order};
use super::super::model::{Status, TYPE};
use super::super::search_fields::{day, line};
use super::super::store::{Query, visible, visible_with};
use super::branch::{Branch, Breed, Part};
use super::{CommodityType, Search, Sort};
use crate::schema::listings::dsl as l;
use crate::schema::spellings::dsl as s;
use crate::schema::wishlists::dsl as w;

diesel::alias!(const TYPED: Alias<Typed> = crate::schema::listings as typed);

/// The square of the straight line to a point, as `place::chord2` adds it up.
macro_rules! chord2 {
    ($unit:expr, $end:literal) => {{
        let [x, y, z] = $unit;
        let sum = sql::<Nullable<Double>>("((x - ").bind::<Double, _>(x);
        let sum = sum.sql(") * (x - ").bind::<Double, _>(x);
        let sum = sum.sql(") + (y - ").bind::<Double, _>(y);
        let sum = sum.sql(") * (y - ").bind::<Double, _>(y);
        let sum = sum.sql(") + (z - ").bind::<Double, _>(z);
        sum.sql(") * (z - ").bind::<Double, _>(z).sql($end)
    }};
}

/// The months that a dog has completed today, in ten-thousandths as all ages are.
macro_rules! dogs_age {
    ($today:expr, $end:literal) => {
        sql::<Nullable<BigInt>>("((").bind::<BigInt, _>($today).sql($end)
    };
}

/// Runs `$run!(branches, SQL type of the key, its Rust type, the cursor's key from it)` for what is sorted by.
macro_rules! by_key {
    ($run:ident, $caller:expr, $search:expr, $page:expr) => {{
        let (caller, search, page): (&Caller, &Search, &PageRequest) = ($caller, $search, $page);
        let all = Branch::all(search, page);
        // A cursor that somebody made up may ask for a part that there is not.
        if all.is_empty() {
            return Ok(Default::default());
        }
        let each = all.iter().map(|branch| (branch.part, remaining(caller, search, branch, page)));
        match search.sorting.sort {
            Sort::CreatedAt => {
                let branches = each.map(|(_, query)| {
                    query.select((l::id, sql::<Nullable<TimestampSql>>("created_at AS sort_key")))
                });
                $run!(branches, Nullable<TimestampSql>, Timestamp, |at: Timestamp| SortValue::Number(
                    at.millis()
                ))
            }
            Sort::OrganisationName => {
                let key = || sql::<Nullable<Text>>("organisation_key AS sort_key");
                let branches = each.map(|(_, query)| query.select((l::id, key())));
                $run!(branches, Nullable<Text>, String, SortValue::Text)
            }
            Sort::Price => {
                let branches = each
                    .map(|(_, query)| query.select((l::id, sql::<Nullable<BigInt>>("price AS sort_key"))));
                $run!(branches, Nullable<BigInt>, i64, SortValue::Number)
            }
            Sort::Quantity => {
                let branches = each
                    .map(|(_, query)| query.select((l::id, sql::<Nullable<BigInt>>("quantity AS sort_key"))));
                $run!(branches, Nullable<BigInt>, i64, SortValue::Number)
            }
            Sort::Age => {
                let today = day(search.now);
                let branches = each.map(|(part, query)| match part {
                    Part::Dogs => {
                        query.select((l::id, dogs_age!(today, " - born) / 32 * 10000) AS sort_key")))
                    }
                    _ => query.select((l::id, sql("age AS sort_key"))),
                });
                $run!(branches, Nullable<BigInt>, i64, SortValue::Number)
            }
            Sort::Distance => {
                let unit = search.unit();
                let branches = each.map(|(_, query)| query.select((l::id, chord2!(unit, ")) AS sort_key"))));
                $run!(branches, Nullable<Double>, f64, |chord2: f64| SortValue::Number(to_order(chord2)))
            }
        }
    }};
}

/// One page of a search, and its cursor. One query; a count is one more for each of its branches. Of what is nearest first
/// the near surroundings are searched, and wider ones only if those have too little.
pub fn search(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<ResultPage, Error> {
    let wanted = search.page.fetch();
    let mut found = Vec::new();
    for narrowed in search.rings() {
        found = page(c, caller, &narrowed)?;
        if i64::try_from(found.len()).is_ok_and(|count| count >= wanted) {
            break;
        }
    }
    let mut rows = ResultPage::placed(found, &search.page);
    rows.total = total(c, caller, search)?;
    Ok(rows)
}

fn page(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<Vec<(String, Cursor)>, Error> {
    let (fetch, offset) = (search.page.fetch(), search.page.offset);
    macro_rules! documents {
        ($branches:expr, $sql:ty, $rust:ty, $key:expr) => {{
            let branches = $branches.collect();
            let page = MergedQuery::<_, (JsonSql, IdSql, $sql)>::with_documents(
                c,
                "listings",
                branches,
                by(search),
                fetch,
                offset,
            );
            let page = page.cache_statement(search.is_cacheable());
            let rows = page.load::<(Json, Id, Option<$rust>)>(c)?.into_iter();
            rows.map(|(document, id, value)| (document.0, place(search, value.map($key), id))).collect()
        }};
    }
    Ok(by_key!(documents, caller, search, &search.page))
}

/// The ids of many listings of a search, and where it goes on.
pub fn block(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &Search,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    macro_rules! keys {
        ($branches:expr, $sql:ty, $rust:ty, $key:expr) => {{
            let branches = $branches.collect();
            let keys =
                MergedQuery::<_, (IdSql, $sql)>::keys(c, branches, by(search), page.limit, page.offset);
            let (mut ids, mut last) = (Vec::new(), None);
            for row in keys.load_iter::<(Id, Option<$rust>), DefaultLoadingMode>(c)? {
                let (id, value) = row?;
                ids.push(id);
                last = Some((id, value));
            }
            Ok(IdBatch { ids, last: last.map(|(id, value)| place(search, value.map($key), id)) })
        }};
    }
    by_key!(keys, caller, search, page)
}

/// How many listings match, if that was asked.
pub fn total(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<Option<i64>, Error> {
    if !search.count {
        return Ok(None);
    }
    let mut total = 0;
    for branch in Branch::to_count(search) {
        total += matching(caller, search, &branch).count().get_result::<i64>(c)?;
    }
    Ok(Some(total))
}

/// The documents of some of them.
pub fn list_by_ids(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<(Id, Json)>, Error> {
    Ok(visible(caller).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?)
}

fn place(search: &Search, value: Option<SortValue>, id: Id) -> Cursor {
    Cursor { sort: search.sorting.order.clone(), value, id }
}

fn matching<'a>(caller: &'a Caller, search: &'a Search, branch: &Branch) -> Query<'a> {
    let mut query = with_status(caller, search);
    if let Some(id) = &search.organisation_id {
        query = query.filter(l::organisation_id.eq(id));
    }
    if search.wishlisted {
        let wishlist = w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id);
        query = query.filter(l::id.eq_any(wishlist));
    }
    if let Some(age) = search.min_age {
        query = query.filter(l::min_age.ge(age.scaled()).or(l::born.le(search.born_until(age))));
    }
    if let Some(age) = search.max_age {
        query = query.filter(l::max_age.le(age.scaled()).or(l::born.gt(search.born_after(age))));
    }
    of_commodity(near(query, search, branch), search, branch)
}

fn with_status<'a>(caller: &'a Caller, search: &Search) -> Query<'a> {
    let Some(filter) = search.status else {
        // A wishlist shows what became of its listings.
        return visible_with(caller, (!search.wishlisted).then_some(Status::Active));
    };
    let (status, kind) = filter.meaning();
    let query = visible_with(caller, Some(status));
    if let Some(kind) = kind { query.filter(l::kind.eq(kind.as_str())) } else { query }
}

/// Those near enough: first what an index finds, then the distance itself.
fn near<'a>(mut query: Query<'a>, search: &'a Search, branch: &Branch) -> Query<'a> {
    let (Some(km), Some(around)) = (search.within_km(), search.surroundings()) else { return query };
    query = match around.few_bands() {
        Some(bands) => query.filter(l::band.eq_any(bands)),
        None => query.filter(l::band.between(*around.bands.start(), *around.bands.end())),
    };
    if let Some(range) = &branch.longitudes {
        query = query.filter(l::lon.between(*range.start(), *range.end()));
    }
    if branch.breed == Breed::Type {
        // Most breeds are no breed type of any listing: then none is looked through for.
        let of_type = TYPED.field(l::breed_type).eq_any(&search.breeds);
        query = query.filter(diesel::dsl::exists(TYPED.filter(of_type).select(TYPED.field(l::id))));
    }
    query.filter(chord2!(search.unit(), "))").le(chord2_of(km)))
}

/// The filters on what is offered or wanted.
fn of_commodity<'a>(mut query: Query<'a>, search: &'a Search, branch: &Branch) -> Query<'a> {
    match &search.commodity_type {
        Some(CommodityType::Category(id)) => query = query.filter(l::category.eq(id)),
        Some(CommodityType::Type(name)) => {
            query = query.filter(l::types.like(containing(name)).escape('\\'));
            if search.is_of_market() {
                // What none on the market ever was, none is looked through for.
                let known = s::spellings.filter(s::term.eq(format!("{TYPE}{name}")));
                query = query.filter(diesel::dsl::exists(known));
            }
        }
        None => {}
    }
    // PostgreSQL reads an index in order behind one value, not behind a list of one.
    query = match (branch.breed, search.breeds.as_slice()) {
        (Breed::Any, _) => query,
        (Breed::Own, [breed]) => query.filter(l::breed.eq(breed)),
        (Breed::Own, breeds) => query.filter(l::breed.eq_any(breeds)),
        (Breed::Type, [breed]) => query.filter(l::breed_type.eq(breed)),
        (Breed::Type, breeds) => query.filter(l::breed_type.eq_any(breeds)),
    };
    if branch.breed == Breed::Type {
        query = query.filter(l::breed.is_null().or(l::breed.ne_all(&search.breeds)));
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

/// A pattern for a column of `particulars::lines` that has this text.
fn containing(text: &str) -> String {
    let literal = line(text).replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{literal}%")
}

/// Those of a branch after the cursor.
fn remaining<'a>(caller: &'a Caller, search: &'a Search, branch: &Branch, page: &PageRequest) -> Query<'a> {
    let query = matching(caller, search, branch);
    let desc = search.sorting.desc;
    if branch.part == Part::Missing {
        let query = match search.sorting.sort {
            Sort::Price => query.filter(l::price.is_null()),
            Sort::Quantity => query.filter(l::quantity.is_null()),
            Sort::Age => query.filter(l::age.is_null()).filter(l::born.is_null()),
            Sort::Distance => query.filter(l::x.is_null()),
            Sort::CreatedAt | Sort::OrganisationName => query,
        };
        return match &page.after {
            Some(Cursor { value: None, id, .. }) if desc => query.filter(l::id.lt(*id)),
            Some(Cursor { value: None, id, .. }) => query.filter(l::id.gt(*id)),
            _ => query,
        };
    }
    match search.sorting.sort {
        Sort::CreatedAt => after!(query, l::created_at, l::id, desc, page.after_instant()),
        Sort::OrganisationName => after!(query, l::organisation_key, l::id, desc, page.after_text()),
        Sort::Price => {
            after!(query.filter(l::price.is_not_null()), l::price, l::id, desc, page.after_number())
        }
        Sort::Quantity => {
            after!(query.filter(l::quantity.is_not_null()), l::quantity, l::id, desc, page.after_number())
        }
        Sort::Age => {
            let (mut query, dogs) = (query, branch.part == Part::Dogs);
            // What the filters on ages say of that which is sorted by: where the index can begin and end.
            query =
                if dogs { query.filter(l::born.is_not_null()) } else { query.filter(l::age.is_not_null()) };
            query = match search.min_age {
                Some(age) if dogs => query.filter(l::born.le(search.born_until(age))),
                Some(age) => query.filter(l::age.ge(age.scaled())),
                None => query,
            };
            query = match search.max_age {
                Some(age) if dogs => query.filter(l::born.gt(search.born_after(age))),
                Some(age) => query.filter(l::age.le(age.scaled())),
                None => query,
            };
            if !dogs {
                return after!(query, l::age, l::id, desc, page.after_number());
            }
            let today = day(search.now);
            after!(query, dogs_age!(today, " - born) / 32 * 10000)"), l::id, desc, page.after_number())
        }
        Sort::Distance => {
            let after = page.after_number().map(|(value, id)| (value.map(from_order), id));
            after!(query.filter(l::x.is_not_null()), chord2!(search.unit(), "))"), l::id, desc, after)
        }
    }
}

fn by(search: &Search) -> OrderBy {
    let missing = match search.sorting.sort {
        Sort::CreatedAt | Sort::OrganisationName => Nulls::Never,
        _ => Nulls::Apart,
    };
    OrderBy { column: "sort_key", missing, desc: search.sorting.desc }
}
