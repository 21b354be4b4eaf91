//! Executes the blocks marked `run`, with running services, and all blocks of SQL.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use stack::checkout;
use stack::tools::path_with;
use stack::trial::Trial;

use crate::markdown::Page;

/// The folder of configuration files in the pages.
const CONFIG: &str = "/etc/drover";
/// What the grants of the installation page need.
const ROLES: &str =
    "CREATE ROLE app; CREATE ROLE logistics; CREATE SCHEMA logistics AUTHORIZATION logistics;";

/// Runs the blocks in the checkout. Ports and the folder of configuration files become those of this trial;
/// nothing else differs from what a reader types.
pub fn run(trial: &Trial<'_>, pages: &[Page]) -> Result<()> {
    let stack = trial.stack(&trial.stack_config("docs", false)?)?;
    let config = trial.path("etc").display().to_string();
    fs::create_dir_all(&config)?;
    // curl fails if a response is an error. deploy/examples/env.sh keeps addresses that are set.
    fs::write(format!("{config}/.curlrc"), "fail\nshow-error\nsilent\n")?;
    let mut environment = vec![("CURL_HOME".to_owned(), config.clone())];
    environment.push(("DATA".to_owned(), trial.path("keys").display().to_string()));
    for service in &stack.services {
        environment.push((service.name.to_uppercase(), service.url("")));
        let mut text = String::new();
        for (name, value) in service.config().environment() {
            if let Some(setting) = name.strip_prefix("DROVER_") {
                writeln!(text, "{} = {value:?}", setting.replace("__", ".").to_lowercase())?;
            }
        }
        fs::write(format!("{config}/{}.toml", service.name), text)?;
    }
    let (mut scripts, mut statements) = (0, 0);
    for block in pages.iter().flat_map(|page| &page.blocks) {
        if block.language == "sql" {
            statements += 1;
            let text = format!("BEGIN; {ROLES} {} ROLLBACK;", block.text);
            let result = trial.databases.execute(&trial.servers.postgres_url(), "", &text);
            result.with_context(|| format!("{}: the block fails", block.place))?;
        } else if (&*block.language, &*block.info) == ("sh", "run") {
            scripts += 1;
            let mut text = block.text.replace(CONFIG, &config);
            for (port, service) in (8081..).zip(&stack.services) {
                text = text.replace(&format!(":{port}/"), &format!(":{}/", service.port()));
            }
            let mut shell = Command::new("sh");
            shell.args(["-eu", "-c", &text]).current_dir(checkout::root()).envs(environment.iter().cloned());
            let output = shell.env("PATH", path_with(&[trial.binaries])?).output()?;
            let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
            ensure!(output.status.success(), "{}: the block fails: {out}{error}", block.place);
        }
    }
    trial.expect(scripts > 5, "docs: blocks of commands", scripts.to_string(), "succeed, more than 5")?;
    trial.expect(statements > 1, "docs: blocks of SQL", statements.to_string(), "succeed, more than 1")
}
