//! `GET /v1/loads/by-ids`.

use std::collections::HashMap;

use actix_web::get;
use actix_web::web::Data;
use common::validation::{Code, ValidationErrors};
use common::{Caller, Error, ErrorResponses, JsonResponse, Query};
use database::Id;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use crate::Logistics;
use crate::examples;
use crate::loads::model::Load;
use crate::loads::store;

const MAX_IDS: usize = 100;

/// Query parameters of `GET /v1/loads/by-ids`.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct IdsParameter {
    /// Comma-separated, at most 100.
    #[param(required = true, min_length = 1, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", example = json!([examples::LOAD, examples::COMPLETED_LOAD].join(",")))]
    ids: String,
}

impl IdsParameter {
    /// Returns the ids, each once. Ignores texts that are not UUIDs.
    fn parse(&self, errors: &mut ValidationErrors) -> Vec<Id> {
        if self.ids.split(',').count() > MAX_IDS {
            let message = format!("must name at most {MAX_IDS} loads");
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

/// Get loads by ids
///
/// In the order of the request, each once. Ids that are unknown or not the caller's are listed in `X-Missing-Ids`.
#[utoipa::path(operation_id = "list_loads_by_ids", tag = "loads", security(("bearer" = [])), params(IdsParameter),
    responses((status = 200, body = [Load]), ErrorResponses))]
#[get("/loads/by-ids")]
pub(super) async fn list_by_ids(
    caller: Caller,
    query: Query<IdsParameter>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let ids = query.check(IdsParameter::parse)?;
    let requested = ids.clone();
    let documents = app.db.read(move |c| store::list_by_ids(c, &caller, &requested)).await?;
    let documents: HashMap<_, _> = documents.into_iter().collect();
    let response = JsonResponse::array(ids.iter().filter_map(|id| Some(documents.get(id)?.0.as_str())));
    let missing: Vec<_> = ids.iter().filter(|id| !documents.contains_key(id)).map(Id::to_string).collect();
    Ok(if missing.is_empty() { response } else { response.header("X-Missing-Ids", missing.join(",")) })
}
