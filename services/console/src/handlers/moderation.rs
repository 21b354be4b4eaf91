//! The queue of reports, for administrators of the marketplace.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use reqwest::Method;
use serde_json::json;

use super::extract::{Parameters, PostForm};
use super::files::find_pictures;
use super::listing::listing_path;
use super::{errors_of, html_with, optional, see_other};
use crate::Console;
use crate::api::market::{Listing, Report, Suspended};
use crate::api::model::Event;
use crate::api::{CallError, Caller, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::market::{neighbours, queue, removed};
use crate::user::{Failure, User};
use crate::views::loads::counted;
use crate::views::moderation::{Case, ModerationView};
use crate::views::{Section, page as document};

/// Open reports that are read at once. Those after them come up when these are decided.
const MAX_REPORTS: &str = "100";
/// The most characters of a note, and of the reason of a suspension.
const MAX_NOTE_CHARS: usize = 10_000;
const MAX_REASON_CHARS: usize = 1_000;
/// Further listings of a seller that are shown.
const MAX_OTHERS: &str = "20";
/// The newest reports of a seller that are settled, among which the page finds those of other listings.
const MAX_EARLIER: &str = "50";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &parameters, None, StatusCode::OK).await
}

/// Shows the queue. `refused`: a decision that is shown again with what is wrong.
async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    refused: Option<(&Fields, &FieldError)>,
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
    let (listings, decided, case) =
        futures_util::join!(find_by_ids(&caller, &ids), find_by_ids(&caller, parameters.get("of")), async {
            match chosen {
                Some(id) => find_case(&caller, id, &mut missing).await.map(Some),
                None => Ok(None),
            }
        },);
    let case = case?;
    let decided = decided.first();
    let done = done(parameters.get("done"), parameters.get("left"), decided);
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
        done: done.as_deref(),
        decided,
        refused,
    };
    Ok(html_with(status, &document(user, Section::Moderation, "Moderation", &view.markup())))
}

/// Reads listings by their ids, separated by commas.
async fn find_by_ids(caller: &Caller<'_>, ids: &str) -> Vec<Listing> {
    if ids.is_empty() {
        return Vec::new();
    }
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
    let removed = removed(&listing, &events, &reports);
    let files: Vec<_> = listing.files.iter().chain(&removed).map(|file| file.id.as_str()).collect();
    let own = [("f:organisationId", listing.organisation_id.as_str()), ("limit", MAX_OTHERS)];
    let settled = [own[0], ("f:status", "resolved"), ("sortDesc", "true"), ("limit", MAX_EARLIER)];
    let (pictures, others, earlier) = futures_util::join!(
        find_pictures(caller, &files, missing),
        caller.get::<Vec<Listing>>(Service::Livestock, "/v1/listings", &own),
        caller.get::<Vec<Report>>(Service::Livestock, "/v1/reports", &settled),
    );
    let mut others = others.map(|reply| reply.value).unwrap_or_default();
    others.retain(|other| other.id != listing.id);
    let mut earlier = earlier.map(|reply| reply.value).unwrap_or_default();
    earlier.retain(|report| report.listing_id != listing.id);
    Ok(Case { pictures: pictures?, removed, events, reports, others, earlier, listing })
}

/// Returns what was done, if anything was. `decided` is the listing that it was done to.
fn done(name: &str, left: &str, decided: Option<&Listing>) -> Option<String> {
    let left = left.parse::<u64>().unwrap_or_default();
    let stay = format!("Not all is done: {} of it stayed open. Decide again.", counted(left, "report"));
    let was_closed = decided.is_some_and(|listing| listing.status != "cancelled");
    let sentence = match name {
        "dismissed" => "Left on the market. All reports of it are settled.",
        "removed" if was_closed => {
            "It was closed before, and stays visible as it is. All reports of it are settled."
        }
        "removed" => "Removed from the market. All reports of it are settled.",
        "suspended" => {
            "All reports of it are settled, and the seller is suspended: nothing of it is for sale."
        }
        "suspended-only" => {
            "The seller is suspended. Somebody else has decided on the reports meanwhile, as you see here."
        }
        "suspended-some" => return Some(format!("The seller is suspended. {stay}")),
        "some" => return Some(stay),
        "decided" => "Somebody else has decided on it meanwhile, as you see here. Nothing was changed.",
        "reinstated" => "The organisation may sell again.",
        _ => return None,
    };
    Some(sentence.to_owned())
}

/// What became of a decision.
#[derive(Default)]
struct Decided {
    /// Whether the seller is suspended now because of it.
    is_suspended: bool,
    /// Reports that it settled.
    settled: usize,
    /// Reports that stay open, and why.
    left: Option<(usize, CallError)>,
}

