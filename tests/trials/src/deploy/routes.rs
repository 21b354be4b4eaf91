//! Rules for the Ingress and for the Gateway with its HTTPRoute: both serve the same paths of one host.
//!
//! kubernetes-validate has no schemas of the Gateway API, whose kinds are custom resources, so these rules also check
//! what the schemas would.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::processes::checkout::{CONSOLE, SERVICES};

use super::references::{Documented, title};
use crate::deploy::objects::{Rule, array, find, has_port, of_kind, rule, site, text};

/// Paths of a service that clients may use: type of the match, and path without the name of the service.
const PATHS: [(&str, &str); 4] =
    [("PathPrefix", "/v1"), ("PathPrefix", "/docs"), ("Exact", "/openapi.json"), ("Exact", "/healthz")];
/// The same as the regular expression of an Ingress. Its first group is the path that the service gets.
const INGRESS_PATHS: &str = r"((v1|docs)(/.*)?|openapi\.json|healthz)$";
/// The paths of the console: all others, without those of operators.
const CONSOLE_PATHS: &str = r"((?!metrics$|readyz$).*)$";

/// Checks the rules.
pub fn rules(all: &[Value], documented: &Documented) -> Vec<Rule> {
    let mut rules = Vec::new();
    let url = public_url(all, "system");
    let host = url.strip_prefix("https://").and_then(|rest| rest.strip_suffix("/system")).unwrap_or_default();
    for service in SERVICES {
        let expected = format!("https://{host}/{service}");
        let is_right = !host.is_empty() && public_url(all, service) == expected;
        rules.push(rule(is_right, format!("the public URL of {service} must be {expected}")));
    }
    let is_right = public_url(all, CONSOLE) == format!("https://{host}");
    rules.push(rule(is_right, format!("the public URL of the console must be https://{host}")));
    let ways = of_kind(all, "Ingress").count() + of_kind(all, "Gateway").count();
    rules.push(rule(ways == 1, "a site must have either an Ingress or a Gateway"));
    for object in all {
        let found = match text(&object["kind"]) {
            "Ingress" => ingress_rules(object, all, host, documented),
            "Gateway" => gateway_rules(object, host, documented),
            "HTTPRoute" => http_route_rules(object, all, host),
            _ => Vec::new(),
        };
        rules.extend(found.into_iter().map(|rule| rule.of(&title(object))));
    }
    rules
}

fn public_url<'a>(all: &'a [Value], service: &str) -> &'a str {
    site(all, service).map_or("", |variables| variables.get("DROVER_SERVER__PUBLIC_URL").map_or("", text))
}

fn ingress_rules(ingress: &Value, all: &[Value], host: &str, documented: &Documented) -> Vec<Rule> {
    let (spec, annotations) = (&ingress["spec"], &ingress["metadata"]["annotations"]);
    let paths: Vec<_> = array(&spec["rules"]).flat_map(|rule| array(&rule["http"]["paths"])).collect();
    let mut rules = vec![
        rule(array(&spec["rules"]).all(|rule| rule["host"] == host), format!("the host must be {host}")),
        rule(array(&spec["tls"]).any(|tls| tls["hosts"] == json!([host])), format!("{host} must have TLS")),
        rule(
            annotations["nginx.ingress.kubernetes.io/rewrite-target"] == "/$1",
            "the prefix must be removed",
        ),
        rule(paths.len() == SERVICES.len() + 1, "there must be one path for each service, and the console's"),
    ];
    rules.extend(array(&spec["tls"]).map(|tls| documented.secret_rule(text(&tls["secretName"]))));
    let expected = SERVICES.map(|service| (service, format!("/{service}/{INGRESS_PATHS}")));
    let expected = expected.into_iter().chain([(CONSOLE, format!("/{CONSOLE_PATHS}"))]);
    for ((service, expected), path) in expected.zip(paths) {
        let backend = &path["backend"]["service"];
        rules.push(rule(path["path"] == expected, format!("the path must be {expected}")));
        rules.push(rule(backend["name"] == service, format!("{expected} must lead to {service}")));
        let exists = has_port(all, text(&backend["name"]), &backend["port"]["name"]);
        rules.push(rule(exists, format!("the Service and port {backend} must exist")));
    }
    rules
}

fn gateway_rules(gateway: &Value, host: &str, documented: &Documented) -> Vec<Rule> {
    let spec = &gateway["spec"];
    let mut rules = vec![rule(!text(&spec["gatewayClassName"]).is_empty(), "gatewayClassName must be set")];
    for listener in array(&spec["listeners"]) {
        let certificates = &listener["tls"]["certificateRefs"];
        rules.push(rule(listener["hostname"] == host, format!("the host must be {host}")));
        rules.push(rule(listener["protocol"] == "HTTPS", "every listener must have TLS"));
        rules.push(rule(array(certificates).count() == 1, "a listener must have one certificate"));
        rules.extend(
            array(certificates).map(|certificate| documented.secret_rule(text(&certificate["name"]))),
        );
    }
    rules
}

