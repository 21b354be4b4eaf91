//! The webhooks of organisations (docs/api/webhooks.md).

mod form;
mod model;
pub(crate) mod store;

pub(crate) use form::{WebhookForm, WebhookPatch, parse_events, validate_form, validate_patch};
pub(crate) use model::{DISABLED_REASON, EVENT_NAME_SCHEMA, NewWebhook, Webhook, WebhookStatus, order};
