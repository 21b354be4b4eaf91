//! Sheets to print: of a load, and of a day of a haulier or driver.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};

use super::html;
use super::load::find_load;
use crate::Console;
use crate::user::{Failure, User};
use crate::views::sheet::load_sheet;
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
