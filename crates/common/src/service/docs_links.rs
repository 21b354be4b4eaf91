//! The bar at the top of a docs page, with links to the docs pages of the other services.
//!
//! Without the setting `server.docs_links` the links follow from `public_url`: beside this page if its path or its host
//! ends or begins with the name of the service, otherwise on the same host, on ports that differ like the default ones.
//! `docs-page.js` corrects derived links if a proxy serves the page under another address.

use anyhow::{Context, ensure};
use url::{Host, Url};

/// Name, title and default port of each service.
const SERVICES: [(&str, &str, u16); 3] = [
    ("system", "Drover system", 8081),
    ("logistics", "Drover logistics", 8082),
    ("livestock", "Drover livestock", 8083),
];

/// Does not repeat the value, in which a URL may have a password.
const EXPECTED: &str = "server.docs_links (DROVER_SERVER__DOCS_LINKS) is invalid: set it to NAME=URL, such as \
    logistics=https://drover.example/logistics or logistics=../../logistics, without a user name and a password";

/// Returns the bar as HTML. `settings` is `server.docs_links`, `public_url` the base URL of the service `name`.
///
/// # Errors
/// Names the setting to change.
pub(super) fn bar(name: &str, public_url: &str, settings: &[String]) -> anyhow::Result<String> {
    let links = parse(settings)?;
    let item = |(service, title, port): (&str, &str, u16)| {
        if service == name {
            return format!("<b>{title}</b>");
        }
        let (url, is_derived) = match links.iter().find(|(of, _)| *of == service) {
            Some((_, url)) => ((*url).to_owned(), false),
            None => (derive(name, public_url, service, port), true),
        };
        let url = url.trim_end_matches('/');
        format!(r#"<a href="{url}/docs/" data-service="{service}" data-derived="{is_derived}">{title}</a>"#)
    };
    let items = SERVICES.map(item).concat();
    Ok(format!(r#"<nav id="services" data-service="{name}">{items}</nav>"#))
}

/// Validates `server.docs_links`.
///
/// # Errors
/// Names the setting to change.
pub(super) fn check(settings: &[String]) -> anyhow::Result<()> {
    parse(settings).map(drop)
}

/// Splits each setting into the name of a service and a base URL, which may be relative to a docs page.
fn parse(settings: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut links = Vec::new();
    for setting in settings {
        let (name, url) = setting.split_once('=').context(EXPECTED)?;
        let parsed = Url::parse("http://localhost/")?.join(url).context(EXPECTED)?;
        let is_known = SERVICES.iter().any(|(service, ..)| *service == name);
        let is_link = ["http", "https"].contains(&parsed.scheme()) && !url.is_empty();
        let has_user = !parsed.username().is_empty() || parsed.password().is_some();
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>&".contains(&byte));
        ensure!(is_known && is_link && is_plain && !has_user, EXPECTED);
        links.push((name, url));
    }
    Ok(links)
}

/// Returns the base URL of another service. `port` is its default port.
fn derive(name: &str, public_url: &str, other: &str, port: u16) -> String {
    if let Some(prefix) = public_url.trim_end_matches('/').strip_suffix(&format!("/{name}")) {
        return format!("{prefix}/{other}");
    }
    let own_default = SERVICES.iter().find(|(service, ..)| *service == name).map_or(port, |(.., port)| *port);
    let Ok(url) = Url::parse(public_url) else { return format!("http://127.0.0.1:{port}") };
    let host = match url.host() {
        Some(Host::Domain(domain)) => match domain.strip_prefix(&format!("{name}.")) {
            Some(rest) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                return format!("{}://{other}.{rest}{port}", url.scheme());
            }
            None => domain.to_owned(),
        },
        Some(Host::Ipv4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Some(Host::Ipv6(address)) if address.is_unspecified() => "[::1]".to_owned(),
        Some(host) => host.to_string(),
        None => "127.0.0.1".to_owned(),
    };
    let own_port = url.port().unwrap_or(own_default);
    let port = own_port.wrapping_add(port.wrapping_sub(own_default));
    format!("{}://{host}:{port}", url.scheme())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_services_are_beside_this_one() {
        for (public_url, link) in [
            ("http://127.0.0.1:8082", "http://127.0.0.1:8083"),
            ("http://127.0.0.1:9001", "http://127.0.0.1:9002"),
            ("http://0.0.0.0:8082", "http://127.0.0.1:8083"),
            ("http://[::]:8082", "http://[::1]:8083"),
            ("https://drover.example/logistics", "https://drover.example/livestock"),
            ("https://example.org/drover/logistics", "https://example.org/drover/livestock"),
            ("https://logistics.drover.example", "https://livestock.drover.example"),
            ("https://logistics.drover.example:8443", "https://livestock.drover.example:8443"),
        ] {
            let bar = bar("logistics", public_url, &[]).unwrap();
            let expected = format!(r#"<a href="{link}/docs/" data-service="livestock" data-derived="true">"#);
            assert!(
                bar.contains(&expected) && bar.contains("<b>Drover logistics</b>"),
                "{public_url}: {bar}"
            );
            assert_eq!(bar.matches("<a ").count(), 2, "{bar}");
        }
    }

    #[test]
    fn the_setting_takes_precedence() {
        let settings = ["livestock=../../market/".to_owned(), "system=https://s.example:8443".to_owned()];
        let bar = bar("logistics", "http://127.0.0.1:8082", &settings).unwrap();
        for link in [
            r#"<a href="../../market/docs/" data-service="livestock" data-derived="false">"#,
            r#"<a href="https://s.example:8443/docs/" data-service="system" data-derived="false">"#,
        ] {
            assert!(bar.contains(link), "{bar}");
        }
        for wrong in [
            "livestock",
            "cattle=../",
            "system=",
            "system=javascript:x",
            "system=a\"b",
            "system=http://u:p@h/",
        ] {
            let error = check(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains("DROVER_SERVER__DOCS_LINKS") && error.contains("NAME=URL"), "{error}");
        }
    }
}
