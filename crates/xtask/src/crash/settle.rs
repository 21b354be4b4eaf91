//! A client in doubt sends again, under the same key: that has one effect, done now or replayed.

use anyhow::Result;
use serde_json::Value;

use super::findings::Findings;
use super::line::{Attempt, Line, Request, State};

/// What was found of a write before it is sent again.
#[derive(Debug)]
pub struct Known {
    pub there: bool,
    id: Option<String>,
}

impl Known {
    /// It is there, or not, under an id that nobody needs.
    pub fn of(there: bool) -> Self {
        Self { there, id: None }
    }

    /// It is there under this id, or not.
    pub fn by(id: Option<String>) -> Self {
        Self { there: id.is_some(), id }
    }

    /// Ends the doubt about a write: it is what a repeat was answered with, or else what was found.
    pub fn put(self, attempt: &mut Attempt, answer: Option<&Value>) {
        if attempt.state != State::Doubt {
            return;
        }
        let told = answer.and_then(|answer| answer["id"].as_str()).map(str::to_owned);
        attempt.state = told.or(self.id).map_or(State::Not, State::Done);
    }
}

/// Sends again what has a key: what is in doubt, and of what is acknowledged that which is to be repeated. Gives the
/// answer.
pub fn settle(
    line: &mut Line<'_>,
    request: &Request<'_>,
    state: &State,
    known: &Known,
    repeated: bool,
    found: &mut Findings,
) -> Result<Option<Value>> {
    let due = *state == State::Doubt || (repeated && state.id().is_some());
    if request.key.is_none() || !due {
        return Ok(None);
    }
    let answer = line.insist(request)?;
    let what = || format!("{} {} under {:?}", request.method, request.path, request.key);
    found.whole(answer.status == 200, || format!("{} answered {}: {}", what(), answer.status, answer.json));
    let replayed = answer.header("idempotency-replayed") == "true";
    match (known.there, replayed) {
        (true, false) => found.doubled(&format!("{} was done again", what())),
        (false, true) => found.lost(&format!("{} was replayed, but is not there", what())),
        _ => {}
    }
    if let Some(id) = known.id.as_deref().filter(|id| answer.json["id"].as_str() != Some(id)) {
        found.doubled(&format!("{} is there as {id} and answered with {}", what(), answer.json["id"]));
    }
    Ok(Some(answer.json))
}
