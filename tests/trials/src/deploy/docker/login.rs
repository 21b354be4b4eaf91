//! The profile `login`: users log in on the docs pages in a browser, over TLS, at the provider in its container.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use stack::trial::Trial;

use super::project::Project;
use crate::browser::Browser;
use crate::browser::swagger_ui::{log_in, try_out};
use crate::command::output;

/// Service, user, operation, and what the page must show: the status and a part of the body.
const VISITS: [(&str, &str, &str, &str, &str); 3] = [
    ("logistics", "owen", "search_loads", "200", "["),
    ("system", "anna", "find_settings", "200", r#""level": "info""#),
    ("livestock", "carys", "find_settings", "403", "This needs the role admin."),
];

/// Replaces the test tokens by the sample users, and logs in as some of them.
pub fn run(trial: &Trial<'_>, project: &mut Project<'_>) -> Result<()> {
    let begun = Instant::now();
    let password = project.start_login()?;
    let figure = format!("healthy after {:.0} s", begun.elapsed().as_secs_f64());
    trial.note("docker compose --profile login up", figure, "healthy");
    let mut browser = Browser::start_trusting(Some(&public_key_digest(project)?))?;
    for (service, user, operation, status, part) in VISITS {
        trial.check()?;
        let begun = Instant::now();
        let page = browser.open(&format!("{}/{service}/docs/", project.base()))?;
        log_in(&mut browser, &page, user, &password)
            .with_context(|| format!("{user} at the docs page of {service}"))?;
        let took = begun.elapsed().as_secs_f64();
        let [url, shown, body] = try_out(&mut browser, &page, operation)?;
        let prefix = format!("{}/{service}/v1/", project.base());
        let is_right = url.contains(&prefix) && shown.starts_with(status) && body.contains(part);
        ensure!(is_right, "{user}: {operation}: expected {prefix}, {status}, {part}: {url}, {shown}, {body}");
        trial.note(
            format!("{user} logs in over TLS, {service}: {operation}"),
            format!("{took:.1} s, {shown}"),
            status,
        );
    }
    Ok(())
}

/// The digest of the public key of the proxy's certificate, which the browser is to trust.
fn public_key_digest(project: &Project<'_>) -> Result<String> {
    let script = r#"openssl x509 -in "$1" -noout -pubkey | openssl pkey -pubin -outform der |
        openssl dgst -sha256 -binary | openssl base64"#;
    let mut command = Command::new("sh");
    Ok(output(command.args(["-c", script, "sh"]).arg(project.certificate()))?.trim().to_owned())
}
