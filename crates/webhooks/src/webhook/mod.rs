//! The webhooks of organisations (docs/api/webhooks.md).

mod form;
mod model;
pub(crate) mod store;

pub(crate) use form::{
    WebhookForm, WebhookPatch, WebhookTest, parse_events, parsed_url, validate_form, validate_patch,
};
pub(crate) use model::{EVENT_NAME_SCHEMA, NewWebhook, Scope, Webhook, WebhookStatus};
