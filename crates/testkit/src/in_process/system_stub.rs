//! A stub of the system service with the operations that other services call.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use uuid::Uuid;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::user::User;

/// Serves `POST /v1/files/resolve` for the added files, address searches and locations for the added postcodes, and
/// `GET /healthz`, until this is dropped.
pub struct SystemStub {
    server: MockServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    files: Vec<Value>,
    archived: HashSet<String>,
    /// Status of responses to calls that share files, if not 200.
    share_status: Option<u16>,
    /// Delay of responses to calls that name at least this many files.
    delay: Option<(usize, Duration)>,
    /// White space appended to responses, in bytes.
    padding: usize,
    /// Postcodes with their coordinates.
    postcodes: Vec<(String, [f64; 2])>,
    /// Status of responses about places and images, if not 200.
    places_status: Option<u16>,
}

impl SystemStub {
    /// Starts a stub without files on a free port.
    pub async fn start() -> Self {
        let (server, state) = (MockServer::start().await, Arc::<Mutex<State>>::default());
        let resolve = Mock::given(method("POST")).and(path("/v1/files/resolve"));
        resolve.respond_with(Resolve(state.clone())).mount(&server).await;
        for route in [ADDRESSES, LOCATION] {
            let places = Mock::given(method("GET")).and(path(route));
            places.respond_with(Places(state.clone())).mount(&server).await;
        }
        let links = Mock::given(method("GET")).and(path(IMAGE_LINKS));
        links.respond_with(ImageLinks(state.clone())).mount(&server).await;
        let health = Mock::given(method("GET")).and(path("/healthz"));
        health.respond_with(ResponseTemplate::new(200)).mount(&server).await;
        Self { server, state }
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        self.server.uri()
    }

    /// Adds a file with this name that the user uploaded for their organisation. Returns its id. Every caller may read
    /// it.
    pub fn add(&self, name: &str, uploader: &User) -> String {
        self.add_with_name(name, uploader, "Ruth")
    }

    /// Adds a file as [`SystemStub::add`] does, with this name of the uploader.
    pub fn add_with_name(&self, name: &str, uploader: &User, user_name: &str) -> String {
        let id = Uuid::now_v7().to_string();
        let mut file = json!({
            "id": id, "status": "active", "bucket": "images", "type": "image", "name": name,
            "hash": "sha256:00", "contentType": "image/jpeg", "url": format!("{}/v1/files/{id}", self.url()),
            "userId": uploader.claims["sub"], "userName": user_name, "organisations": [],
            "createdAtUTC": "2026-03-01T09:30:00.000Z",
        });
        if let Some(organisation) = uploader.claims.get("org") {
            file["organisationId"] = organisation.clone();
        }
        self.state.lock().files.push(file);
        id
    }

    /// Archives a file. Calls no longer find it.
    pub fn archive(&self, id: &str) {
        self.state.lock().archived.insert(id.to_owned());
    }

    /// Adds a postcode.
    pub fn add_postcode(&self, postcode: &str, lat: f64, lon: f64) {
        self.state.lock().postcodes.push((postcode.to_owned(), [lat, lon]));
    }

    /// Sets the status of responses about places and images. `None` restores 200.
    pub fn set_places_status(&self, status: Option<u16>) {
        self.state.lock().places_status = status;
    }

    /// Returns the texts of the address searches so far.
    pub async fn address_searches(&self) -> Vec<String> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let searches = requests.iter().filter(|request| request.url.path() == ADDRESSES);
        searches.map(|request| parameter(request, "query")).collect()
    }

    /// Returns how often links to images were read.
    pub async fn image_link_calls(&self) -> usize {
        let requests = self.server.received_requests().await.unwrap_or_default();
        requests.iter().filter(|request| request.url.path() == IMAGE_LINKS).count()
    }

    /// Makes a file another than an image.
    pub fn set_content_type(&self, id: &str, content_type: &str) {
        let mut state = self.state.lock();
        let file = state.files.iter_mut().find(|file| file["id"] == id).unwrap();
        file["contentType"] = json!(content_type);
    }

    /// Sets the status of responses to calls that share files. `None` restores 200.
    pub fn set_share_status(&self, status: Option<u16>) {
        self.state.lock().share_status = status;
    }

    /// Delays responses to calls with at least `ids` file ids.
    pub fn delay(&self, ids: usize, delay: Duration) {
        self.state.lock().delay = Some((ids, delay));
    }

    /// Appends this many bytes of white space to responses.
    pub fn pad(&self, bytes: usize) {
        self.state.lock().padding = bytes;
    }

    /// Returns the bodies of the resolve calls so far. Asserts that all have `brief` and those that share a `shareId`,
    /// and removes both members.
    pub async fn calls(&self) -> Vec<Value> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let resolves = requests.iter().filter(|request| request.url.path() == "/v1/files/resolve");
        let body = |request: &Request| {
            let mut body: Value = request.body_json().unwrap();
            let is_share = is_share(&body);
            let members = body.as_object_mut().unwrap();
            assert_eq!(members.remove("brief"), Some(json!(true)));
            assert_eq!(members.remove("shareId").is_some_and(|id| id.is_string()), is_share);
            body
        };
        resolves.map(body).collect()
    }

    /// Returns the bodies of the calls so far that share files, whatever the response.
    pub async fn shares(&self) -> Vec<Value> {
        let mut calls = self.calls().await;
        calls.retain(is_share);
        calls
    }
}

