//! Swagger UI under `/docs/`. Its files are embedded in the program, compressed with gzip. Clients that do not accept
//! gzip receive them uncompressed.
//!
//! The page adds a hash of the content to the URL of each file (`?v=`), so browsers may cache it for a year. URLs
//! without the hash are revalidated by `ETag`.
//!
//! The page has the title of its service, and a bar with links to the pages of the others
//! ([`docs_links`](super::docs_links)). It stores the token in the browser, so that a reload keeps it.
//!
//! Under `/docs/guide/` are the pages of docs/api, which `build.rs` renders.
//!
//! With the settings `auth.docs` the page offers to log in. Swagger UI then returns from the identity provider to
//! `oauth2-redirect.html`, whose URL it derives from its own, and so also under a path prefix.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use actix_web::http::header::{
    self, AcceptEncoding, CacheControl, CacheDirective, ContentEncoding, ETag, Encoding, EntityTag, Header,
    HeaderName, HeaderValue, IfNoneMatch,
};
use actix_web::web::{self, Bytes, Data};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use anyhow::{Context, anyhow, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use url::{Host, Url};
use utoipa_swagger_ui::{Config, oauth};

use crate::Error;
use crate::config::DocsLogin;

const INDEX: &str = "index.html";
/// Own files of the page: name, media type and content.
const OWN_FILES: [(&str, &str, &str); 2] = [
    ("docs-page.js", "text/javascript", include_str!("docs-page.js")),
    ("docs-page.css", "text/css", include_str!("docs-page.css")),
];
/// The folder of the guide, and its pages: path in the folder and HTML.
const GUIDE: &str = "guide/";
static GUIDE_PAGES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/guide.rs"));
/// Bytes of a content hash in URLs and `ETag`s.
const HASH_BYTES: usize = 16;
const YEAR_SECONDS: u32 = 31_536_000;
/// The URL of the document. Relative, because a proxy may add a path prefix.
const DOCUMENT: &str = "openapi.json";
const REFERRER_POLICY: HeaderName = HeaderName::from_static("referrer-policy");

/// Swagger UI of a service.
pub(super) struct SwaggerUi {
    /// The files that were requested so far.
    assets: RwLock<HashMap<String, Arc<Asset>>>,
    login: Option<oauth::Config>,
    title: &'static str,
    /// The links to the other services, as HTML.
    bar: String,
    content_policy: HeaderValue,
}

/// A file of Swagger UI.
struct Asset {
    content_type: String,
    content: Bytes,
    /// Whether `content` is compressed with gzip.
    is_gzipped: bool,
    /// SHA-256 of `content`, truncated and encoded in base64.
    hash: String,
}

/// Handles `GET /docs/{path}`.
pub(super) async fn find(
    request: HttpRequest,
    path: web::Path<String>,
    swagger_ui: Data<SwaggerUi>,
) -> Result<HttpResponse, Error> {
    let name = if path.is_empty() { INDEX } else { path.as_str() };
    let asset = swagger_ui.asset(name)?.ok_or(Error::NotFound)?;
    // Weak, because the file has the same tag with and without content coding.
    let tag = EntityTag::new_weak(asset.hash.clone());
    let cache = if request.query_string().strip_prefix("v=") == Some(&asset.hash) {
        let immutable = CacheDirective::Extension("immutable".into(), None);
        vec![CacheDirective::Public, CacheDirective::MaxAge(YEAR_SECONDS), immutable]
    } else {
        vec![CacheDirective::NoCache]
    };
    let is_known = match request.get_header::<IfNoneMatch>() {
        Some(IfNoneMatch::Any) => true,
        Some(IfNoneMatch::Items(known)) => known.iter().any(|known| known.weak_eq(&tag)),
        None => false,
    };
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header(ETag(tag))
        .insert_header(CacheControl(cache))
        .insert_header((header::CONTENT_SECURITY_POLICY, &swagger_ui.content_policy))
        .insert_header((REFERRER_POLICY, "no-referrer"));
    if is_known {
        return Ok(response.finish());
    }
    response.content_type(asset.content_type.as_str());
    if !asset.is_gzipped {
        return Ok(response.body(asset.content.clone()));
    }
    if accepts_gzip(&request) {
        return Ok(response.insert_header(ContentEncoding::Gzip).body(asset.content.clone()));
    }
    // This coding prevents the compression layer from compressing the file again for each request. `ResponseHeaders`
    // removes it, and adds no `Vary` in this case.
    response
        .insert_header((header::CONTENT_ENCODING, "identity"))
        .insert_header((header::VARY, "Accept-Encoding"));
    Ok(response.body(inflate(&asset.content)?))
}

fn accepts_gzip(request: &HttpRequest) -> bool {
    let accepted = AcceptEncoding::parse(request).ok();
    let offered = [Encoding::gzip(), Encoding::identity()];
    accepted.and_then(|accepted| accepted.negotiate(offered.iter())) == Some(Encoding::gzip())
}

fn inflate(content: &[u8]) -> Result<Vec<u8>, Error> {
    let mut inflated = Vec::new();
    let read = GzDecoder::new(content).read_to_end(&mut inflated);
    read.map_err(|error: io::Error| Error::Internal(error.into()))?;
    Ok(inflated)
}

impl SwaggerUi {
    /// Creates the page with this title and [bar](super::docs_links), and with a login if there is one.
    ///
    /// # Errors
    /// Fails if the host of the token endpoint cannot be part of a header.
    pub(super) fn new(title: &'static str, bar: String, login: Option<&DocsLogin>) -> anyhow::Result<Self> {
        let token_origin = login.map(|login| format!(" {}", login.token_url.origin().ascii_serialization()));
        Ok(Self {
            assets: RwLock::default(),
            title,
            bar,
            login: login.map(|login| {
                let config = oauth::Config::new().client_id(&login.client_id).scopes(login.scopes.clone());
                config.use_pkce_with_authorization_code_grant(true)
            }),
            content_policy: content_policy(&token_origin.unwrap_or_default()).try_into()?,
        })
    }

    /// Returns the file of this name, if there is one. It is loaded and hashed once.
    fn asset(&self, name: &str) -> Result<Option<Arc<Asset>>, Error> {
        let known = self.assets.read().get(name).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let Some(mut asset) = self.load(name)? else { return Ok(None) };
        if name == INDEX {
            asset = self.complete(&asset)?;
        }
        let asset = Arc::new(asset);
        // Only files that exist are cached, so their number bounds the cache.
        self.assets.write().insert(name.to_owned(), asset.clone());
        Ok(Some(asset))
    }

    /// Adds to the page its title, its bar and own files, and to each URL the hash of its file.
    fn complete(&self, page: &Asset) -> Result<Asset, Error> {
        let html = if page.is_gzipped { inflate(&page.content)? } else { page.content.to_vec() };
        let html = String::from_utf8(html).map_err(|error| Error::Internal(error.into()))?;
        let html = html
            .replace("<title>Swagger UI</title>", &format!("<title>{}</title>", self.title))
            .replace(
                "</head>",
                "  <link rel=\"stylesheet\" type=\"text/css\" href=\"./docs-page.css\" />\n  </head>",
            )
            .replace("<body>", &format!("<body>\n    {}", self.bar))
            .replace("</body>", "  <script src=\"./docs-page.js\"> </script>\n  </body>");
        let mut parts = Vec::new();
        for part in html.split('"') {
            let name = part.trim_start_matches("./");
            let asset = if name.is_empty() || name == INDEX { None } else { self.asset(name)? };
            parts.push(asset.map_or(part.to_owned(), |asset| format!("./{name}?v={}", asset.hash)));
        }
        Ok(Asset::new(page.content_type.clone(), parts.join("\"").into(), false))
    }

    /// Loads an embedded file.
    fn load(&self, name: &str) -> Result<Option<Asset>, Error> {
        if let Some((_, content_type, content)) = OWN_FILES.iter().find(|(own, ..)| *own == name) {
            let content_type = format!("{content_type}; charset=utf-8");
            return Ok(Some(Asset::new(content_type, Bytes::from_static(content.as_bytes()), false)));
        }
        if let Some(path) = name.strip_prefix(GUIDE) {
            let page = GUIDE_PAGES.iter().find(|(page, _)| *page == path);
            return page.map(|(_, html)| Asset::gzipped("text/html; charset=utf-8", html)).transpose();
        }
        let config = match &self.login {
            Some(login) => Config::with_oauth_config([DOCUMENT], login.clone()),
            None => Config::from(DOCUMENT),
        };
        // No online validator, which would receive the document.
        let config = config.validator_url("none").persist_authorization(true).use_base_layout();
        let file = utoipa_swagger_ui::serve(name, Arc::new(config));
        let file = file.map_err(|error| Error::Internal(anyhow!(error.to_string())))?;
        Ok(file.map(|file| {
            let content = Bytes::copy_from_slice(&file.bytes);
            Asset::new(file.content_type, content, file.gzpipped)
        }))
    }
}

/// Returns the content security policy. Swagger UI sets inline styles, its style sheet contains images as `data:` URLs,
/// and it shows images of responses from `blob:` URLs. `token_origin`: the origin that it fetches tokens from, after a
/// space, or nothing.
fn content_policy(token_origin: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
         connect-src 'self'{token_origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

impl Asset {
    fn new(content_type: String, content: Bytes, is_gzipped: bool) -> Self {
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(&content)[..HASH_BYTES]);
        Self { content_type, content, is_gzipped, hash }
    }

    fn gzipped(content_type: &str, text: &str) -> Result<Self, Error> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let packed = gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish());
        let packed = packed.map_err(|error| Error::Internal(error.into()))?;
        Ok(Self::new(content_type.to_owned(), packed.into(), true))
    }
}

