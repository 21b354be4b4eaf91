//! Every query on loads. Each begins from [`visible`].

use common::{Answer, Caller, Cursor, Error, Key, Rows, after, after_nullable};
use database::{AnyConnection, By, Id, Json, MultiBackend, Ordered, Ts};
use diesel::prelude::*;

use super::model::{Load, Sort};
use super::proof::Proof;
use super::search::Search;
use crate::schema::loads::{self, dsl as l};

type Query<'a> = loads::BoxedQuery<'a, MultiBackend>;

/// In which role a caller's organisation sees a load.
#[derive(Clone, Copy)]
enum Role {
    /// All loads, as `admin`; as one who organises or carries them, else.
    Any,
    Organiser,
    /// And not organiser too.
    Carrier,
}

/// The loads that a caller may see: those that its organisation organises or carries, all for `admin`.
fn visible(caller: &Caller, role: Role) -> Query<'_> {
    let all = loads::table.into_boxed();
    let org = caller.organisation_id();
    match role {
        Role::Any if caller.admin => all,
        Role::Any => all.filter(l::organiser_id.eq(org).or(l::carrier_id.eq(org))),
        Role::Organiser => all.filter(l::organiser_id.eq(org)),
        Role::Carrier => {
            let not_organiser = l::organiser_id.is_null().or(l::organiser_id.ne(org));
            all.filter(l::carrier_id.eq(org).and(not_organiser))
        }
    }
}

/// A row: what is searched or sorted by, and the document.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = loads, treat_none_as_default_value = false, treat_none_as_null = true)]
struct Row {
    id: Id,
    organiser_id: Option<String>,
    carrier_id: Option<String>,
    status: &'static str,
    delivery_at: Ts,
    created_at: Ts,
    completed_at: Option<Ts>,
    reference_key: String,
    organiser_key: Option<String>,
    carrier_key: Option<String>,
    commodity_key: String,
    weight: Option<i64>,
    weight_net: Option<i64>,
    search_text: String,
    document: Json,
}

impl Row {
    fn of(load: &Load) -> Result<Self, Error> {
        let text = |sort| if let Some(Key::Text(text)) = load.key(sort) { Some(text) } else { None };
        let number = |sort| if let Some(Key::Number(number)) = load.key(sort) { Some(number) } else { None };
        Ok(Self {
            id: load.id,
            organiser_id: load.organiser.as_ref().and_then(|p| p.id.clone()),
            carrier_id: load.carrier.as_ref().and_then(|p| p.id.clone()),
            status: load.status.as_str(),
            delivery_at: load.delivery_date,
            created_at: load.created_at,
            completed_at: load.completed_at,
            reference_key: text(Sort::Reference).unwrap_or_default(),
            organiser_key: text(Sort::Organiser),
            carrier_key: text(Sort::Carrier),
            commodity_key: text(Sort::Commodity).unwrap_or_default(),
            weight: number(Sort::Weight),
            weight_net: number(Sort::WeightNet),
            search_text: load.search_text(),
            document: Json::of(load)?,
        })
    }
}

/// Stores a new load and gives it out.
pub fn create(c: &mut AnyConnection, load: &Load) -> Result<Answer, Error> {
    let row = Row::of(load)?;
    let answer = Answer::raw(row.document.0.clone());
    diesel::insert_into(loads::table).values(row).execute(c)?;
    Ok(answer)
}

/// Stores new loads. So few at a time that SQLite and PostgreSQL take all their values in one statement.
pub fn create_many(c: &mut AnyConnection, loads: &[Load]) -> Result<(), Error> {
    let rows = loads.iter().map(Row::of).collect::<Result<Vec<_>, _>>()?;
    database::dispatch!(c, c => diesel::insert_into(loads::table).values(&rows).execute(c))?;
    Ok(())
}

/// The document of a load.
///
/// # Errors
/// 404 if there is none, 403 if it is not the caller's.
pub fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    let found = visible(caller, Role::Any).filter(l::id.eq(id)).select(l::document).first(c).optional()?;
    found.map_or_else(|| Err(missing(c, id)), Ok)
}

