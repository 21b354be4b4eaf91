//! Traces across the services, as a collector receives them.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use serde_json::json;
use testkit::TestDatabase;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

/// The name of a service and a span that it exported.
type ExportedSpan = (String, Span);

/// Starts a server that accepts spans and webhooks.
async fn collector() -> MockServer {
    let server = MockServer::start().await;
    for at in ["/v1/traces", "/hook"] {
        Mock::given(path(at)).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    }
    server
}

/// Starts a service that exports this ratio of its traces.
async fn start<S: common::Service>(
    backend: Backend,
    settings: S::Settings,
    collector: &MockServer,
    ratio: f64,
) -> App {
    let database = TestDatabase::new::<S>(backend).await;
    let mut config = testkit::config::<S>(&database, settings);
    config.traces.url = Some(format!("{}/v1/traces", collector.uri()).parse().unwrap());
    config.traces.ratio = ratio;
    config.traces.headers = vec!["x-collector=let-me-in".into()];
    Box::pin(App::start_with::<S>(database, config)).await
}

/// Returns all exported spans, and the text of the requests.
async fn exported(collector: &MockServer) -> (Vec<ExportedSpan>, String) {
    let (mut all, mut bytes) = (Vec::new(), String::new());
    for request in collector.received_requests().await.unwrap() {
        if request.url.path() != "/v1/traces" {
            continue;
        }
        assert_eq!(request.headers["x-collector"], "let-me-in");
        bytes += &String::from_utf8_lossy(&request.body);
        for resource_spans in ExportTraceServiceRequest::decode(&*request.body).unwrap().resource_spans {
            let resource = resource_spans.resource.unwrap().attributes;
            let attribute =
                |name: &str| resource.iter().find(|a| a.key == name).map(|a| text(a.value.as_ref())).unwrap();
            assert_eq!(attribute("service.version"), env!("CARGO_PKG_VERSION"));
            assert!(!attribute("service.instance.id").is_empty());
            let spans = resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
            all.extend(spans.map(|span| (attribute("service.name"), span)));
        }
    }
    (all, bytes)
}

/// Returns the text of a string or integer attribute.
fn text(value: Option<&opentelemetry_proto::tonic::common::v1::AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Returns the text of an attribute, empty without it.
fn attribute(span: &Span, name: &str) -> String {
    span.attributes.iter().find(|a| a.key == name).map(|a| text(a.value.as_ref())).unwrap_or_default()
}

/// Returns the spans of a service with this name and parent.
fn spans<'a>(all: &'a [ExportedSpan], service: &str, name: &str, parent: &[u8]) -> Vec<&'a Span> {
    all.iter()
        .filter(|(of, span)| of == service && span.name == name && span.parent_span_id == parent)
        .map(|(_, span)| span)
        .collect()
}

/// Returns the only span of a service with this name and parent.
fn span<'a>(all: &'a [ExportedSpan], service: &str, name: &str, parent: &[u8]) -> &'a Span {
    let matching = spans(all, service, name, parent);
    assert_eq!(matching.len(), 1, "{service} {name} {parent:?} in {all:#?}");
    matching[0]
}

