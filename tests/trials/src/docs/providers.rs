//! The examples of identity providers: a service with the settings of the page accepts the token of the page.

use std::collections::BTreeSet;
use std::fs;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::market;
use testkit::processes::checkout;
use testkit::processes::environment::{Environment, variables};
use testkit::processes::http::Body;
use testkit::processes::tokens::DevKeys;
use testkit::processes::trial::Trial;

use crate::markdown::Page;

const PAGE: &str = "docs/operations/identity-providers.md";
const SCOPE: &str = "deploy/identity/keycloak-client-scope.json";
/// The prefix of claims that the Action of Auth0 sets.
const NAMESPACE: &str = "https://drover.example/";

/// Checks the examples of both providers.
pub fn run(trial: &Trial<'_>, pages: &[Page]) -> Result<()> {
    let page = pages.iter().find(|page| page.path == PAGE).context("the page is missing")?;
    for (provider, org) in [("keycloak", "org"), ("auth0", "org_id")] {
        let claims: Value = serde_json::from_str(page.block("json", provider)?)?;
        let names: BTreeSet<_> = claims.as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
        let is_set = |claim: &str| names.contains(claim);
        if provider == "keycloak" {
            let scope: Value = serde_json::from_str(&fs::read_to_string(checkout::root().join(SCOPE))?)?;
            let mappers = scope["protocolMappers"].as_array().context("the scope has no mappers")?;
            let mapped = mappers.iter().filter_map(|mapper| mapper["config"]["claim.name"].as_str());
            ensure!(mapped.filter(|claim| is_set(claim)).count() == 3, "{SCOPE} and {PAGE} differ");
        } else {
            let action = page.blocks.iter().find(|block| block.language == "js").context("no action")?;
            let set = action.text.split("claim(\"").skip(1).filter_map(|rest| rest.split('"').next());
            let is_set = |name: &&str| is_set(&format!("{NAMESPACE}{name}"));
            ensure!(set.filter(is_set).count() == 3, "the action and the token of {PAGE} differ");
        }
        let result = check(trial, provider, page.block("toml", provider)?, &claims, org);
        result.with_context(|| format!("{PAGE}: the example of {provider} is wrong"))?;
        trial.note(format!("docs: settings and token of {provider}"), "accepted", "accepted");
    }
    Ok(())
}

/// Starts logistics with the settings and sends requests with the token.
fn check(trial: &Trial<'_>, provider: &str, toml: &str, claims: &Value, org: &str) -> Result<()> {
    let service = trial.service("logistics", provider, None, settings(toml))?;
    let keys = DevKeys::load_or_create(&trial.path("keys"))?;
    let roles = claims.as_object().into_iter().flatten().map(|(name, _)| name);
    let roles = roles.rev().find(|name| name.ends_with("roles")).context("the token has no roles")?;
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
    let token = |admin: bool| {
        let mut claims = claims.clone();
        (claims["iat"], claims["exp"]) = (json!(now), json!(now + 600));
        if admin {
            claims[roles] = json!(["admin"]);
        }
        keys.sign(&claims)
    };
    let organisation = claims[org].as_str().context("the token has no organisation")?;
    let load = Body::Json(market::carried_load(organisation, provider));
    let created = service.send("POST", "/v1/loads/carrier", &token(false), &load)?.json;
    let path = format!("/v1/loads/{}", created["id"].as_str().unwrap_or_default());
    let stored = service.get(&path, &token(false))?.json;
    ensure!(stored["createdBy"]["organisationId"] == organisation, "another organisation: {stored}");
    ensure!(stored["carrier"]["name"] == "Hereford Haulage", "another name: {stored}");
    ensure!(service.get("/v1/settings", &token(false)).is_err(), "the user is an administrator");
    service.get("/v1/settings", &token(true)).context("an administrator is not recognized")?;
    Ok(())
}

/// Returns the variables of the page's TOML, without the address of the provider's keys.
fn settings(toml: &str) -> Environment {
    let (mut section, mut settings) = ("", Vec::new());
    for line in toml.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((name, value)) = line.split_once(" = ").filter(|(name, _)| *name != "jwks_url") {
            let name = format!("{section}.{name}").replace('.', "__").to_uppercase();
            settings.push((name, value.trim_matches('"')));
        }
    }
    variables(settings.iter().map(|(name, value)| (&**name, *value)))
}
