//! The JSON format of log lines. It has the members of tracing-subscriber's own JSON format. That one parses and
//! serializes the fields of the span again for every line; this one copies them, because they are JSON already.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, FormatFields, Json, JsonFields, Writer, json};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// `{"timestamp":…,"level":…,<fields>,"target":…,"span":{<fields>,"name":…}}`
pub(super) struct JsonFormat(Format<Json>);

impl Default for JsonFormat {
    fn default() -> Self {
        Self(json().flatten_event(true).with_current_span(true).with_span_list(false))
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> FormatEvent<S, JsonFields> for JsonFormat {
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (level, target) = (event.metadata().level(), event.metadata().target());
        // Events of the crate `log` have their target among the fields.
        if target == "log" {
            return self.0.format_event(context, line, event);
        }
        line.write_str("{\"timestamp\":\"")?;
        SystemTime.format_time(&mut line)?;
        write!(line, "\",\"level\":\"{level}\",")?;
        let mut fields = String::new();
        context.format_fields(Writer::new(&mut fields), event)?;
        write_members(&mut line, &fields)?;
        // Targets and span names are Rust paths and literals, which need no escapes.
        write!(line, "\"target\":\"{target}\"")?;
        if let Some(span) = context.parent_span() {
            line.write_str(",\"span\":{")?;
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonFields>>() {
                write_members(&mut line, fields)?;
            }
            write!(line, "\"name\":\"{}\"}}", span.name())?;
        }
        line.write_str("}\n")
    }
}

/// Writes the members of a JSON object, followed by a comma if there are any.
fn write_members(line: &mut Writer<'_>, object: &str) -> fmt::Result {
    let members = object.strip_prefix('{').and_then(|object| object.strip_suffix('}')).unwrap_or_default();
    line.write_str(members)?;
    if members.is_empty() { Ok(()) } else { line.write_char(',') }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;
    use serde_json::Value;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{Layer, Registry, fmt};

    use super::*;

    #[derive(Clone, Default)]
    pub(in crate::telemetry) struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub(in crate::telemetry) fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(layer: Box<dyn Layer<Registry> + Send + Sync>, written: &Written) -> Vec<Value> {
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::error_span!("request", request_id = "r\"1\n", method = %"GET");
            let entered = span.enter();
            tracing::info!(status = 200_u16, ms = 0.25, "completed \u{1} {}", "now");
            let inner = tracing::info_span!("inner");
            tracing::warn!(parent: &inner, error = ?Some("x"), none = Option::<u8>::None);
            drop(entered);
            tracing::error!("alone");
        });
        let text = written.take();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &mut lines {
            let time = line["timestamp"].take();
            assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        }
        lines
    }

    proptest! {
        #[test]
        fn any_text_stays_within_its_member(text in any::<String>()) {
            let written = Written::default();
            let writer = written.clone();
            let layer = fmt::layer().fmt_fields(JsonFields::new()).event_format(JsonFormat::default());
            let layer = layer.with_writer(move || writer.clone());
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                let _entered = tracing::error_span!("request", id = text).entered();
                tracing::error!(route = text, "{text}");
            });
            let lines = String::from_utf8(std::mem::take(&mut *written.0.lock().unwrap())).unwrap();
            prop_assert_eq!(lines.matches('\n').count(), 1);
            let line: Value = serde_json::from_str(&lines).unwrap();
            for member in [&line["message"], &line["route"], &line["span"]["id"]] {
                prop_assert_eq!(member.as_str(), Some(&*text));
            }
        }
    }

    #[test]
    fn equals_the_format_of_tracing_subscriber() {
        let written = Written::default();
        let writer = written.clone();
        let layer = || {
            fmt::layer().fmt_fields(JsonFields::new()).with_writer({
                let writer = writer.clone();
                move || writer.clone()
            })
        };
        let ours = lines(layer().event_format(JsonFormat::default()).boxed(), &written);
        let standard = lines(layer().event_format(JsonFormat::default().0).boxed(), &written);
        assert_eq!(ours.len(), 3);
        assert_eq!(ours, standard);
        assert_eq!(ours[0]["span"]["request_id"], "r\"1\n");
    }
}
