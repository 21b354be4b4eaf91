//! What protects pages from other sites: the headers of every response, the origin of writes, and the way back after
//! a log-in.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};
use url::Url;

/// Returns the policy of pages, which allows what the console itself serves, pictures of another origin if there is
/// one, and nothing inline.
pub(crate) fn security_policy(pictures: Option<&Url>) -> anyhow::Result<HeaderValue> {
    let pictures = pictures.map(|url| format!(" {}", origin(url))).unwrap_or_default();
    Ok(HeaderValue::try_from(format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:{pictures}; connect-src 'self'; \
         manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ))?)
}

/// Adds the headers that a response does not have yet. A file, which has a disposition, has the policy of the API: none
/// for PDF, whose viewers refuse to start with one. So has a file that a browser keeps: with 304, it would take the
/// policy of the console over.
pub(crate) fn add_headers(status: StatusCode, headers: &mut HeaderMap, policy: &HeaderValue) {
    let is_file = headers.contains_key(CONTENT_DISPOSITION) || status == StatusCode::NOT_MODIFIED;
    if !is_file && !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    }
    for (name, value) in [
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        let name = HeaderName::from_static(name);
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// Returns true if a write comes from a page of this origin. Browsers send `Origin` with every POST; those that leave
/// it out name the relation in `Sec-Fetch-Site`.
pub(crate) fn is_same_origin(headers: &HeaderMap, own: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site");
    match text(ORIGIN.as_str()) {
        Some(origin) => origin == own && site.is_none_or(|site| site == "same-origin"),
        None => site == Some("same-origin"),
    }
}

/// Returns the origin of a URL as browsers send it.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Returns a path of the console to go back to, or `/` for anything that browsers could read as another site.
pub(crate) fn way_back(to: Option<&str>) -> &str {
    let is_own = |to: &&str| {
        let is_path = to.starts_with('/') && !to.starts_with("//") && !to.starts_with("/\\");
        is_path && to.bytes().all(|byte| byte.is_ascii_graphic()) && !to.starts_with("/login")
    };
    to.filter(is_own).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_stays_in_the_console() {
        for to in ["/", "/loads?status=upcoming&sort=-delivery", "/loads/1#history", "/a//b", "/loads?to=//x"]
        {
            assert_eq!(way_back(Some(to)), to);
        }
        for to in [
            "",
            "//x",
            "/\\x",
            "\\x",
            "https://x",
            "javascript:alert(1)",
            "loads",
            "/\t/x",
            "/loads\r\nSet-Cookie: a",
            "/é",
            "/ x",
            "/login",
            "/login/start",
            "\u{2f}\u{2f}x",
        ] {
            assert_eq!(way_back(Some(to)), "/", "{to}");
        }
        assert_eq!(way_back(None), "/");
    }

    #[test]
    fn writes_come_from_the_same_origin() {
        let own = "https://console.example";
        let check = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            is_same_origin(&pairs.collect(), own)
        };
        assert!(check(&[("origin", own)]) && check(&[("origin", own), ("sec-fetch-site", "same-origin")]));
        assert!(check(&[("sec-fetch-site", "same-origin")]));
        for refused in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "https://evil.example")],
            &[("origin", "https://console.example.evil.example")],
            &[("origin", "http://console.example")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", own), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!check(refused), "{refused:?}");
        }
        assert_eq!(origin(&"https://console.example:443/x".parse().unwrap()), own);
    }
}
