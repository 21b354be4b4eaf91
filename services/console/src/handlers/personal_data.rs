//! What the services hold about a person, for administrators: counted, exported and erased.

use std::io;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use futures_util::future::{join_all, try_join_all};
use futures_util::stream::{self, Stream};
use futures_util::{StreamExt, TryStreamExt};

use super::extract::{Parameters, PostForm};
use super::{html_with, log_away, only};
use crate::Console;
use crate::api::{CallError, Caller, FieldError, Service, segment};
use crate::counting::RecordCounter;
use crate::fields::Fields;
use crate::user::{Failure, User};
use crate::views::messages::sentence;
use crate::views::personal_data::{Erased, PersonalDataView, Records};
use crate::views::{Section, page as document};

/// How long records are counted. An export has no such limit.
const COUNT_TIMEOUT: Duration = Duration::from_secs(20);
/// Ids are shorter. The rest of a longer one is left out.
const MAX_ID_CHARS: usize = 200;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    only(user.person.is_admin)?;
    let id = person_of(&parameters);
    let caller = user.caller(&console.api);
    let records = if id.is_empty() { Vec::new() } else { find_records(&caller, &id).await? };
    Ok(show(&user, &id, &records, &[], &[], StatusCode::OK))
}

fn person_of(fields: &Fields) -> String {
    fields.get("user").chars().take(MAX_ID_CHARS).collect()
}

fn show(
    user: &User,
    id: &str,
    records: &[Records],
    erased: &[Erased],
    errors: &[FieldError],
    status: StatusCode,
) -> HttpResponse {
    let view = PersonalDataView { user, id, records, erased, errors };
    html_with(status, &document(user, Section::PersonalData, "Personal data", &view.markup()))
}

fn data_path(id: &str) -> String {
    format!("/v1/users/{}/data", segment(id))
}

/// Counts what each service holds, side by side and without holding it.
async fn find_records(caller: &Caller<'_>, id: &str) -> Result<Vec<Records>, Failure> {
    let path = data_path(id);
    let counted = Service::ALL.map(async |service| {
        let count = async {
            let mut parts = std::pin::pin!(caller.open(service, &path, &[], &[]).await?.bytes_stream());
            let mut counter = RecordCounter::default();
            while let Some(part) = parts.next().await {
                let part =
                    part.map_err(|error| CallError::Away { service, cause: error.without_url().into() })?;
                counter.add(&part);
            }
            Ok::<_, CallError>(counter.kinds())
        };
        let counted = tokio::time::timeout(COUNT_TIMEOUT, count).await;
        (
            service,
            counted.unwrap_or_else(|_| {
                Err(CallError::Away { service, cause: anyhow::anyhow!("it takes long") })
            }),
        )
    });
    let mut records = Vec::new();
    for (service, counted) in join_all(counted).await {
        let kinds = match counted {
            Ok(kinds) => Some(kinds),
            Err(CallError::Away { service, cause }) => {
                log_away(service, &cause);
                None
            }
            Err(error) => return Err(error.into()),
        };
        records.push(Records { service, kinds });
    }
    Ok(records)
}

/// Sends what all services hold as one file. It is not begun unless all of them answer.
pub(super) async fn export(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    let id = person_of(&parameters);
    if id.is_empty() {
        return Err(Failure::NotFound);
    }
    let caller = user.caller(&console.api);
    let path = data_path(&id);
    let opened = Service::ALL.map(async |service| {
        let reply = caller.open(service, &path, &[], &[]).await?;
        Ok::<_, CallError>((service, reply))
    });
    let mut parts: Vec<std::pin::Pin<Box<dyn Stream<Item = io::Result<Bytes>>>>> = Vec::new();
    for (index, (service, reply)) in try_join_all(opened).await?.into_iter().enumerate() {
        let before = if index == 0 { "{" } else { "," };
        let name = format!("{before}\"{}\":", service.name());
        parts.push(Box::pin(stream::once(async move { Ok(Bytes::from(name)) })));
        parts.push(Box::pin(reply.bytes_stream().map_err(|error| io::Error::other(error.without_url()))));
    }
    parts.push(Box::pin(stream::once(async { Ok(Bytes::from_static(b"}\n")) })));
    let mut response = HttpResponse::Ok();
    response.content_type("application/json");
    // An id may have characters that a header or a file system has not.
    let name: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let name = format!("attachment; filename=\"personal-data-{name}.json\"");
    response.insert_header(("content-disposition", name));
    Ok(response.streaming(stream::iter(parts).flatten()))
}

/// Erases a person in all services, if the id was typed twice.
pub(super) async fn erase(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let id = person_of(&fields);
    let caller = user.caller(&console.api);
    if id.is_empty() || fields.get("confirmation") != id {
        let message = "Type the user id exactly as it stands above.".to_owned();
        let errors = [FieldError { path: "confirmation".to_owned(), message }];
        return Ok(show(&user, &id, &[], &[], &errors, StatusCode::BAD_REQUEST));
    }
    let path = format!("/v1/users/{}/erase", segment(&id));
    let erased = Service::ALL.map(async |service| {
        let outcome = match caller.send_slow(service, &path).await {
            Ok(answer) => Ok(answer["count"].as_u64().unwrap_or_default()),
            Err(CallError::LoggedOut) => return Err(CallError::LoggedOut),
            Err(CallError::Refused(refusal)) => Err(sentence(&refusal)),
            Err(CallError::Away { service, cause }) => {
                log_away(service, &cause);
                Err("It does not answer at the moment.".to_owned())
            }
        };
        Ok(Erased { service, outcome })
    });
    let erased = try_join_all(erased).await;
    let erased = erased.map_err(|error| Failure::from(error).keeping("/personal-data/erase", fields))?;
    Ok(show(&user, &id, &[], &erased, &[], StatusCode::OK))
}
