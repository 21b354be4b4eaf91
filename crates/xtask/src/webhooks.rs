//! The webhooks of logistics in `up`: with `--demo` they are received here, and a line is printed for each. With
//! `--webhook` they are sent to a URL.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use testkit::processes::environment::{Environment, variables};
use testkit::processes::http::{ReceivedRequest, listen};
use testkit::processes::tokens;

/// Secret of the signatures. It is not secret: the receiver runs on this machine and does not verify them.
const SECRET: &str = "whsec_ZHJvdmVyLXVwLWRlbW8td2ViaG9vay1yZWNlaXZlcg==";

/// Starts a receiver and returns the variables that send the webhooks of logistics to it.
pub fn receive() -> Result<Environment> {
    let port = listen(|request| {
        println!("{}", line(&request));
        Some("{}".to_owned())
    })?;
    Ok(variables([
        ("SERVICE__WEBHOOK_URL", format!("http://127.0.0.1:{port}/")),
        ("SERVICE__WEBHOOK_SECRETS", SECRET.to_owned()),
    ]))
}

/// Returns the variables that send the webhooks of logistics to a URL, and the secret that signs them.
pub fn send_to(url: &str, data: &Path) -> Result<(Environment, String)> {
    let secret = tokens::webhook_secret(data)?;
    let variables =
        variables([("SERVICE__WEBHOOK_URL", url.to_owned()), ("SERVICE__WEBHOOK_SECRETS", secret.clone())]);
    Ok((variables, secret))
}

/// Describes a webhook: its event, the reference of the load and the recipient.
fn line(request: &ReceivedRequest) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |pointer| body.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    format!("webhook  {}  {} to {}", text("/type"), text("/data/load/reference"), text("/data/recipientId"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gets_webhooks_signed_by_the_secret_of_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (variables, secret) = send_to("http://127.0.0.1:9/hook", folder.path()).unwrap();
        assert_eq!(secret, tokens::webhook_secret(folder.path()).unwrap());
        let has = |value: &str| variables.iter().any(|(_, known)| known.as_str() == value);
        assert!(has("http://127.0.0.1:9/hook") && has(&secret));
    }

    #[test]
    fn a_webhook_is_one_line() {
        let body = br#"{"type": "load.sent_to_driver", "data": {"recipientId": "dai", "load": {"reference": "BG-7"}}}"#;
        let request = ReceivedRequest { body: body.to_vec(), ..ReceivedRequest::default() };
        assert_eq!(line(&request), "webhook  load.sent_to_driver  BG-7 to dai");
        assert_eq!(line(&ReceivedRequest::default()), "webhook  ?  ? to ?");
    }
}