/// Name, title and default port of each service.
const SERVICES: [(&str, &str, u16); 3] = [
    ("system", "Drover system", 8081),
    ("logistics", "Drover logistics", 8082),
    ("livestock", "Drover livestock", 8083),
];

/// Does not repeat the value, in which a URL may have a password.
const EXPECTED: &str = "server.docs_links (DROVER_SERVER__DOCS_LINKS) is invalid: set it to NAME=URL, such as \
    logistics=https://drover.example/logistics or logistics=../../logistics, without a user name and a password";

/// Returns the bar at the top of the docs page as HTML, with links to the docs pages of the other services. `settings`
/// is `server.docs_links`, `public_url` the base URL of the service `name`.
///
/// Without the setting the links follow from `public_url`: next to this page if its path or its host ends or begins
/// with the name of the service, otherwise on the same host, on ports that differ like the default ones.
/// `docs-page.js` corrects derived links if a proxy serves the page under another address.
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
    Ok(format!(r#"<nav id="services" data-service="{name}">{items}<a href="guide/">API guide</a></nav>"#))
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
    fn page_adds_hashes_to_urls() {
        let swagger_ui = SwaggerUi::new("Drover x", "<nav>y</nav>".to_owned(), None).unwrap();
        let page = swagger_ui.asset(INDEX).unwrap().unwrap();
        let html = String::from_utf8(page.content.to_vec()).unwrap();
        assert!(html.contains("<title>Drover x</title>") && html.contains("<nav>y</nav>"), "{html}");
        for name in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-initializer.js", "favicon-32x32.png"]
            .into_iter()
            .chain(OWN_FILES.map(|(name, ..)| name))
        {
            let asset = swagger_ui.asset(name).unwrap().unwrap();
            assert!(html.contains(&format!("\"./{name}?v={}\"", asset.hash)), "{html}");
        }
        assert!(swagger_ui.asset("no-such-file").unwrap().is_none());
        assert!(swagger_ui.assets.read().keys().all(|name| name != "no-such-file"));
    }

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
            assert_eq!(bar.matches("<a ").count(), 3, "{bar}");
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
