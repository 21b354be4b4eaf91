//! The values of `server.cors_origins`.

use anyhow::ensure;
use url::{Host, Url};

/// The value that stands for all origins on the machine of the browser.
const LOOPBACK: &str = "loopback";

/// Checks that each origin has the form in which browsers send it.
///
/// # Errors
/// Names the first origin that has not.
pub(super) fn check(origins: &[String]) -> anyhow::Result<()> {
    for origin in origins {
        ensure!(
            origin == "*" || origin == LOOPBACK || is_origin(origin),
            "server.cors_origins (DROVER_SERVER__CORS_ORIGINS) has {}, which is not an origin: write each as \
             https://app.example or https://app.example:8443, in lower case, without a path, a slash at the end or \
             the default port; separate several with commas, or write * for every origin, or loopback for those on \
             localhost",
            if origin.contains('@') { "one with a user name".to_owned() } else { format!("\"{origin}\"") },
        );
    }
    Ok(())
}

fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    if url.origin().is_tuple() {
        return matches!(url.scheme(), "http" | "https")
            && !text.contains('*')
            && url.origin().ascii_serialization() == text;
    }
    // Apps that embed web pages have origins such as capacitor://localhost.
    let host = text.strip_prefix(url.scheme()).and_then(|rest| rest.strip_prefix("://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']))
}

/// Returns true if one of the configured values allows an origin that it does not name.
pub(crate) fn allows_loopback(origins: &[String], origin: &str) -> bool {
    let is_loopback = || match Url::parse(origin).ok()?.host()? {
        Host::Domain(name) => Some(name == "localhost"),
        Host::Ipv4(address) => Some(address.is_loopback()),
        Host::Ipv6(address) => Some(address.is_loopback()),
    };
    origins.iter().any(|configured| configured == LOOPBACK) && is_loopback() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_stands_for_all_ports_of_this_machine() {
        let configured = ["https://app.example".to_owned(), LOOPBACK.to_owned()];
        assert!(check(&configured).is_ok());
        for allowed in ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:3000"] {
            assert!(allows_loopback(&configured, allowed), "{allowed}");
            assert!(!allows_loopback(&configured[..1], allowed), "{allowed}");
        }
        for other in ["https://app.example", "http://localhost.evil.example", "http://192.168.1.2", "null"] {
            assert!(!allows_loopback(&configured, other), "{other}");
        }
    }

    #[test]
    fn accepts_only_origins_as_browsers_send_them() {
        for valid in [
            "*",
            "https://app.example",
            "http://localhost:3000",
            "https://[::1]:8443",
            "https://xn--bcher-kva.example",
            "capacitor://localhost",
        ] {
            assert!(check(&[valid.to_owned()]).is_ok(), "{valid}");
        }
        for invalid in [
            "app.example",
            "localhost:3000",
            "https://app.example/",
            "https://app.example/x",
            "https://App.example",
            "https://app.example:443",
            "https://*.app.example",
            "https://bücher.example",
            "ftp://app.example",
            "https://",
            "null",
            "capacitor://",
            "https://app.example https://b.example",
        ] {
            let message = check(&[invalid.to_owned()]).unwrap_err().to_string();
            for part in ["server.cors_origins (DROVER_SERVER__CORS_ORIGINS)", invalid, "https://app.example"]
            {
                assert!(message.contains(part), "{message}");
            }
        }
        let message = check(&["https://ruth:s3cret@h".to_owned()]).unwrap_err().to_string();
        assert!(!message.contains("s3cret"), "{message}");
    }
}
