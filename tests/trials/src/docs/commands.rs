//! Blocks of commands, and commands in the text.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::Value;
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::tools::{self, path_with};
use testkit::processes::trial::Trial;

use crate::markdown::Page;
use crate::restore;

/// Languages of blocks without commands. SQL, TOML and named JSON are executed by `execute` and `providers`.
const OTHER_LANGUAGES: [&str; 6] = ["json", "toml", "ini", "sql", "js", "mermaid"];

/// Checks how each block is tested, and parses it. Returns the number of blocks.
///
/// A block of commands is `sh run` (executed here), `sh NAME` (executed by the restore drill), or `sh syntax: REASON`
/// (parsed, because it needs something that the tests do not have).
pub fn check_blocks(pages: &[Page], defects: &mut Vec<String>) -> Result<usize> {
    let shellcheck = tools::find("shellcheck")?;
    let blocks: Vec<_> = pages.iter().flat_map(|page| &page.blocks).collect();
    let mut drill = BTreeSet::from(restore::BLOCKS);
    for block in &blocks {
        let place = &block.place;
        match &*block.language {
            "sh" => {
                let has_reason = block.info.strip_prefix("syntax: ").is_some_and(|reason| !reason.is_empty());
                if !has_reason && block.info != "run" && !drill.remove(&*block.info) {
                    defects.push(format!("{place}: say how the block is tested, not `{}`", block.info));
                }
                for (program, arguments) in [
                    (Path::new("sh"), &["-n"][..]),
                    (&shellcheck, &["--shell=sh", "--exclude=SC1091,SC2034", "-"]),
                ] {
                    if let Err(error) = parse(program, arguments, &block.text) {
                        defects.push(format!("{place}: {error:#}"));
                    }
                }
                let files = block.text.split([' ', '\n', '"', '\'', '=']);
                for path in files.filter(|word| word.starts_with("deploy/") || word.starts_with(".ci/")) {
                    if !checkout::root().join(path).exists() {
                        defects.push(format!("{place}: {path} does not exist"));
                    }
                }
            }
            "json" => {
                if let Err(error) = serde_json::from_str::<Value>(&block.text) {
                    defects.push(format!("{place}: {error}"));
                }
            }
            "python" => {
                let arguments = ["-c", "import ast, sys; ast.parse(sys.stdin.read())"];
                if let Err(error) = parse(Path::new("python3"), &arguments, &block.text) {
                    defects.push(format!("{place}: {error:#}"));
                }
            }
            other if OTHER_LANGUAGES.contains(&other) => {}
            other => defects.push(format!("{place}: no test knows blocks of {other}")),
        }
    }
    defects.extend(drill.iter().map(|name| format!("no page has the block {name} of the restore drill")));
    Ok(blocks.len())
}

fn parse(program: &Path, arguments: &[&str], script: &str) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    child.stdin.take().context("no input")?.write_all(script.as_bytes())?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{text}");
    Ok(())
}

/// Checks that the commands in blocks and code spans exist, with their options. Returns the number of commands.
pub fn check_prose(pages: &[Page], programs: &Path, defects: &mut Vec<String>) -> usize {
    let mut commands = BTreeSet::new();
    for page in pages {
        let blocks = page.blocks.iter().filter(|block| block.language == "sh");
        let lines = blocks.flat_map(|block| block.text.lines().map(str::to_owned));
        for text in lines.chain(page.spans.iter().cloned()) {
            commands.extend(xtask(&text).map(|command| (page.path.clone(), "cargo".to_owned(), command)));
        }
        for span in &page.spans {
            let mut words = words(span).into_iter();
            let Some(program) = words.next() else { continue };
            let program = if program == "SERVICE" { SERVICES[0].to_owned() } else { program };
            let arguments: Vec<_> = words.collect();
            if SERVICES.contains(&&*program) && !arguments.is_empty() {
                commands.insert((page.path.clone(), program, arguments));
            }
        }
    }
    for (page, program, arguments) in &commands {
        let result = if program == "cargo" {
            check_xtask(arguments)
        } else {
            has_help(Command::new(programs.join(program)).args(arguments))
        };
        if let Err(error) = result {
            let program = if program == "cargo" { "cargo xtask" } else { program };
            defects.push(format!("{page}: {program} {}: {error:#}", arguments.join(" ")));
        }
    }
    commands.len()
}

/// Returns the arguments of `cargo xtask` in a line.
fn xtask(line: &str) -> Option<Vec<String>> {
    let (_, command) = line.split_once("cargo xtask ")?;
    Some(words(command)).filter(|words| !words.is_empty())
}

/// Splits a command into words, up to a comment or another command.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(end)) if c == end => quote = None,
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            ('#' | '|' | ';' | ')', None) => break,
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn check_xtask(arguments: &[String]) -> Result<()> {
    let (name, rest) = arguments.split_first().context("a command is missing")?;
    if name == "trials" {
        crate::Cli::try_parse_from(arguments)?;
        return Ok(());
    }
    let (package, options) = if name == "bench" { ("bench", rest) } else { ("xtask", arguments) };
    // `--help` comes last, so that everything before it is parsed.
    let options = options.iter().take_while(|word| *word != "--");
    let run = ["run", "--quiet", "--locked", "--package", package, "--"];
    has_help(checkout::cargo().args(run).args(options))
}

fn has_help(command: &mut Command) -> Result<()> {
    let output = command.arg("--help").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_commands() {
        let line = r#"TOKEN=$(cargo xtask token --org-name "Hereford Haulage") # comment"#;
        assert_eq!(xtask(line).unwrap(), ["token", "--org-name", "Hereford Haulage"]);
        assert_eq!(words("cargo xtask up --demo # starts"), ["cargo", "xtask", "up", "--demo"]);
        assert_eq!(xtask("cargo build"), None);
    }

    #[test]
    fn knows_the_options_of_trials() {
        let check = |line: &str| check_xtask(&words(line)).is_ok();
        assert!(check("trials crash --seed 2") && check("trials expand --release v1.0.0"));
        assert!(!check("trials crash --sede 2"));
    }
}
