//! The queue of reports, for administrators of the marketplace.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::try_join_all;
use reqwest::Method;
use serde_json::json;

use super::extract::PostForm;
use super::listing::listing_path;
use super::market::find_pictures;
use super::{html_with, optional, see_other};
use crate::Console;
use crate::api::market::{Listing, Report, Suspended};
use crate::api::model::Event;
use crate::api::{CallError, Caller, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::market::{neighbours, queue};
use crate::user::{Failure, User};
use crate::views::moderation::{Case, ModerationView};
use crate::views::{Section, page as document};

/// Open reports that are read at once. Those after them come up when these are decided.
const MAX_REPORTS: &str = "100";
/// Further listings of a seller that are shown.
const MAX_OTHERS: &str = "20";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let parameters = Fields::parse(request.query_string().as_bytes());
    show(&console, &user, &parameters, None, StatusCode::OK).await
}

/// Shows the queue. `refused`: a decision that is shown again with what is wrong.
async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    refused: Option<(&Fields, &str)>,
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let open = [("f:status", "open"), ("limit", MAX_REPORTS), ("count", "true")];
    let suspended = [("f:status", "suspended"), ("limit", "100")];
    let (open, suspended) = futures_util::join!(
        caller.get::<Vec<Report>>(Service::Livestock, "/v1/reports", &open),
        caller.get::<Vec<Suspended>>(Service::Livestock, "/v1/organisations", &suspended),
    );
    let open = open?;
    let mut missing = Vec::new();
    let suspended = optional(suspended, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let entries = queue(&open.value);
    let chosen = parameters.find("listing").or_else(|| entries.first().map(|entry| entry.listing_id));
    let ids = entries.iter().map(|entry| entry.listing_id).collect::<Vec<_>>().join(",");
    let (listings, case) = futures_util::join!(
        async { if ids.is_empty() { Vec::new() } else { find_by_ids(&caller, &ids).await } },
        async {
            match chosen {
                Some(id) => find_case(&caller, id, &mut missing).await.map(Some),
                None => Ok(None),
            }
        },
    );
    let case = case?;
    let view = ModerationView {
        user,
        clock: console.clock,
        total: open.total,
        entries: &entries,
        listings: &listings,
        case: case.as_ref(),
        neighbours: chosen.map_or([None, None], |id| neighbours(&entries, id)),
        suspended: &suspended,
        missing: &missing,
        done: parameters.find("done").and_then(done),
        refused,
    };
    Ok(html_with(status, &document(user, Section::Moderation, "Moderation", &view.markup())))
}

async fn find_by_ids(caller: &Caller<'_>, ids: &str) -> Vec<Listing> {
    let found = caller.get(Service::Livestock, "/v1/listings/by-ids", &[("ids", ids)]).await;
    found.map(|reply| reply.value).unwrap_or_default()
}

/// Reads a listing with all that a decision on it needs.
async fn find_case(caller: &Caller<'_>, id: &str, missing: &mut Vec<String>) -> Result<Case, Failure> {
    let path = listing_path(id);
    let (events_path, reports_path) = (format!("{path}/events"), format!("{path}/reports"));
    let (listing, events, reports) = futures_util::join!(
        caller.get::<Listing>(Service::Livestock, &path, &[]),
        caller.get::<Vec<Event>>(Service::Livestock, &events_path, &[("limit", "100")]),
        caller.get::<Vec<Report>>(Service::Livestock, &reports_path, &[]),
    );
    let listing = listing?.value;
    let events = optional(events, missing)?.map(|reply| reply.value).unwrap_or_default();
    let reports = optional(reports, missing)?.map(|reply| reply.value).unwrap_or_default();
    let files: Vec<_> = listing.files.iter().map(|file| file.id.as_str()).collect();
    let own = [("f:organisationId", listing.organisation_id.as_str()), ("limit", MAX_OTHERS)];
    let (pictures, others) = futures_util::join!(
        find_pictures(caller, &files, missing),
        caller.get::<Vec<Listing>>(Service::Livestock, "/v1/listings", &own),
    );
    let mut others = others.map(|reply| reply.value).unwrap_or_default();
    others.retain(|other| other.id != listing.id);
    Ok(Case { pictures: pictures?, events, reports, others, listing })
}

