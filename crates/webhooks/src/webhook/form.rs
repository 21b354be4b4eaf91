//! The request bodies that create and edit a webhook, and their rules.

use std::collections::HashSet;

use common::MergePatch;
use common::validation::{Code, ValidationErrors};
use common::wire::LongText;
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use super::model::{EventName, Scope, WebhookStatus};
use crate::sending::{InvalidUrl, check_url};

/// What is wrong with a private receiver.
const PRIVATE: &str =
    "must not be an address of a private network (operators allow them with service.webhook_allow_private)";
/// Members of webhooks that no patch can change.
const READ_ONLY: [&str; 6] = ["id", "secret", "disabledReason", "createdAtUTC", "revision", "updatedAtUTC"];
/// Members that no patch can remove.
const REQUIRED: [&str; 4] = ["url", "events", "scope", "status"];

/// A webhook to create.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WebhookForm {
    /// Where events are POSTed: `https://`, at a public address, without user information and fragment.
    #[schema(required = true, min_length = 1, max_length = 2048, extensions(("x-text" = json!("line"))))]
    pub(crate) url: String,
    /// The events that the webhook gets. Duplicates are removed.
    #[schema(required = true, min_items = 1, max_items = 100)]
    pub(crate) events: Vec<EventName>,
    /// `all`: the events of every organisation. `admin` only.
    #[schema(nullable = false)]
    pub(crate) scope: Option<Scope>,
    /// A text for people.
    pub(crate) description: Option<LongText>,
}

/// Members of a webhook to change. Absent members stay as they are, `null` removes the description, arrays are replaced
/// whole.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "description": "Weighbridge office", "status": "active" }))]
pub(crate) struct WebhookPatch {
    /// Where events are POSTed, by the rules for creating.
    #[schema(min_length = 1, max_length = 2048, nullable = false, extensions(("x-text" = json!("line"))))]
    pub(crate) url: Option<String>,
    /// The events that the webhook gets.
    #[schema(min_items = 1, max_items = 100, nullable = false)]
    pub(crate) events: Option<Vec<EventName>>,
    /// Whose events the webhook gets. `all` by `admin` only.
    #[schema(nullable = false)]
    pub(crate) scope: Option<Scope>,
    /// A text for people.
    pub(crate) description: Option<LongText>,
    /// `disabled` makes pending deliveries fail. `active` removes `disabledReason`.
    #[schema(nullable = false)]
    pub(crate) status: Option<WebhookStatus>,
}

/// What a test of a webhook sends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct WebhookTest {
    /// The event of which a sample is sent.
    #[schema(nullable = false)]
    pub(crate) event: Option<EventName>,
}

/// Validates the rules that the schema cannot state.
pub(crate) fn validate_form(form: &WebhookForm, allow_private: bool, errors: &mut ValidationErrors) {
    validate_url(&form.url, allow_private, errors);
}

/// Validates the rules that the schema cannot state.
pub(crate) fn validate_patch(
    patch: &MergePatch<WebhookPatch>,
    allow_private: bool,
    errors: &mut ValidationErrors,
) {
    patch.check_names(&READ_ONLY, &REQUIRED, errors);
    if let Some(url) = &patch.members.url {
        validate_url(url, allow_private, errors);
    }
}

/// Returns the names of events without duplicates, in the order of the request.
pub(crate) fn parse_events(events: &[EventName]) -> Vec<String> {
    let mut known = HashSet::new();
    events.iter().filter(|name| known.insert(&name.0)).map(|name| name.0.clone()).collect()
}

fn validate_url(text: &str, allow_private: bool, errors: &mut ValidationErrors) {
    if let Some(message) = url_error(text, allow_private) {
        errors.push("url", Code::Format, message);
    }
}

/// Returns a valid URL as it is parsed, for example with the host in lower case.
pub(crate) fn parsed_url(text: &str) -> String {
    text.parse::<Url>().map_or_else(|_| text.to_owned(), String::from)
}

/// Returns what is wrong with the URL of a receiver.
fn url_error(text: &str, allow_private: bool) -> Option<&'static str> {
    // The parser would drop or encode these.
    let is_direction = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.contains(|c: char| c.is_control() || is_direction(c)) {
        return Some("must not have control characters");
    }
    let Ok(url) = text.parse::<Url>() else {
        return Some("must be an absolute URL such as https://example.com/webhooks");
    };
    match check_url(&url, allow_private) {
        Err(InvalidUrl::Scheme) if allow_private => return Some("must begin with https:// or http://"),
        Err(InvalidUrl::Scheme) => return Some("must begin with https://"),
        Err(InvalidUrl::PrivateAddress) => return Some(PRIVATE),
        Err(InvalidUrl::Name) => return Some("must have a host name such as hooks.example"),
        Ok(()) => {}
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("must not have a user name or a password");
    }
    url.fragment().map(|_| "must not have a fragment (#…)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_public_https_urls_without_credentials_and_fragment() {
        for valid in ["https://hooks.example/a?b=c", "https://hooks.example:8443", "https://1.1.1.1/"] {
            assert_eq!(url_error(valid, false), None, "{valid}");
        }
        for (invalid, part) in [
            ("", "absolute"),
            ("hooks.example", "absolute"),
            ("/drover", "absolute"),
            ("https://", "absolute"),
            ("https:///", "absolute"),
            ("http://hooks.example/", "https://"),
            ("file:///etc/passwd", "https://"),
            ("mailto:ann@hooks.example", "https://"),
            ("https://10.0.0.1/", "private"),
            ("https://[::1]/", "private"),
            ("https://0x7f.1/", "service.webhook_allow_private"),
            ("https://localhost/", "private"),
            ("https://a..b/", "host name"),
            ("https://ann@hooks.example/", "user name"),
            ("https://:secret@hooks.example/", "password"),
            ("https://hooks.example/#part", "fragment"),
            ("https://hooks.example/#", "fragment"),
            ("https://hooks.example/\0", "control characters"),
            ("\thttps://hooks.example/", "control characters"),
            ("https://hooks.exa\tmple/", "control characters"),
            ("https://hooks.example/\r\nX: y", "control characters"),
            ("https://hooks.example/\u{85}", "control characters"),
            ("https://hooks.example/\u{202e}", "control characters"),
        ] {
            let message = url_error(invalid, false).unwrap_or_default();
            assert!(message.contains(part), "{invalid}: {message}");
        }
        assert_eq!(url_error("http://127.0.0.1:9000/hook", true), None);
        assert!(url_error("ftp://127.0.0.1/", true).unwrap().contains("http://"));
    }

    #[test]
    fn duplicate_events_are_removed() {
        let events = ["b", "a", "b"].map(|name| EventName(name.to_owned()));
        assert_eq!(parse_events(&events), ["b", "a"]);
    }
}
