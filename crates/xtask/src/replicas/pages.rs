//! Pages that begin at one replica go on at another; what one writes is counted by the others; what happens to a
//! listing happens in one order.

use std::collections::BTreeSet;
use std::thread::scope;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::client::{Answer, Body};
use crate::load::site::{listing, load};
use crate::service::Service;

const PAGED: &str = "org-paged";
const COUNTED: &str = "org-counted";
const SHOWN: &str = "org-shown";
/// The longest time until a replica sees the writes of another.
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// All three.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    paged(stage)?;
    counted(stage)?;
    ordered(stage)
}

fn id(answer: &Answer) -> Result<String> {
    Ok(answer.json["id"].as_str().with_context(|| format!("no id in {}", answer.json))?.to_owned())
}

fn paged(stage: &Stage<'_>) -> Result<()> {
    let (token, count) = (stage.token(Some(PAGED)), 45);
    let replicas: Vec<_> = stage.of("logistics").collect();
    let mut made = Vec::new();
    for number in 0..count {
        let body = load(PAGED, &format!("P-{number}"), &Value::Null);
        let answer = replicas[number % replicas.len()].send("POST", "/v1/loads/organiser", &token, &body)?;
        made.push((answer.json["createdAtUTC"].to_string(), id(&answer)?));
    }
    // Loads of one millisecond are in the order of their ids.
    made.sort();
    let made: Vec<_> = made.into_iter().map(|(_, id)| id).collect();
    let (mut found, mut pages, mut foreign) = (Vec::new(), 0, 0);
    let page = format!("/v1/loads?limit=7&sortBy=createdAt&f:organiserId={PAGED}");
    let mut next = page.clone();
    loop {
        let answer = replicas[pages % replicas.len()].get(&next, &token)?;
        pages += 1;
        let rows = answer.json.as_array().context("a page is no array")?;
        found.extend(rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)));
        foreign += usize::from(!answer.header("link").contains(&stage.url("logistics")));
        let Some(cursor) = answer.cursor() else { break };
        next = format!("{page}&cursor={cursor}");
    }
    let right = found == made && foreign == 0;
    let what = format!("{count} loads made at all, read in {pages} pages, each at another replica: seen");
    let different = found.iter().collect::<BTreeSet<_>>().len();
    let figure =
        format!("{different}, in order: {}; links that are not the proxy's: {foreign}", found == made);
    stage.trial.expect(right, what, figure, format!("{count}, in order, 0"))
}

fn counted(stage: &Stage<'_>) -> Result<()> {
    let token = stage.token(Some(COUNTED));
    let replicas: Vec<_> = stage.of("livestock").collect();
    let total = |replica: &Service| {
        let path = format!("/v1/listings?docs=false&f:organisationId={COUNTED}");
        replica.get(&path, &token)?.json["total"].as_u64().context("no total")
    };
    for replica in &replicas {
        total(replica)?;
    }
    let (mut slowest, mut late, count) = (Duration::ZERO, 0, if stage.trial.short { 20 } else { 200 });
    for number in 1..=count {
        let which = usize::try_from(number)? % replicas.len();
        let body = listing(&format!("C-{number}"), &Value::Null);
        replicas[which].send("POST", "/v1/listings/sheep", &token, &body)?;
        late += usize::from(total(replicas[which])? != number);
        for other in &replicas {
            let most = MAX_STALENESS + stage.trial.grace();
            slowest = slowest
                .max(stage.trial.wait_for("counted by another", most, || Ok(total(other)? == number))?);
        }
    }
    let figure =
        format!("{late} not at once where written; elsewhere after {} ms at most", slowest.as_millis());
    stage.trial.expect(late == 0, format!("{count} listings written, facets counted"), figure, "0; 5 s")
}

/// Two close a listing at the same time at two replicas, each otherwise.
fn ordered(stage: &Stage<'_>) -> Result<()> {
    let token = stage.token(Some(SHOWN));
    let replicas: Vec<_> = stage.of("livestock").collect();
    let (one, other) = (replicas[0], replicas[1]);
    let (count, mut wrong) = (if stage.trial.short { 10 } else { 100 }, 0);
    for _ in 0..count {
        let Body::Json(mut draft) = listing("E", &Value::Null) else {
            return Err(anyhow!("a listing is JSON"));
        };
        draft["isDraft"] = json!(true);
        let id = id(&one.send("POST", "/v1/listings/sheep", &token, &Body::Json(draft))?)?;
        other.send("POST", &format!("/v1/listings/{id}/publish"), &token, &Body::Empty)?;
        let path = format!("/v1/listings/{id}/close");
        let close = |at: &Service, status: &str| {
            stage.ask(at, "POST", &path, &token, &Body::Json(json!({ "status": status })))
        };
        let (sold, cancelled) = scope(|scope| {
            let sold = scope.spawn(|| close(one, "sold"));
            let cancelled = close(other, "cancelled");
            (sold.join().map_err(|_| anyhow!("a client panicked")), cancelled)
        });
        let (sold, cancelled) = (sold??, cancelled?);
        let winner = match (sold.status, cancelled.status) {
            (200, 409) => "sold",
            (409, 200) => "cancelled",
            others => return Err(anyhow!("two who close a listing were answered {others:?}")),
        };
        let events = |at: &Service| {
            let path = format!("/v1/listings/{id}/events");
            at.get(&path, &stage.token(None)).map(|answer| answer.json)
        };
        let (here, there) = (events(one)?, events(other)?);
        let to: Vec<_> =
            here.as_array().into_iter().flatten().filter_map(|event| event["to"].as_str()).collect();
        ensure!(!to.is_empty(), "a listing has no events: {here}");
        if here != there || to != ["draft", "active", winner] {
            wrong += 1;
            eprintln!("    {winner} won: {here} and {there}");
        }
    }
    let what = format!(
        "{count} listings drafted, published and closed, twice at once: events not the same, in order"
    );
    stage.trial.expect(wrong == 0, what, wrong.to_string(), "0")
}
