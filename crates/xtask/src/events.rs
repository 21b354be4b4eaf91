//! The events of logistics in `up --demo`: a line is printed for each.

use std::thread;
use std::time::Duration;

use testkit::processes::http::HttpClient;
use testkit::processes::service::ServiceConfig;
use testkit::processes::tokens::{DevKeys, Identity};

/// The life of a stream, after which it is opened again.
const STREAM_TIME: Duration = Duration::from_secs(25 * 60);
/// Pause before a stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows the feed of all loads from now on and prints its events, until the program ends.
pub fn print_all(logistics: &ServiceConfig, keys: &DevKeys, ttl: Duration) {
    let url = format!("{}/v1/events/stream", logistics.url());
    let token = Identity::of_org(None).token(keys, ttl);
    thread::spawn(move || {
        let http = HttpClient::new(STREAM_TIME);
        let mut after = None;
        loop {
            // The service may be stopping. Whatever happened meanwhile comes after the last event.
            let events = http.events(&url, &token, after.as_deref()).into_iter().flatten();
            for event in events.map_while(Result::ok) {
                println!("{}", line(&event.data));
                after = Some(event.id);
            }
            thread::sleep(PAUSE);
        }
    });
}

/// Describes an event: its type, the reference of the load, and who caused it.
fn line(event: &serde_json::Value) -> String {
    let text = |name: &str| event[name].as_str();
    let by = text("userName").or_else(|| text("userId")).unwrap_or("?");
    let to = text("driverId").or_else(|| text("carrierId"));
    let to = to.map(|to| format!(", to {to}")).unwrap_or_default();
    format!("event  {}  {} by {by}{to}", text("type").unwrap_or("?"), text("reference").unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = json!({"type": "load.sent_to_driver", "reference": "BG-7", "userName": "Carys", "driverId": "dai"});
        assert_eq!(line(&event), "event  load.sent_to_driver  BG-7 by Carys, to dai");
        assert_eq!(line(&json!({})), "event  ?  ? by ?");
    }
}
