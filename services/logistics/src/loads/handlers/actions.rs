//! `POST /v1/loads/actions`.

use std::collections::HashSet;

use actix_web::post;
use actix_web::web::Data;
use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, Name, Reason, Warning};
use common::{Body, Caller, Error, ErrorResponses, Idempotency, ItemError, JsonResponse, Precondition};
use database::Id;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::send::{prepare, store_sending};
use crate::loads::cancel;
use crate::loads::send::Recipient;
use crate::loads::store;
use crate::{Logistics, examples};

/// What to do with each load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LoadAction)]
enum Action {
    #[default]
    Cancel,
    Accept,
    SendToCarrier,
    SendToDriver,
}

/// An action on many loads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "action": "cancel", "ids": [examples::LOAD_TO_CANCEL], "reason": "Entered twice" }))]
struct LoadActions {
    #[schema(required = true)]
    action: Action,
    /// The ids of the loads, each once.
    #[schema(required = true, min_items = 1, max_items = 200)]
    ids: Vec<ExternalId>,
    /// Of `cancel`: stands in the history of the loads.
    reason: Option<Reason>,
    /// Required with `sendToCarrier`.
    carrier_id: Option<ExternalId>,
    /// The name of the carrier, by default the id.
    carrier_name: Option<Name>,
    /// Required with `sendToDriver`.
    driver_id: Option<ExternalId>,
}

impl LoadActions {
    /// Validates the rules that the schema cannot state.
    fn validate(&self, errors: &mut ValidationErrors) {
        let mut known = HashSet::new();
        for (i, id) in self.ids.iter().enumerate() {
            if !known.insert(Id::parse(id).map_or_else(|| id.0.clone(), |id| id.to_string())) {
                errors.push(format!("ids[{i}]"), Code::Inconsistent, "is named twice");
            }
        }
        if self.action == Action::SendToCarrier && self.carrier_id.is_none() {
            errors.push("carrierId", Code::Required, "is required to send loads to a carrier");
        }
        if self.action == Action::SendToDriver && self.driver_id.is_none() {
            errors.push("driverId", Code::Required, "is required to send loads to a driver");
        }
    }

    /// Returns the recipient, if the loads are sent, and the warning for one that has never used the service.
    ///
    /// # Errors
    /// Those of the database.
    async fn recipient(
        &self,
        app: &Logistics,
        caller: &Caller,
    ) -> Result<(Option<Recipient>, Option<Warning>), Error> {
        Ok(match (self.action, &self.driver_id, &self.carrier_id) {
            (Action::SendToDriver, Some(id), _) => {
                (Some(Recipient::Driver(id.0.clone())), app.address_book.warning_of_driver(id).await?)
            }
            (Action::SendToCarrier, _, Some(id)) => {
                let names =
                    app.address_book.names(caller, vec![id.0.clone()], self.carrier_name.is_none()).await?;
                let name = names.name(id, self.carrier_name.as_deref()).unwrap_or(id).to_owned();
                (Some(Recipient::Carrier { id: id.0.clone(), name }), names.warning("carrierId", id))
            }
            _ => (None, None),
        })
    }
}

/// What became of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// The load has changed, or was sent.
    Done,
    /// There was nothing to do.
    Unchanged,
    /// `error` says why.
    Failed,
}

/// What became of each load.
#[derive(Debug, Serialize, ToSchema)]
struct LoadActionResults {
    /// The number of loads that have changed, or were sent.
    done: usize,
    /// The number of loads with nothing to do.
    unchanged: usize,
    /// The number of loads that failed.
    failed: usize,
    /// In the order of the request.
    results: Vec<LoadActionResult>,
    /// What looks wrong about the recipient.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    warnings: Vec<Warning>,
}

/// What became of a load.
#[derive(Debug, Serialize, ToSchema)]
struct LoadActionResult {
    /// The id of the load, as in the request.
    id: String,
    status: Outcome,
    /// Why the load failed, as the operation on one load says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ItemError>,
}

/// Cancel, accept or send many loads
///
/// Does the same as the operation on one load, for each in a transaction of its own: some can fail while others
/// succeed.
#[utoipa::path(operation_id = "change_loads", tag = "loads", security(("bearer" = [])),
    request_body = LoadActions, extensions(("x-roles" = json!([]))),
    responses((status = 200, body = LoadActionResults), ErrorResponses))]
#[post("/loads/actions")]
pub(super) async fn act(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<LoadActions>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|form: &LoadActions, errors| form.validate(errors))?;
    let (recipient, warning) = form.recipient(&app, &caller).await?;
    let response = idempotency.run_external(&app.db, fingerprint, async || {
        let warnings = warning.iter().cloned().collect();
        let mut all = LoadActionResults { done: 0, unchanged: 0, failed: 0, results: Vec::new(), warnings };
        for id in &form.ids {
            let done = act_on(&app, &caller, &form, recipient.as_ref(), id).await;
            let (status, error) = match done {
                Ok(true) => (Outcome::Done, None),
                Ok(false) => (Outcome::Unchanged, None),
                Err(error) => match error.into_item_error() {
                    Ok(error) => (Outcome::Failed, Some(error)),
                    // Nothing has changed: the whole request may be sent again.
                    Err(error) if all.done == 0 => return Err(error),
                    Err(error) => {
                        tracing::warn!(
                            error = format!("{error:?}"),
                            "an action failed after others succeeded"
                        );
                        (Outcome::Failed, Some(error.item_error()))
                    }
                },
            };
            *match status {
                Outcome::Done => &mut all.done,
                Outcome::Unchanged => &mut all.unchanged,
                Outcome::Failed => &mut all.failed,
            } += 1;
            all.results.push(LoadActionResult { id: id.0.clone(), status, error });
        }
        JsonResponse::json(&all)
    });
    let response = response.await;
    app.notifications.wake();
    app.webhooks.wake();
    response
}

/// Returns true if the load has changed or was sent.
async fn act_on(
    app: &Logistics,
    caller: &Caller,
    form: &LoadActions,
    recipient: Option<&Recipient>,
    id: &str,
) -> Result<bool, Error> {
    let (id, caller) = (Id::parse(id).ok_or(Error::NotFound)?, caller.clone());
    if let Some(recipient) = recipient.cloned() {
        let files = prepare(app, &caller, id, &recipient).await?;
        let send = move |c: &mut _| store_sending(c, &caller, id, &recipient, &files);
        let sending = app.db.write(send).await?;
        app.shares.share(sending.share).await;
        return Ok(sending.is_new);
    }
    if form.action == Action::Accept {
        return app.db.write(move |c| store::accept(c, &caller, id, &Precondition::default())).await;
    }
    let reason = form.reason.as_ref().map(|reason| reason.0.clone());
    let cancel = move |c: &mut _| cancel::cancel(c, &caller, id, reason.as_deref(), &Precondition::default());
    Ok(app.db.write(cancel).await?.1)
}
