//! `POST /v1/loads/{id}/collection` and `POST /v1/loads/{id}/rejection`.

use actix_web::post;
use actix_web::web::Data;
use common::system::{self, FoundFiles};
use common::validation::ValidationErrors;
use common::wire::{FileReference, Warning};
use common::{
    Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId, Precondition, Reason,
};
use database::{AnyConnection, Timestamp};

use super::prove::{CHANGED_MEANWHILE, refuse, respond};
use crate::loads::captured::validate_captured_at;
use crate::loads::collection::{Collection, CollectionForm};
use crate::loads::history::{EventType, NewEvent};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::rejection::{Rejection, RejectionForm};
use crate::loads::status::{Action, Status};
use crate::loads::store::{self, Update};
use crate::notifications::{self, Event, NewNotification, Recipients};
use crate::{Logistics, examples};

/// Record a collection
///
/// Records what was loaded. The load is `collected` then. Other values replace those of an earlier collection, which
/// stay in the history. The organiser, the carrier and the drivers of the load can do this.
#[utoipa::path(operation_id = "collect_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_COLLECT)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = CollectionForm, extensions(("x-roles" = json!(["weighbridge"]))),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/collection")]
pub(super) async fn collect(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<CollectionForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &CollectionForm, errors: &mut ValidationErrors| form.validate(errors);
    let (form, fingerprint) =
        body.check_with_files(rules, &app.files, &caller, CollectionForm::files).await?;
    record::<Collection>(&app, &caller, (path, condition), (idempotency, fingerprint), form).await
}

/// Reject a load
///
/// Records why the recipient refused the load. The load is `rejected` then, and its drivers are notified. The
/// organiser, the carrier and the drivers of the load can do this.
#[utoipa::path(operation_id = "reject_load", tag = "loads", security(("bearer" = [])),
    params(("id" = String, Path, description = "The load's id", example = json!(examples::LOAD_TO_REJECT)),
        ("If-Match" = Option<String>, Header, description = "The revision that the client knows, as in `ETag`")),
    request_body = RejectionForm, extensions(("x-roles" = json!(["weighbridge"]))),
    responses((status = 200, body = Load, headers(("ETag" = String, description = "The revision in quotes"))),
        (status = 412, description = "If-Match names another revision; `body.revision` is the current one."),
        ErrorResponses))]
#[post("/loads/{id}/rejection")]
pub(super) async fn reject(
    caller: Caller,
    path: PathId,
    idempotency: Idempotency,
    condition: Precondition,
    body: Body<RejectionForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &RejectionForm, errors: &mut ValidationErrors| form.validate(errors);
    let (form, fingerprint) = body.check_with_files(rules, &app.files, &caller, RejectionForm::files).await?;
    record::<Rejection>(&app, &caller, (path, condition), (idempotency, fingerprint), form).await
}

/// What somebody records about a load with files of its own.
trait Record: Sized + Clone + Send + 'static {
    /// The body of the request.
    type Form: Send + 'static;
    const EVENT: EventType;

    fn of(form: &Self::Form, files: Vec<FileReference>, now: Timestamp) -> Result<Self, Error>;
    fn files(form: &Self::Form) -> &[FileReference];
    fn captured_at(form: &Self::Form) -> Option<Timestamp>;
    /// Returns true if the load has the same record already.
    fn is_recorded(&self, load: &Load) -> bool;
    /// Checks that the load allows the record, and returns what looks wrong about it.
    fn check(&self, load: &Load, app: &Logistics) -> Result<Vec<Warning>, Error>;
    fn apply(self, load: &mut Load);
    /// Stores the notification of the drivers, if they get one.
    fn notify(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error>;
}

impl Record for Collection {
    type Form = CollectionForm;
    const EVENT: EventType = EventType::Collected;

    fn of(form: &CollectionForm, files: Vec<FileReference>, now: Timestamp) -> Result<Self, Error> {
        form.collection(files, form.captured_at().unwrap_or(now))
    }

    fn files(form: &CollectionForm) -> &[FileReference] {
        form.files()
    }

    fn captured_at(form: &CollectionForm) -> Option<Timestamp> {
        form.captured_at()
    }

    fn is_recorded(&self, load: &Load) -> bool {
        let is_present = load.collection.as_ref().is_some_and(|present| present.is_same(self));
        is_present && load.status == Status::Collected
    }

    fn check(&self, load: &Load, app: &Logistics) -> Result<Vec<Warning>, Error> {
        let (weight, dropoff) = (load.weight.as_ref(), load.dropoff_postcode.as_deref());
        let warnings = Collection::check(self, weight, dropoff, app.weight_tolerance)?;
        Action::Collect.check(load.status)?;
        Ok(warnings)
    }

