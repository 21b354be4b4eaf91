//! The settings document: log level and filter (`docs/api/administration.md`). A change applies at once in the replica
//! that stores it, and within seconds in the others.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{get, put};
use database::{AnyConnection, Database, Json};
use diesel::prelude::*;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::{Admin, Authorized};
use crate::response::validation::{Code, ValidationErrors};
use crate::schema::settings::dsl as s;
use crate::telemetry::logs;
use crate::wire::ActionResult;
use crate::{Body, Error, ErrorResponses, JsonResponse};

pub(crate) const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// How often a replica reads the document. Changes must apply within 5 s.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// The settings document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(
    as = Settings,
    example = json!({ "logging": { "level": "info", "filter": "actix_web=warn" } })
)]
pub(crate) struct Document {
    /// Log level and filter.
    #[schema(required = true)]
    pub logging: Logging,
}

/// Log level and filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Logging {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`, in any case.
    #[schema(required = true, min_length = 1, example = "info")]
    pub level: String,
    /// Tracing directives such as `logistics=debug,actix_web=warn`. Empty or `*`: the level applies everywhere.
    #[schema(nullable, max_length = 1000, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$")]
    pub filter: String,
}

/// The settings in force in this process.
pub(crate) struct RuntimeSettings {
    db: Database,
    current: Mutex<Document>,
}

impl RuntimeSettings {
    /// Loads the stored document, or creates one with the configured level, and applies it.
    pub(crate) async fn open(db: &Database, level: &str) -> Result<Self, Error> {
        let logging = Logging { level: level.to_owned(), filter: String::new() };
        let settings = Self { db: db.clone(), current: Mutex::new(Document { logging }) };
        settings.reload().await?;
        Ok(settings)
    }

    /// Applies the stored document, which another replica may have changed.
    async fn reload(&self) -> Result<(), Error> {
        if let Some(stored) = self.db.read(find_stored).await? {
            self.apply(stored);
        }
        Ok(())
    }

    fn apply(&self, document: Document) {
        let mut current = self.current.lock();
        if *current != document {
            logs::set_level(&document.logging.level, &document.logging.filter);
            *current = document;
        }
    }

    /// Adds a logging directive, until the document changes.
    pub(crate) fn silence_target(&self, directive: &str) {
        let Logging { level, filter } = self.current().logging;
        logs::set_level(&level, &format!("{filter},{directive}"));
    }

    fn current(&self) -> Document {
        self.current.lock().clone()
    }

    /// Applies changes of other replicas while the service runs.
    pub(crate) async fn watch(settings: Data<Self>) {
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            if let Err(error) = settings.reload().await {
                tracing::debug!(%error, "the settings could not be read");
            }
        }
    }
}

/// Returns whether this is a level, in any case.
pub(crate) fn is_level(level: &str) -> bool {
    LEVELS.contains(&level.to_lowercase().as_str())
}

fn rules(document: &Document, errors: &mut ValidationErrors) {
    let Logging { level, filter } = &document.logging;
    if !is_level(level) {
        let message = format!("must be one of {}", LEVELS.join(", "));
        errors.push_with("logging.level", Code::Enum, message, serde_json::json!({ "allowed": LEVELS }));
    }
    if !logs::are_directives(filter) {
        errors.push("logging.filter", Code::Format, "must be tracing directives, such as logistics=debug");
    }
}

/// Update system settings
///
/// Applies at once in the replica that answers, and within 5 seconds in the others.
#[utoipa::path(operation_id = "update_settings", tag = "settings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    request_body = Document,
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[put("/settings")]
pub(crate) async fn update(
    _admin: Authorized<Admin>,
    body: Body<Document>,
    settings: Data<RuntimeSettings>,
) -> Result<JsonResponse, Error> {
    let (mut document, _) = body.check(rules)?;
    document.logging.level = document.logging.level.to_lowercase();
    let stored = document.clone();
    settings.db.write(move |c| store(c, &stored)).await?;
    // Before a level or filter is in force that would hide it.
    crate::security_event!(
        "settings_changed",
        log_level = document.logging.level,
        "the settings were changed"
    );
    settings.apply(document);
    JsonResponse::json(&ActionResult::new("The settings are in force."))
}

/// Get system settings
#[utoipa::path(operation_id = "find_settings", tag = "settings", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    responses((status = 200, body = Document), ErrorResponses))]
#[get("/settings")]
pub(crate) async fn find(
    _admin: Authorized<Admin>,
    settings: Data<RuntimeSettings>,
) -> Result<JsonResponse, Error> {
    settings.reload().await?;
    JsonResponse::json(&settings.current())
}

/// Returns the stored document, if there is one.
fn find_stored(c: &mut AnyConnection) -> Result<Option<Document>, Error> {
    let row: Option<Json> = s::settings.find(1).select(s::document).first(c).optional()?;
    Ok(row.map(|json| json.parse()).transpose()?)
}

/// Stores the document.
fn store(c: &mut AnyConnection, new: &Document) -> Result<(), Error> {
    let json = Json::of(new)?;
    let row = (s::id.eq(1), s::document.eq(&json));
    database::dispatch!(c, c => diesel::insert_into(s::settings)
        .values(row)
        .on_conflict(s::id)
        .do_update()
        .set(s::document.eq(&json))
        .execute(c))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use testkit::TestDatabase;

    use super::*;

    async fn open(test: &TestDatabase) -> Data<RuntimeSettings> {
        let db = crate::schema::tests::open(test).await;
        Data::new(RuntimeSettings::open(&db, "info").await.unwrap())
    }

    testkit::on_both! {
        async fn a_replica_applies_changes_within_five_seconds(backend) {
            let test = TestDatabase::empty(backend).await;
            let (one, two) = (open(&test).await, open(&test).await);
            let watching = tokio::spawn(RuntimeSettings::watch(two.clone()));
            let logging = Logging { level: "trace".into(), filter: "x=debug".into() };
            let document = Document { logging };
            let stored = document.clone();
            one.db.write(move |c| store(c, &stored)).await.unwrap();
            let started = std::time::Instant::now();
            while two.current() != document {
                assert!(started.elapsed() < Duration::from_secs(5));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            watching.abort();
        }
    }
}
