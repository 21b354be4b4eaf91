//! Documents by the ids in a query.

use std::collections::HashMap;

use database::{Id, Json};
use serde::Deserialize;
use serde_json::json;

use crate::response::json::JsonResponse;
use crate::response::validation::{Code, ValidationErrors};

/// The most ids of a request.
const MAX_IDS: usize = 100;

/// The parameter `ids`: comma-separated, at most 100. The operation describes it with an example.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct IdsParams {
    ids: String,
}

impl IdsParams {
    /// Returns the ids, each once. Ignores texts that are not UUIDs.
    pub fn parse(&self, errors: &mut ValidationErrors) -> Vec<Id> {
        if self.ids.split(',').count() > MAX_IDS {
            let message = format!("must name at most {MAX_IDS}");
            errors.push_with("ids", Code::Length, message, json!({ "maximum": MAX_IDS }));
        }
        let mut ids = Vec::new();
        for id in self.ids.split(',').filter_map(|id| Id::parse(id.trim())) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

/// Makes the response of the found documents in the order of the ids. The other ids are listed in `X-Missing-Ids`.
pub fn documents_by_ids(ids: &[Id], found: Vec<(Id, Json)>) -> JsonResponse {
    let found: HashMap<_, _> = found.into_iter().collect();
    let response = JsonResponse::array(ids.iter().filter_map(|id| Some(found.get(id)?.0.as_str())));
    let missing: Vec<_> = ids.iter().filter(|id| !found.contains_key(id)).map(Id::to_string).collect();
    if missing.is_empty() { response } else { response.header("X-Missing-Ids", missing.join(",")) }
}
