//! Sheets to print: of a load, and of a day or week of a haulier or driver.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};

use super::address_book::{find_drivers, find_organisations};
use super::board::find_loads;
use super::extract::Parameters;
use super::html;
use super::load::find_load;
use crate::Console;
use crate::loads::BoardQuery;
use crate::user::{Failure, User};
use crate::views::sheet::{DaySheet, load_sheet};
use crate::views::{Section, page as document};

pub(super) async fn load(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let load = find_load(&user.caller(&console.api), &id).await?;
    let sheet = load_sheet(&load, console.clock);
    Ok(html(&document(&user, Section::Loads, &load.reference, &sheet)))
}

pub(super) async fn day(
    console: Data<Console>,
    user: User,
    Parameters(fields): Parameters,
) -> Result<HttpResponse, Failure> {
    let query = BoardQuery::parse(&fields, console.clock);
    let whose = match (fields.find("haulier"), fields.find("driver")) {
        (Some(id), _) => ("f:carrierId", id.to_owned()),
        (None, Some(id)) => ("f:driverId", id.to_owned()),
        (None, None) => return Err(Failure::NotFound),
    };
    let caller = user.caller(&console.api);
    let filters: Vec<_> = query.dates(console.clock).into_iter().chain([whose.clone()]).collect();
    let (loads, names) = futures_util::join!(find_loads(&caller, &filters), async {
        if whose.0 == "f:carrierId" {
            find_organisations(&caller, user.is_driver()).await
        } else {
            find_drivers(&caller, user.person.organisation_id.is_some()).await
        }
    });
    let loads = loads?;
    let name = names.iter().find(|(id, _)| *id == whose.1).map_or(&whose.1, |(_, name)| name);
    let page = DaySheet {
        whose: name,
        days: &query.title(console.clock),
        loads: &loads.value,
        is_complete: loads.next.is_none(),
        clock: console.clock,
        back: &query.path(None, query.first),
    };
    Ok(html(&document(&user, Section::Board, name, &page.markup())))
}
