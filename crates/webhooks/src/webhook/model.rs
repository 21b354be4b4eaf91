//! A webhook, and what a delivery needs of it.

use common::{Caller, Error, JsonResponse};
use database::{Id, Json, Timestamp};
use diesel::prelude::*;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::schema::webhooks;

/// The name of the schema of event names, to which [`crate::describe`] adds the names.
pub(crate) const EVENT_NAME_SCHEMA: &str = "WebhookEventName";

/// The name of an event that webhooks can subscribe to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EventName(pub(crate) String);

impl PartialSchema for EventName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into()
    }
}

impl ToSchema for EventName {
    fn name() -> std::borrow::Cow<'static, str> {
        EVENT_NAME_SCHEMA.into()
    }
}

/// Whether a webhook gets events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, ToSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub(crate) enum WebhookStatus {
    /// Gets the events that it subscribed to.
    #[default]
    Active,
    /// Gets no events.
    Disabled,
}

/// Whose events a webhook gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, ToSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
#[schema(as = WebhookScope)]
pub(crate) enum Scope {
    /// Those of its organisation.
    #[default]
    Own,
    /// Those of every organisation. `admin` only.
    All,
}

impl Scope {
    /// Checks that the caller may set this scope.
    ///
    /// # Errors
    /// 403 otherwise.
    pub(crate) fn check_set_by(self, caller: &Caller) -> Result<(), Error> {
        if self == Self::All && !caller.admin {
            return Err(Error::Forbidden(
                "Only admin can register a webhook for the events of every organisation.",
            ));
        }
        Ok(())
    }
}

impl WebhookStatus {
    /// The status of a webhook that was deleted, and whose deliveries are not deleted yet.
    pub(crate) const DELETED: &'static str = "deleted";
}

/// A receiver of events that an organisation registered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Webhook {
    /// UUID.
    #[schema(format = Uuid)]
    pub(crate) id: String,
    /// Where events are POSTed.
    pub(crate) url: String,
    /// The events that the webhook gets.
    #[schema(value_type = Vec<EventName>)]
    pub(crate) events: Vec<String>,
    /// Whose events the webhook gets.
    pub(crate) scope: Scope,
    /// A text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) description: Option<String>,
    /// Whether the webhook gets events.
    pub(crate) status: WebhookStatus,
    /// Why the service disabled the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) disabled_reason: Option<String>,
    /// When the webhook was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// The number of the revision, as in `ETag`: 1, and one more with each change.
    pub(crate) revision: i64,
    /// When this revision was stored.
    #[serde(rename = "updatedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) updated_at: Timestamp,
    /// The secret that signs deliveries. Shown once: when the webhook is created and when its secret is rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) secret: Option<String>,
}

/// A stored webhook.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = webhooks)]
pub(super) struct WebhookRow {
    pub(super) id: String,
    pub(super) organisation_id: String,
    pub(super) url: String,
    pub(super) events: String,
    pub(super) scope: String,
    pub(super) admin_only: bool,
    pub(super) description: Option<String>,
    pub(super) status: String,
    pub(super) disabled_reason: Option<String>,
    pub(super) revision: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Option<Timestamp>,
}

impl WebhookRow {
    /// Returns the webhook without its secret.
    pub(super) fn webhook(self) -> Result<Webhook, Error> {
        let is_active = self.status == WebhookStatus::Active.into_str();
        let is_of_all = self.scope == Scope::All.into_str();
        Ok(Webhook {
            scope: if is_of_all { Scope::All } else { Scope::Own },
            id: self.id,
            url: self.url,
            events: Json(self.events).parse()?,
            description: self.description,
            status: if is_active { WebhookStatus::Active } else { WebhookStatus::Disabled },
            disabled_reason: self.disabled_reason,
            created_at: self.created_at,
            revision: self.revision,
            updated_at: self.updated_at.unwrap_or(self.created_at),
            secret: None,
        })
    }

    /// Returns true if the caller may manage the webhook.
    pub(super) fn is_managed_by(&self, caller: &Caller) -> bool {
        caller.admin || !self.admin_only && caller.acts_for(&self.organisation_id)
    }
}

/// A webhook to store.
#[derive(Clone, Debug)]
pub(crate) struct NewWebhook {
    pub(crate) id: Id,
    /// Empty for one of scope `all` that an `admin` without an organisation creates.
    pub(crate) organisation_id: String,
    pub(crate) scope: Scope,
    pub(crate) url: String,
    /// Without duplicates.
    pub(crate) events: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) secret: SecretString,
}

impl Webhook {
    /// Adds the secret to the webhook, for the response that shows it.
    #[must_use]
    pub(crate) fn with_secret(mut self, secret: &SecretString) -> Self {
        self.secret = Some(secret.expose_secret().to_owned());
        self
    }

    /// Returns the response that shows the secret. A repeated request gets the webhook without it.
    ///
    /// # Errors
    /// If the webhook cannot be serialized.
    pub(crate) fn response_with_secret(self) -> Result<JsonResponse, Error> {
        JsonResponse::json(&self)?.replayed(&Self { secret: None, ..self })
    }
}

/// What a delivery needs of its webhook.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    /// The present secret and, for a day after a rotation, the previous one.
    pub(crate) secrets: Vec<SecretString>,
}
