//! Rules on the settings of section `auth` that no type expresses.

use url::{Host, Url};

use crate::config::Auth;

/// Returns what to change, for each setting that is missing or invalid, with its environment variable. `None` if there
/// is nothing to change.
pub(super) fn problems(config: &Auth) -> Option<String> {
    let mut problems = Vec::new();
    match (&config.jwks_file, &config.jwks_url) {
        (Some(_), Some(_)) => problems.push(
            "set auth.jwks_file (DROVER_AUTH__JWKS_FILE) or auth.jwks_url (DROVER_AUTH__JWKS_URL), not both",
        ),
        (None, None) => problems.push(
            "no verification keys: set auth.jwks_url (DROVER_AUTH__JWKS_URL) to the JWKS address of your identity \
             provider, or auth.jwks_file (DROVER_AUTH__JWKS_FILE) to a JWKS file",
        ),
        (None, Some(url)) if !is_trusted(url) => problems.push(
            "auth.jwks_url must be https:// (http:// only on this machine or within a private network: its addresses, or \
             names without a dot or under .localhost, .local, .internal and .svc): change DROVER_AUTH__JWKS_URL",
        ),
        _ => {}
    }
    if config.issuer.is_none() || config.audience.is_none() {
        problems.push(
            "set auth.issuer (DROVER_AUTH__ISSUER) and auth.audience (DROVER_AUTH__AUDIENCE): tokens of other issuers \
             and for other audiences must not be accepted",
        );
    }
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// Returns true for URLs whose responses cannot be changed in transit. Anyone who can change the keys can sign any
/// token.
pub fn is_trusted(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_private(url)
}

/// Returns true for hosts on this machine or within a private network.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
        Some(Host::Domain(name)) => {
            let top_level = name.trim_end_matches('.').rsplit_once('.').map(|(_, last)| last);
            top_level.is_none_or(|last| ["localhost", "local", "internal", "svc"].contains(&last))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> Auth {
        Auth {
            jwks_url: Some("https://login.example/jwks".parse().unwrap()),
            issuer: Some("https://login.example/".into()),
            audience: Some("drover".into()),
            ..Auth::default()
        }
    }

    #[test]
    fn each_problem_names_a_setting_and_its_variable() {
        assert_eq!(problems(&valid()), None);
        let file = || Some("/keys.json".into());
        assert_eq!(problems(&Auth { jwks_url: None, jwks_file: file(), ..valid() }), None);
        let url = |url: &str| Auth { jwks_url: Some(url.parse().unwrap()), ..valid() };
        for (config, name) in [
            (Auth { jwks_url: None, ..valid() }, "jwks_url"),
            (Auth { jwks_file: file(), ..valid() }, "jwks_file"),
            (url("http://login.example/jwks"), "jwks_url"),
            (url("file:///etc/passwd"), "jwks_url"),
            (Auth { issuer: None, ..valid() }, "issuer"),
            (Auth { audience: None, ..valid() }, "audience"),
        ] {
            let message = problems(&config).unwrap();
            let variable = format!("DROVER_AUTH__{}", name.to_uppercase());
            assert!(message.contains(&format!("auth.{name}")) && message.contains(&variable), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        let all = problems(&Auth::default()).unwrap();
        assert!(all.contains("DROVER_AUTH__JWKS_URL") && all.contains("DROVER_AUTH__ISSUER"), "{all}");
    }
}