fn http_route_rules(route: &Value, all: &[Value], host: &str) -> Vec<Rule> {
    let spec = &route["spec"];
    let mut rules = vec![
        rule(spec["hostnames"] == json!([host]), format!("hostnames must be {host}")),
        rule(array(&spec["parentRefs"]).count() == 1, "there must be one parent"),
        rule(array(&spec["rules"]).count() <= 16, "there must be at most 16 rules"),
    ];
    for parent in array(&spec["parentRefs"]) {
        let gateway = find(all, "Gateway", text(&parent["name"]));
        let mut listeners = gateway.into_iter().flat_map(|gateway| array(&gateway["spec"]["listeners"]));
        let exists = listeners.any(|listener| listener["name"] == parent["sectionName"]);
        rules.push(rule(exists, format!("the Gateway and listener {parent} must exist")));
    }
    let mut found = BTreeSet::new();
    for entry in array(&spec["rules"]) {
        let path = &entry["matches"][0]["path"];
        let (kind, full) = (text(&path["type"]), text(&path["value"]));
        if full == "/" || full == "/metrics" {
            rules.extend(console_rules(entry, all, full == "/").into_iter().map(|rule| rule.of(full)));
            continue;
        }
        let service = full.split('/').nth(1).unwrap_or_default();
        let rest = full.get(service.len() + 1..).unwrap_or_default();
        found.insert((service, kind, rest));
        rules.extend(entry_rules(entry, all, service, (kind, rest)).into_iter().map(|rule| rule.of(full)));
    }
    let expected = SERVICES.into_iter().flat_map(|service| PATHS.map(|(kind, path)| (service, kind, path)));
    let expected: BTreeSet<_> = expected.collect();
    rules.push(rule(found == expected, format!("the paths must be {expected:?}")));
    rules
}

/// Checks a rule of an HTTPRoute for the console: for all paths that are left, or for those of operators.
fn console_rules(entry: &Value, all: &[Value], is_rest: bool) -> Vec<Rule> {
    let paths: Vec<_> = array(&entry["matches"])
        .map(|found| (text(&found["path"]["type"]), text(&found["path"]["value"])))
        .collect();
    let backend = &entry["backendRefs"][0];
    if is_rest {
        return vec![
            rule(paths == [("PathPrefix", "/")], "all other paths must be the console's"),
            rule(backend["name"] == CONSOLE, "the backend must be the console"),
            rule(
                has_port(all, CONSOLE, &backend["port"]),
                format!("the Service and port {backend} must exist"),
            ),
            rule(entry["timeouts"]["request"] == "0s", "the timeout of the request must be off"),
        ];
    }
    let expected = [("Exact", "/metrics"), ("Exact", "/readyz")];
    let redirect = &entry["filters"][0]["requestRedirect"]["path"]["replaceFullPath"];
    vec![
        rule(paths == expected, format!("the paths of operators must be {expected:?}")),
        rule(backend.is_null() && *redirect == "/", "the paths of operators must lead to the first page"),
    ]
}

/// Checks one rule of an HTTPRoute, for a path of a service.
fn entry_rules(entry: &Value, all: &[Value], service: &str, (kind, path): (&str, &str)) -> Vec<Rule> {
    let filter = |kind: &str| array(&entry["filters"]).find(|filter| filter["type"] == kind);
    let rewrite = filter("URLRewrite").map(|filter| &filter["urlRewrite"]["path"]);
    let expected = match kind {
        "PathPrefix" => json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": path}),
        _ => json!({"type": "ReplaceFullPath", "replaceFullPath": path}),
    };
    let sent = filter("ResponseHeaderModifier").map(|filter| &filter["responseHeaderModifier"]["set"]);
    let mut sent = sent.into_iter().flat_map(array);
    let hsts = sent.any(|header| {
        let policy = header["value"].as_str().unwrap_or_default();
        header["name"] == "Strict-Transport-Security" && policy.contains("includeSubDomains")
    });
    let headers = filter("RequestHeaderModifier").map(|filter| &filter["requestHeaderModifier"]["remove"]);
    let removes = |name: &str| headers.is_some_and(|headers| array(headers).any(|header| header == name));
    let backend = &entry["backendRefs"][0];
    vec![
        // ReplacePrefixMatch allows one match only.
        rule(array(&entry["matches"]).count() == 1, "there must be one match"),
        rule(rewrite == Some(&expected), format!("the rewrite must be {expected}")),
        rule(
            ["Forwarded", "traceparent", "tracestate"].iter().all(|name| removes(name)),
            "Forwarded, traceparent and tracestate must be removed",
        ),
        rule(hsts, "Strict-Transport-Security must be set, for subdomains too"),
        rule(entry["timeouts"]["request"] == "0s", "the timeout of the request must be off"),
        rule(array(&entry["backendRefs"]).count() == 1, "there must be one backend"),
        rule(backend["name"] == service, format!("the backend must be {service}")),
        rule(has_port(all, service, &backend["port"]), format!("the Service and port {backend} must exist")),
    ]
}