/// Returns the member `files` of a request that names these files.
pub fn named_files(ids: &[impl AsRef<str>]) -> Value {
    ids.iter().map(|id| json!({ "id": id.as_ref() })).collect()
}

/// Returns the ids of the files that a response lists.
pub fn file_ids(resource: &Value) -> Vec<&str> {
    resource["files"].as_array().unwrap().iter().map(|file| file["id"].as_str().unwrap()).collect()
}

/// Returns true if the body of a call shares files.
fn is_share(body: &Value) -> bool {
    body["shareWith"].as_array().is_some_and(|with| !with.is_empty())
}

struct Resolve(Arc<Mutex<State>>);

impl Respond for Resolve {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert!(request.headers.contains_key("authorization"), "the caller's token is passed on");
        let body: Value = request.body_json().unwrap();
        let state = self.0.lock();
        if let Some(status) = state.share_status.filter(|_| is_share(&body)) {
            return ResponseTemplate::new(status);
        }
        let ids: Vec<_> = body["ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let found = |id: &&str| {
            let file = state.files.iter().find(|file| file["id"] == **id).cloned();
            file.filter(|_| !state.archived.contains(*id))
        };
        let mut body = serde_json::to_vec(&ids.iter().filter_map(found).collect::<Vec<_>>()).unwrap();
        body.resize(body.len() + state.padding, b' ');
        let response = ResponseTemplate::new(200).set_body_raw(body, "application/json");
        match state.delay {
            Some((from, delay)) if ids.len() >= from => response.set_delay(delay),
            _ => response,
        }
    }
}

const ADDRESSES: &str = "/v1/public/addresses";
const LOCATION: &str = "/v1/public/locations/address";

/// Returns a query parameter, or an empty text without it.
fn parameter(request: &Request, name: &str) -> String {
    let value = request.url.query_pairs().find(|(other, _)| other == name);
    value.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The id of a postcode is `postcode:` and its text.
struct Places(Arc<Mutex<State>>);

impl Respond for Places {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert!(!request.headers.contains_key("authorization"), "places are public");
        let state = self.0.lock();
        if let Some(status) = state.places_status {
            return ResponseTemplate::new(status);
        }
        let is_search = request.url.path() == ADDRESSES;
        let text = if is_search {
            parameter(request, "query")
        } else {
            parameter(request, "id").replace("postcode:", "")
        };
        let found = state.postcodes.iter().find(|(postcode, _)| *postcode == text);
        let Some((postcode, [lat, lon])) = found else {
            let nothing = ResponseTemplate::new(if is_search { 200 } else { 404 });
            return nothing.set_body_json(json!({"results": []}));
        };
        ResponseTemplate::new(200).set_body_json(if is_search {
            let hit = json!({"id": format!("postcode:{postcode}"), "type": "postcode", "text": postcode, "source": "stub"});
            let mut best = hit.clone();
            best["results"] = json!([hit]);
            best
        } else {
            json!({
                "threeWords": "a.b.c", "address": {"countryName": "United Kingdom", "countryISO": "GB"},
                "coordinates": {"lat": lat, "lon": lon},
            })
        })
    }
}

const IMAGE_LINKS: &str = "/v1/public/images/links";

/// The link to an image is `https://system.example/` and its id.
struct ImageLinks(Arc<Mutex<State>>);

impl Respond for ImageLinks {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        assert!(!request.headers.contains_key("authorization"), "visitors have no token");
        let state = self.0.lock();
        if let Some(status) = state.places_status {
            return ResponseTemplate::new(status);
        }
        let ids = parameter(request, "ids");
        assert!(ids.split(',').count() <= 50);
        let is_image = |id: &&str| {
            let file = state.files.iter().find(|file| file["id"] == **id);
            let image = file.is_some_and(|file| file["contentType"].as_str().unwrap().starts_with("image/"));
            image && !state.archived.contains(*id)
        };
        let widths = parameter(request, "widths");
        let link = |id| {
            let url = format!("https://system.example/{id}");
            let of_width = |width: &str| (width.to_owned(), json!(format!("{url}?width={width}")));
            let urls: serde_json::Map<_, _> = widths.split(',').map(of_width).collect();
            json!({"id": id, "url": url, "urls": urls, "expiresAtUTC": "2026-03-01T11:30:00.000Z"})
        };
        let links: Vec<_> = ids.split(',').filter(is_image).map(link).collect();
        ResponseTemplate::new(200).set_body_json(links)
    }
}
