//! The log format for terminals. Every event is one line, because control characters in text from clients or servers
//! are escaped: such text can neither start another line nor control the terminal.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Compact, Format, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::registry::LookupSpan;

/// The compact format of tracing-subscriber with control characters escaped.
pub(super) struct PrettyFormat(Format<Compact>);

impl Default for PrettyFormat {
    fn default() -> Self {
        Self(Format::default().compact())
    }
}

impl<S, N> FormatEvent<S, N> for PrettyFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        self.0.format_event(context, Writer::new(&mut text), event)?;
        for c in text.trim_end_matches('\n').chars() {
            // Some viewers break lines at line and paragraph separators.
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                write!(line, "{}", c.escape_default())?;
            } else {
                line.write_char(c)?;
            }
        }
        line.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::fmt;

    use super::*;
    use crate::telemetry::json::tests::Written;

    #[test]
    fn escapes_control_characters() {
        let written = Written::default();
        let writer = written.clone();
        let layer = fmt::fmt().with_ansi(false).event_format(PrettyFormat::default());
        tracing::subscriber::with_default(layer.with_writer(move || writer.clone()).finish(), || {
            let hostile = "a\r\nFORGED\u{1b}[31m\u{2028}b\u{85}\u{9b}c";
            let _span = tracing::error_span!("request", request_id = hostile, method = %hostile).entered();
            tracing::error!(error = %hostile, debug = ?hostile, text = hostile, "received {hostile}");
        });
        let text = written.take();
        assert_eq!(text.matches("FORGED").count(), 6, "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.ends_with('\n') && !text.trim_end().contains(|c: char| c.is_control() || c == '\u{2028}'),
            "{text}"
        );
    }
}