fn done(name: &str) -> Option<&'static str> {
    Some(match name {
        "dismissed" => "Left on the market. All reports of it are settled.",
        "removed" => "Removed from the market. All reports of it are settled.",
        "suspended" => "Removed, and the seller is suspended: nothing of it is on the market.",
        "decided" => "Somebody else has decided on it meanwhile, as you see here. Nothing was changed.",
        "reinstated" => "The organisation may sell again.",
        _ => return None,
    })
}

fn lead_on(done: &str) -> HttpResponse {
    see_other(&with_query("/moderation", &[("done", done)]))
}

/// Decides on all reports of a listing that were shown.
pub(super) async fn decide(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let is_removed = fields.get("outcome") == "listing_removed";
    let suspends = is_removed && fields.find("suspend").is_some();
    if suspends && fields.get("note").is_empty() {
        let parameters = Fields(vec![("listing".to_owned(), fields.get("listing").to_owned())]);
        let message = "is needed to suspend a seller";
        return show(&console, &user, &parameters, Some((&fields, message)), StatusCode::BAD_REQUEST).await;
    }
    let caller = user.caller(&console.api);
    let sent = settle(&caller, &fields, is_removed).await;
    let sent = match sent {
        Ok(true) if suspends => suspend(&caller, &fields).await.map(|()| true),
        sent => sent,
    };
    match sent.map_err(|error| Failure::from(error).keeping("/moderation/decide", fields.clone()))? {
        // A colleague was quicker.
        false => {
            let listing = [("listing", fields.get("listing")), ("done", "decided")];
            Ok(see_other(&with_query("/moderation", &listing)))
        }
        true if suspends => Ok(lead_on("suspended")),
        true => Ok(lead_on(if is_removed { "removed" } else { "dismissed" })),
    }
}

/// Settles the reports of the form that are still open. Returns false if somebody else has decided on them.
async fn settle(caller: &Caller<'_>, fields: &Fields, is_removed: bool) -> Result<bool, CallError> {
    let path = format!("{}/reports", listing_path(fields.get("listing")));
    let reports = caller.get::<Vec<Report>>(Service::Livestock, &path, &[]).await?.value;
    let shown = fields.all("report");
    let open = reports.iter().filter(|report| report.status == "open" && shown.contains(&report.id.as_str()));
    // A removal settles all of them.
    let open: Vec<_> = open.take(if is_removed { 1 } else { shown.len() }).collect();
    if open.is_empty() {
        return Ok(false);
    }
    let mut body = json!({"outcome": if is_removed { "listing_removed" } else { "dismissed" }});
    if !fields.get("note").is_empty() {
        body["note"] = json!(fields.get("note"));
    }
    let calls = open.iter().map(async |report| {
        let path = format!("/v1/reports/{}/resolve", segment(&report.id));
        match caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), Write::default()).await {
            Ok(_) => Ok(true),
            Err(error) if error.refused_with(StatusCode::CONFLICT).is_some() => Ok(false),
            Err(error) => Err(error),
        }
    });
    Ok(try_join_all(calls).await?.into_iter().any(|is_settled| is_settled))
}

async fn suspend(caller: &Caller<'_>, fields: &Fields) -> Result<(), CallError> {
    let path = listing_path(fields.get("listing"));
    let seller = caller.get::<Listing>(Service::Livestock, &path, &[]).await?.value.organisation_id;
    let path = format!("/v1/organisations/{}/suspend", segment(&seller));
    let body = json!({"reason": fields.get("note")});
    caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), Write::default()).await?;
    Ok(())
}

/// Lets a suspended organisation sell again.
pub(super) async fn reinstate(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let path = format!("/v1/organisations/{}/reinstate", segment(fields.get("organisation")));
    let caller = user.caller(&console.api);
    let sent = caller.send_json(Service::Livestock, Method::POST, &path, None, Write::default()).await;
    sent.map_err(|error| Failure::from(error).keeping("/moderation/reinstate", fields))?;
    Ok(lead_on("reinstated"))
}