    fn apply(self, load: &mut Load) {
        load.status = Status::Collected;
        load.collection = Some(Box::new(self));
    }

    fn notify(_: &mut AnyConnection, _: &Load, _: &Caller) -> Result<(), Error> {
        Ok(())
    }
}

impl Record for Rejection {
    type Form = RejectionForm;
    const EVENT: EventType = EventType::Rejected;

    fn of(form: &RejectionForm, files: Vec<FileReference>, now: Timestamp) -> Result<Self, Error> {
        Ok(form.rejection(files, form.captured_at().unwrap_or(now)))
    }

    fn files(form: &RejectionForm) -> &[FileReference] {
        form.files()
    }

    fn captured_at(form: &RejectionForm) -> Option<Timestamp> {
        form.captured_at()
    }

    fn is_recorded(&self, load: &Load) -> bool {
        load.rejection.as_ref().is_some_and(|present| present.is_same(self))
    }

    fn check(&self, load: &Load, _: &Logistics) -> Result<Vec<Warning>, Error> {
        if load.rejection.is_some() {
            return Err(Error::conflict(
                Reason::RejectionDiffers,
                "This load was already rejected with other values.",
            ));
        }
        Action::Reject.check(load.status)?;
        Ok(Vec::new())
    }

    fn apply(self, load: &mut Load) {
        load.status = Status::Rejected;
        load.rejection = Some(Box::new(self));
    }

    fn notify(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
        let drivers = store::driver_ids(c, load.id)?;
        let notification = NewNotification {
            sender_id: caller.organisation_id_or_empty(),
            event: Event::Rejected,
            load_id: load.id,
            load,
            recipients: Recipients::Drivers(&drivers),
        };
        notifications::create(c, &notification).map(drop)
    }
}

async fn record<R: Record>(
    app: &Data<Logistics>,
    caller: &Caller,
    (path, condition): (PathId, Precondition),
    (idempotency, fingerprint): (Idempotency, Fingerprint),
    form: R::Form,
) -> Result<JsonResponse, Error> {
    let now = Timestamp::now();
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let reader = caller.clone();
        let found = match path.id() {
            Ok(id) => app.db.read(move |c| store::find_to_prove(c, &reader, id)).await,
            Err(error) => Err(error),
        };
        let requested = R::of(&form, R::files(&form).to_vec(), now)?;
        let checked = found.and_then(|stored| {
            // A repeat changes nothing, and does not call the system service.
            let is_recorded = requested.is_recorded(&stored.load);
            if !is_recorded {
                check(&requested, &stored.load, R::captured_at(&form), app)?;
            }
            Ok(is_recorded)
        });
        let is_repeat = matches!(checked, Ok(true));
        let found = match checked {
            Ok(true) => FoundFiles::default(),
            Ok(false) => app.files.look_up(caller, R::files(&form)).await?,
            Err(error) => return Err(refuse(app, caller, R::files(&form), error).await),
        };
        let (id, files) = (path.id()?, found.references()?);
        let (caller, service) = (caller.clone(), app.clone());
        Ok(move |c: &mut _| {
            // Checks again: another request may have changed the load.
            let stored = store::find_to_prove(c, &caller, id)?;
            if requested.is_recorded(&stored.load) {
                condition.check(stored.load.revision)?;
                return Ok((respond(stored.load, Vec::new())?, None));
            }
            if is_repeat {
                return Err(CHANGED_MEANWHILE);
            }
            let mut load = stored.load.clone();
            let new = R::of(&form, files.clone(), now)?;
            let warnings = check(&new, &load, R::captured_at(&form), &service)?;
            condition.check(stored.load.revision)?;
            new.apply(&mut load);
            let changes = changes(&stored.load, &load);
            let event = NewEvent { changes, ..NewEvent::new(id, R::EVENT, &caller) };
            load.revise();
            R::notify(c, &load, &caller)?;
            store::update(c, &Update { load: &load, event, proof: None })?;
            let share = found.share(&caller, id, &load.parties(), &load.parties());
            system::record_share(c, share.as_ref())?;
            Ok((respond(load, warnings)?, share))
        })
    });
    let (response, share) = run.await?;
    app.notifications.wake();
    app.webhooks.wake();
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Checks a record that the load does not have yet.
fn check<R: Record>(
    record: &R,
    load: &Load,
    captured_at: Option<Timestamp>,
    app: &Logistics,
) -> Result<Vec<Warning>, Error> {
    let mut errors = ValidationErrors::default();
    validate_captured_at(captured_at, (load.created_at, load.delivery_date), &mut errors);
    errors.check()?;
    record.check(load, app)
}
