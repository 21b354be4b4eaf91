//! Logging, with a level that can change while the service runs.

use std::panic;
use std::sync::OnceLock;

use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use super::json::JsonFormat;
use super::pretty::PrettyFormat;
use crate::config::{Log, LogFormat};

static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Directives against lines of libraries. actix logs an error for each request that it cannot parse.
/// `service::unparsed` logs these requests instead, at `debug`.
const DEFAULT_DIRECTIVES: &str = "actix_http::h1::dispatcher=off";

/// Starts logging to standard output. Only the first call in a process has an effect.
pub(crate) fn init(log: &Log) {
    let (filter, handle) = reload::Layer::new(filter(&log.level, ""));
    let lines = match log.format {
        LogFormat::Json => {
            fmt::layer().fmt_fields(JsonFields::new()).event_format(JsonFormat::default()).boxed()
        }
        LogFormat::Pretty => fmt::layer().with_ansi(false).event_format(PrettyFormat::default()).boxed(),
    };
    if tracing_subscriber::registry().with(filter).with(lines).try_init().is_ok() {
        let _ = FILTER.set(handle);
        // Logs the place only, because the message of a panic may contain personal data.
        panic::set_hook(Box::new(|panic| {
            tracing::error!(at = panic.location().map(ToString::to_string), "panic");
        }));
    }
}

/// Replaces the level and the directives that are in force.
pub(crate) fn set_level(level: &str, directives: &str) {
    match FILTER.get().map(|handle| handle.reload(filter(level, directives))) {
        Some(Err(error)) => tracing::error!(%error, "the log level could not be changed"),
        Some(Ok(())) => tracing::debug!(level, "log level changed"),
        None => {}
    }
}

/// Returns whether the text is empty, `*`, or a list of tracing directives such as `logistics=debug,actix_web=warn`.
pub(crate) fn are_directives(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text == "*" || EnvFilter::builder().parse(text).is_ok()
}

/// Builds the filter. Of several directives for a target the last one counts.
fn filter(level: &str, directives: &str) -> EnvFilter {
    let directives = directives.split(',').filter(|directive| directive.trim() != "*");
    let all: Vec<_> = [level, DEFAULT_DIRECTIVES].into_iter().chain(directives).collect();
    EnvFilter::builder().parse_lossy(all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_lines_of_libraries_are_logged_only_if_the_filter_names_them() {
        for directives in ["", "*", "common=trace", "actix_http=debug"] {
            let filter = filter("info", directives).to_string();
            assert!(filter.contains("actix_http::h1::dispatcher=off"), "{filter}");
        }
        let filter = filter("info", "actix_http::h1::dispatcher=error,hyper=warn").to_string();
        assert!(filter.contains("actix_http::h1::dispatcher=error"), "{filter}");
        assert!(filter.contains("hyper=warn") && !filter.contains("off"), "{filter}");
    }
}
