//! One trace across the services, as a collector sees it.

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

/// A span and the service that sent it.
type Sent = (String, Span);

/// Takes spans, and notifications too.
async fn collector() -> MockServer {
    let server = MockServer::start().await;
    for at in ["/v1/traces", "/hook"] {
        Mock::given(path(at)).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    }
    server
}

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
    App::start_with::<S>(database, config).await
}

/// All that was sent, and the bytes of it.
async fn sent(collector: &MockServer) -> (Vec<Sent>, String) {
    let (mut all, mut bytes) = (Vec::new(), String::new());
    for request in collector.received_requests().await.unwrap() {
        if request.url.path() != "/v1/traces" {
            continue;
        }
        assert_eq!(request.headers["x-collector"], "let-me-in");
        bytes += &String::from_utf8_lossy(&request.body);
        for of in ExportTraceServiceRequest::decode(&*request.body).unwrap().resource_spans {
            let resource = of.resource.unwrap().attributes;
            let named =
                |name: &str| resource.iter().find(|a| a.key == name).map(|a| text(a.value.as_ref())).unwrap();
            assert_eq!(named("service.version"), env!("CARGO_PKG_VERSION"));
            assert!(!named("service.instance.id").is_empty());
            let spans = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
            all.extend(spans.map(|span| (named("service.name"), span)));
        }
    }
    (all, bytes)
}

fn text(value: Option<&opentelemetry_proto::tonic::common::v1::AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

fn attribute(span: &Span, name: &str) -> String {
    span.attributes.iter().find(|a| a.key == name).map(|a| text(a.value.as_ref())).unwrap_or_default()
}

/// The spans of a service with this name and parent.
fn named<'a>(all: &'a [Sent], service: &str, name: &str, parent: &[u8]) -> Vec<&'a Span> {
    all.iter()
        .filter(|(of, span)| of == service && span.name == name && span.parent_span_id == parent)
        .map(|(_, span)| span)
        .collect()
}

/// The only one of them.
fn one<'a>(all: &'a [Sent], service: &str, name: &str, parent: &[u8]) -> &'a Span {
    let found = named(all, service, name, parent);
    assert_eq!(found.len(), 1, "{service} {name} {parent:?} in {all:#?}");
    found[0]
}

testkit::on_both! {
    async fn one_trace_across_services_that_tells_of_nobody(backend) {
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

        let (all, bytes) = sent(&collector).await;
        let made = one(&all, "logistics", "POST /v1/loads/carrier", &[]);
        assert_eq!((made.kind(), made.trace_id.len()), (SpanKind::Server, 16));
        for (name, value) in [
            ("http.request.method", "POST"), ("http.route", "/v1/loads/carrier"), ("http.response.status_code", "200"),
        ] {
            assert_eq!(attribute(made, name), value, "{name}");
        }
        // The files are looked up, and shared after the commit.
        let calls = named(&all, "logistics", "POST", &made.span_id);
        assert_eq!(calls.len(), 2, "{calls:#?}");
        let mut resolved = Vec::new();
        for call in calls {
            assert_eq!((call.kind(), &call.trace_id), (SpanKind::Client, &made.trace_id));
            let answered = one(&all, "system", "POST /v1/files/resolve", &call.span_id);
            assert_eq!((answered.kind(), &answered.trace_id), (SpanKind::Server, &made.trace_id));
            resolved.push(&answered.span_id);
        }
        let writes = named(&all, "logistics", "write", &made.span_id);
        assert_eq!(writes.len(), 2, "the load with its share, then the share is done: {writes:#?}");
        let database = if matches!(backend, Backend::Sqlite) { "sqlite" } else { "postgresql" };
        for stored in writes {
            assert_eq!((attribute(stored, "db.system.name"), attribute(stored, "db.namespace")), (database.into(), "logistics".into()));
        }
        // Of its own accord system traces nothing here.
        let others = all.iter().filter(|(of, span)| of == "system" && !resolved.contains(&&span.span_id));
        let parents: Vec<_> = others.map(|(_, span)| &span.parent_span_id).collect();
        assert!(!parents.is_empty() && parents.iter().all(|parent| resolved.contains(parent)), "{all:#?}");
        let delivered = one(&all, "logistics", "deliver notification", &[]);
        assert_eq!(attribute(one(&all, "logistics", "POST", &delivered.span_id), "http.response.status_code"), "200");
        let odd = all.iter().find(|(_, span)| attribute(span, "http.request.method") == "_OTHER").map(|(_, span)| span);
        assert_eq!(odd, None, "what is no operation is not drawn");
        assert!(all.iter().all(|(_, span)| !span.name.contains("healthz")));
        assert!(!bytes.contains("secret"), "{all:#?}");
        assert!(!bytes.contains(&*user.token()) && !bytes.contains("user-of"), "{all:#?}");
    }

    async fn whoever_asks_decides(backend) {
        let collector = collector().await;
        let (never, always) = (
            start::<Logistics>(backend, logistics::Settings::default(), &collector, 0.0).await,
            start::<Logistics>(backend, logistics::Settings::default(), &collector, 1.0).await,
        );
        let (yes, no) = ("0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c");
        let ask = async |app: &App, trace: &str, flags: &str| {
            let parent = format!("00-{trace}-b7ad6b7169203331-{flags}");
            let call = app.get("/v1/loads/0190f5fe-0000-7000-8000-000000000000").by(&User::of("haul"));
            assert_eq!(call.header("traceparent", &parent).send().await.status, 404);
        };
        ask(&never, yes, "01").await;
        ask(&always, no, "00").await;
        never.get("/v1/loads").by(&User::of("haul")).send().await.ok();
        never.stop().await;
        always.stop().await;
        let (all, _) = sent(&collector).await;
        let parent = [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31];
        let asked = one(&all, "logistics", "GET /v1/loads/{id}", &parent);
        assert_eq!(attribute(asked, "http.response.status_code"), "404");
        assert_eq!(asked.trace_id, u128::from_str_radix(yes, 16).unwrap().to_be_bytes());
        assert!(all.iter().all(|(_, span)| span.trace_id == asked.trace_id), "{all:#?}");
    }
}