/// A load with its proof, if it has one, to be changed.
pub fn find_with_proof(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<(Load, Option<Proof>), Error> {
    let query = visible(caller, Role::Any).filter(l::id.eq(id)).select((l::document, l::proof));
    let Some((load, proof)) = query.first::<(Json, Option<Json>)>(c).optional()? else {
        return Err(missing(c, id));
    };
    Ok((load.parse()?, proof.as_ref().map(Json::parse).transpose()?))
}

/// Why a caller does not see a load.
fn missing(c: &mut AnyConnection, id: Id) -> Error {
    match diesel::select(diesel::dsl::exists(loads::table.find(id))).get_result(c) {
        Ok(true) => Error::Forbidden("This load is another organisation's."),
        Ok(false) => Error::NotFound,
        Err(error) => error.into(),
    }
}

/// Those of the ids that the caller may see, with their documents, in no order.
pub fn list_by_ids(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<(Id, Json)>, Error> {
    Ok(visible(caller, Role::Any).filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
}

/// Stores what a proof changed.
pub fn complete(c: &mut AnyConnection, load: &Load, proof: &Proof) -> Result<Answer, Error> {
    let row = Row::of(load)?;
    let answer = Answer::raw(row.document.0.clone());
    diesel::update(loads::table.find(load.id)).set((row, l::proof.eq(Json::of(proof)?))).execute(c)?;
    Ok(answer)
}

/// One page of a search, and its cursor. One query; two if a count was asked for.
pub fn search(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<Rows, Error> {
    let roles = roles(caller, search);
    let columns = (
        (l::delivery_at, l::created_at, l::reference_key, l::status, l::organiser_key),
        (l::carrier_key, l::commodity_key, l::weight, l::weight_net, l::id, l::document),
    );
    let branches =
        roles.iter().map(|role| remaining(matching(caller, *role, search), search).select(columns));
    let page = Ordered::new(c, branches.collect(), by(search), search.page.fetch(), search.page.offset);
    let mut rows = Rows::new(page.load(c)?, &search.page, |last| {
        let load: Load = last.parse()?;
        Ok(Cursor { sort: search.sorting.order.clone(), value: load.key(search.sorting.sort), id: load.id })
    })?;
    if search.count {
        rows.total = Some(matching(caller, Role::Any, search).count().get_result(c)?);
    }
    Ok(rows)
}

/// The roles in which a caller can have what is searched for: one wherever the filters say so, since a branch without
/// matches would be read to its end.
fn roles(caller: &Caller, search: &Search) -> &'static [Role] {
    let (organiser, carrier) = (search.organiser_id.as_deref(), search.carrier_id.as_deref());
    let own = |id: Option<&str>| id.is_some_and(|id| caller.acts_for(id));
    if caller.admin || own(organiser) || own(carrier) {
        &[Role::Any]
    } else if organiser.is_some() {
        &[Role::Carrier]
    } else if carrier.is_some() {
        &[Role::Organiser]
    } else {
        &[Role::Organiser, Role::Carrier]
    }
}

fn matching<'a>(caller: &'a Caller, role: Role, search: &'a Search) -> Query<'a> {
    let mut query = visible(caller, role);
    if let Some(id) = &search.organiser_id {
        query = query.filter(l::organiser_id.eq(id));
    }
    if let Some(id) = &search.carrier_id {
        query = query.filter(l::carrier_id.eq(id));
    }
    if let Some(status) = &search.status {
        query = query.filter(l::status.eq(status));
    }
    if let Some(start) = search.start {
        query = query.filter(l::delivery_at.ge(start));
    }
    if let Some(end) = search.end {
        query = query.filter(l::delivery_at.le(end));
    }
    for word in &search.words {
        let literal = word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        query = query.filter(l::search_text.like(format!("%{literal}%")).escape('\\'));
    }
    query
}

/// Those after the cursor.
fn remaining<'a>(query: Query<'a>, search: &Search) -> Query<'a> {
    let (desc, page) = (search.sorting.desc, &search.page);
    match search.sorting.sort {
        Sort::DeliveryDate => after!(query, l::delivery_at, l::id, desc, page.after_instant()),
        Sort::CreatedAt => after!(query, l::created_at, l::id, desc, page.after_instant()),
        Sort::Reference => after!(query, l::reference_key, l::id, desc, page.after_text()),
        Sort::Status => after!(query, l::status, l::id, desc, page.after_text()),
        Sort::Commodity => after!(query, l::commodity_key, l::id, desc, page.after_text()),
        Sort::Organiser => after_nullable!(query, l::organiser_key, l::id, desc, page.after_text()),
        Sort::Carrier => after_nullable!(query, l::carrier_key, l::id, desc, page.after_text()),
        Sort::Weight => after_nullable!(query, l::weight, l::id, desc, page.after_number()),
        Sort::WeightNet => after_nullable!(query, l::weight_net, l::id, desc, page.after_number()),
    }
}

fn by(search: &Search) -> By {
    let (column, nullable) = match search.sorting.sort {
        Sort::DeliveryDate => ("delivery_at", false),
        Sort::CreatedAt => ("created_at", false),
        Sort::Reference => ("reference_key", false),
        Sort::Status => ("status", false),
        Sort::Commodity => ("commodity_key", false),
        Sort::Organiser => ("organiser_key", true),
        Sort::Carrier => ("carrier_key", true),
        Sort::Weight => ("weight", true),
        Sort::WeightNet => ("weight_net", true),
    };
    By { column, nullable, desc: search.sorting.desc }
}