testkit::on_both! {
    async fn a_trace_spans_services_and_contains_no_personal_data(backend) {
        let (collector, files) = (collector().await, tempfile::tempdir().unwrap());
        let store_url = format!("file://{}", files.path().display());
        let settings = system::Settings { store_url, ..Default::default() };
        let system = start::<System>(backend, settings, &collector, 0.0).await;
        let settings = logistics::Settings {
            system_url: system.url.clone(),
            webhook_url: Some(format!("{}/hook", collector.uri()).parse().unwrap()),
            webhook_secrets: vec!["whsec_dHJhY2VzLXRlbGwtb2Ytbm8tc2VjcmV0LXdoYXRldmVy".into()],
            webhook_allow_private: true,
            ..Default::default()
        };
        let logistics = start::<Logistics>(backend, settings, &collector, 1.0).await;
        let user = User::of("hauliersecret").with("name", "Personsecret").with("orgName", "Namesecret");

        let part = Part::bytes(photograph("x")).file_name("filesecret.jpg").mime_str("image/jpeg").unwrap();
        let form = Form::new().text("bucket", "images").text("type", "weighbridge").text("name", "filesecret");
        let file = system.post("/v1/files").by(&user).form(form.part("file", part)).send().await.ok();
        let form = json!({
            "carrierId": "hauliersecret", "carrierName": "Namesecret", "commodityId": 1, "reference": "refsecret",
            "deliveryDateISO": "2026-03-01", "weight": null, "tags": ["tagsecret"], "files": [{"id": file["id"]}],
        });
        let load = logistics.post("/v1/loads/carrier").by(&user).json(&form).send().await.ok();
        logistics.get("/v1/loads?query=querysecret").by(&user).send().await.ok();
        let sending = json!({"loadId": load["id"], "driverId": "driversecret"});
        logistics.post("/v1/loads/send-to-driver").by(&user).json(&sending).send().await.ok();
        logistics.call("BREW", "/v1/pathsecret").send().await;
        logistics.get("/healthz").send().await.ok();
        for _ in 0..200 {
            let called = collector.received_requests().await.unwrap();
            if called.iter().any(|request| request.url.path() == "/hook") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        logistics.stop().await;
        system.stop().await;

        let (all, bytes) = exported(&collector).await;
        let created = span(&all, "logistics", "POST /v1/loads/carrier", &[]);
        assert_eq!((created.kind(), created.trace_id.len()), (SpanKind::Server, 16));
        for (name, value) in [
            ("http.request.method", "POST"), ("http.route", "/v1/loads/carrier"), ("http.response.status_code", "200"),
        ] {
            assert_eq!(attribute(created, name), value, "{name}");
        }
        // Looks up the files, and shares them after the commit.
        let calls = spans(&all, "logistics", "POST", &created.span_id);
        assert_eq!(calls.len(), 2, "{calls:#?}");
        let mut resolved = Vec::new();
        for call in calls {
            assert_eq!((call.kind(), &call.trace_id), (SpanKind::Client, &created.trace_id));
            let served = span(&all, "system", "POST /v1/files/resolve", &call.span_id);
            assert_eq!((served.kind(), &served.trace_id), (SpanKind::Server, &created.trace_id));
            resolved.push(&served.span_id);
        }
        let writes = spans(&all, "logistics", "write", &created.span_id);
        assert_eq!(writes.len(), 2, "stores the load with its share, then removes the share: {writes:#?}");
        let database = if matches!(backend, Backend::Sqlite) { "sqlite" } else { "postgresql" };
        for stored in writes {
            assert_eq!((attribute(stored, "db.system.name"), attribute(stored, "db.namespace")), (database.into(), "logistics".into()));
        }
        // system has a ratio of 0: it exports only spans of traces that callers sampled.
        let others = all.iter().filter(|(of, span)| of == "system" && !resolved.contains(&&span.span_id));
        let parents: Vec<_> = others.map(|(_, span)| &span.parent_span_id).collect();
        assert!(!parents.is_empty() && parents.iter().all(|parent| resolved.contains(parent)), "{all:#?}");
        let delivered = span(&all, "logistics", "deliver notification", &[]);
        assert_eq!(attribute(span(&all, "logistics", "POST", &delivered.span_id), "http.response.status_code"), "200");
        let unknown_method = all.iter().find(|(_, span)| attribute(span, "http.request.method") == "_OTHER").map(|(_, span)| span);
        assert_eq!(unknown_method, None, "requests without an operation are not sampled");
        assert!(all.iter().all(|(_, span)| !span.name.contains("healthz")));
        assert!(!bytes.contains("secret"), "{all:#?}");
        assert!(!bytes.contains(&*user.token()) && !bytes.contains("user-of"), "{all:#?}");
    }

    async fn the_caller_decides_on_sampling(backend) {
        let collector = collector().await;
        let (never, always) = (
            start::<Logistics>(backend, logistics::Settings::default(), &collector, 0.0).await,
            start::<Logistics>(backend, logistics::Settings::default(), &collector, 1.0).await,
        );
        let (yes, no) = ("0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c");
        let send = async |app: &App, trace: &str, flags: &str| {
            let parent = format!("00-{trace}-b7ad6b7169203331-{flags}");
            let call = app.get("/v1/loads/0190f5fe-0000-7000-8000-000000000000").by(&User::of("haul"));
            assert_eq!(call.header("traceparent", &parent).send().await.status, 404);
        };
        send(&never, yes, "01").await;
        send(&always, no, "00").await;
        never.get("/v1/loads").by(&User::of("haul")).send().await.ok();
        never.stop().await;
        always.stop().await;
        let (all, _) = exported(&collector).await;
        let parent = [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31];
        let sampled = span(&all, "logistics", "GET /v1/loads/{id}", &parent);
        assert_eq!(attribute(sampled, "http.response.status_code"), "404");
        assert_eq!(sampled.trace_id, u128::from_str_radix(yes, 16).unwrap().to_be_bytes());
        assert!(all.iter().all(|(_, span)| span.trace_id == sampled.trace_id), "{all:#?}");
    }
}