/// Decides on all reports of a listing that were shown.
pub(super) async fn decide(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let is_removed = fields.get("outcome") == "listing_removed";
    let suspends = is_removed && fields.find("suspend").is_some();
    if let Some(error) = note_error(fields.get("note"), is_removed, suspends) {
        return show_again(&console, &user, &fields, &error, StatusCode::BAD_REQUEST).await;
    }
    let caller = user.caller(&console.api);
    let decided = match carry_out(&caller, &fields, is_removed, suspends).await {
        Ok(decided) => decided,
        Err(CallError::Refused(refusal)) if ![403, 404].contains(&refusal.status) => {
            let error = errors_of(&refusal).into_iter().next().unwrap_or_default();
            // The note is the reason of a suspension.
            let is_note = ["note", "reason"].contains(&error.path.as_str());
            let error = if is_note { note_is(error.message) } else { error };
            return show_again(&console, &user, &fields, &error, refusal.status_code()).await;
        }
        Err(error) => return Err(Failure::from(error).keeping("/moderation/decide", fields)),
    };
    let left = match decided.left {
        // Sent again after the log-in, the form settles the rest.
        Some((_, CallError::LoggedOut)) => {
            return Err(Failure::from(CallError::LoggedOut).keeping("/moderation/decide", fields));
        }
        Some((left, _)) => left.to_string(),
        None => String::new(),
    };
    let listing = ("listing", fields.get("listing"));
    let lead = |done: &str, more: &[(&str, &str)]| {
        Ok(see_other(&with_query("/moderation", &[more, &[("done", done)][..]].concat())))
    };
    match (decided.settled, decided.is_suspended) {
        (_, true) if !left.is_empty() => lead("suspended-some", &[listing, ("left", &left)]),
        (_, false) if !left.is_empty() => lead("some", &[listing, ("left", &left)]),
        // A colleague was quicker.
        (0, true) => lead("suspended-only", &[listing]),
        (0, false) => lead("decided", &[listing]),
        (_, true) => lead("suspended", &[("of", listing.1)]),
        (_, false) => lead(if is_removed { "removed" } else { "dismissed" }, &[("of", listing.1)]),
    }
}

fn note_is(message: String) -> FieldError {
    FieldError { path: "note".to_owned(), message }
}

/// Returns what is wrong with a note, before anything is done.
fn note_error(note: &str, is_removed: bool, suspends: bool) -> Option<FieldError> {
    let most = if suspends { MAX_REASON_CHARS } else { MAX_NOTE_CHARS };
    let message = if is_removed && note.is_empty() {
        "is needed to remove a listing".to_owned()
    } else if note.chars().count() > most {
        format!("has more than {most} characters")
    } else {
        return None;
    };
    Some(note_is(message))
}

async fn show_again(
    console: &Console,
    user: &User,
    fields: &Fields,
    error: &FieldError,
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let parameters = Fields(vec![("listing".to_owned(), fields.get("listing").to_owned())]);
    show(console, user, &parameters, Some((fields, error)), status).await
}

/// Suspends the seller if that is asked for, then settles the reports of the form that are still open. Suspending comes
/// first: done again, it changes nothing, whereas settled reports cannot be decided again.
async fn carry_out(
    caller: &Caller<'_>,
    fields: &Fields,
    is_removed: bool,
    suspends: bool,
) -> Result<Decided, CallError> {
    let path = format!("{}/reports", listing_path(fields.get("listing")));
    let reports = caller.get::<Vec<Report>>(Service::Livestock, &path, &[]).await?.value;
    let shown = fields.all("report");
    let open = reports.iter().filter(|report| report.status == "open" && shown.contains(&report.id.as_str()));
    let open: Vec<_> = open.collect();
    let mut decided = Decided::default();
    if open.is_empty() {
        return Ok(decided);
    }
    if suspends {
        suspend(caller, fields).await?;
        decided.is_suspended = true;
    }
    let mut body = json!({"outcome": if is_removed { "listing_removed" } else { "dismissed" }});
    if !fields.get("note").is_empty() {
        body["note"] = json!(fields.get("note"));
    }
    for (index, report) in open.iter().enumerate() {
        let path = format!("/v1/reports/{}/resolve", segment(&report.id));
        match caller.send_json(Service::Livestock, Method::POST, &path, Some(&body), Write::default()).await {
            Ok(_) => decided.settled += 1,
            // Somebody else has decided on this one meanwhile.
            Err(error) if error.refused_with(StatusCode::CONFLICT).is_some() => continue,
            Err(error) if decided.settled == 0 && !decided.is_suspended => return Err(error),
            Err(error) => {
                decided.left = Some((open.len() - index, error));
                break;
            }
        }
        // A removal settles all of them.
        if is_removed {
            break;
        }
    }
    Ok(decided)
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
    match caller.send_json(Service::Livestock, Method::POST, &path, None, Write::default()).await {
        Ok(_) => Ok(see_other("/moderation?done=reinstated")),
        Err(CallError::Refused(refusal)) if refusal.status != 403 => {
            let error = errors_of(&refusal).into_iter().next().unwrap_or_default();
            let none = Fields::default();
            show(&console, &user, &none, Some((&none, &error)), refusal.status_code()).await
        }
        Err(error) => Err(Failure::from(error).keeping("/moderation/reinstate", fields)),
    }
}
