//! Repeats writes under their idempotency keys: a stored write must be replayed, and another one must be executed.

use anyhow::Result;
use serde_json::Value;

use super::client::{Client, Request};
use crate::ledger::{Ledger, WriteState};

/// Whether an acknowledged write with this marker is repeated: one in ten is.
pub fn is_repeated(marker: &str) -> bool {
    marker.ends_with('7')
}

/// Repeats a request that has a key, if the outcome of the write is unknown or `is_repeated`. Returns the response.
///
/// `stored` is the id under which the write is stored, empty if the response has no id.
pub fn repeat(
    client: &Client<'_>,
    request: &Request<'_>,
    state: &WriteState,
    stored: Option<&str>,
    is_repeated: bool,
    ledger: &mut Ledger,
) -> Result<Option<Value>> {
    let is_due = *state == WriteState::Unknown || (is_repeated && state.id().is_some());
    if request.key.is_none() || !is_due {
        return Ok(None);
    }
    let response = client.send_until_answered(request)?;
    let (status, json) = (response.status, &response.json);
    let write = format!("{} {} with key {:?}", request.method, request.path, request.key);
    ledger.check_content(status == 200, || format!("{write} returned {status}: {json}"));
    match (stored, response.header("idempotency-replayed") == "true") {
        (Some(_), false) => ledger.duplicated(&format!("{write} was executed again")),
        (None, true) => ledger.lost(&format!("{write} was replayed but is not stored")),
        _ => {}
    }
    if let Some(id) = stored.filter(|id| !id.is_empty() && json["id"] != **id) {
        ledger.duplicated(&format!("{write} is stored as {id} but returned {}", json["id"]));
    }
    Ok(Some(response.json))
}

/// Repeats a write like [`repeat`] and replaces an unknown outcome: it is acknowledged under the id of the response or
/// of the stored object, or refused if there is neither.
pub fn settle(
    client: &Client<'_>,
    request: &Request<'_>,
    state: &WriteState,
    stored: Option<&str>,
    is_repeated: bool,
    ledger: &mut Ledger,
) -> Result<(WriteState, Option<Value>)> {
    let response = repeat(client, request, state, stored, is_repeated, ledger)?;
    let settled = if *state == WriteState::Unknown {
        let id = response.as_ref().and_then(|response| response["id"].as_str()).or(stored);
        id.map_or(WriteState::Refused, |id| WriteState::Acknowledged(id.to_owned()))
    } else {
        state.clone()
    };
    Ok((settled, response))
}
