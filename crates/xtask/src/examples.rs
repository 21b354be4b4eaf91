//! Runs the examples of `deploy/examples` against services of this machine.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceConfig;
use testkit::processes::tokens::{DevKeys, Identity};
use testkit::processes::{checkout, process};

/// The program that sends the requests.
const RUNNER: &str = "deploy/examples/run";
/// The script that sets the tokens, whose people [`write_environment`] uses.
const PEOPLE: &str = "deploy/examples/env.sh";
/// The variables of the base URLs.
const VARIABLES: [&str; 3] = ["SYSTEM", "LOGISTICS", "LIVESTOCK"];

/// Returns whether curl is installed.
pub fn has_curl() -> bool {
    let version = Command::new("curl").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Sends the requests of all examples. Prints a line for each step, or requests and responses if `verbose`.
pub fn run(services: &[ServiceConfig], data: &Path, verbose: bool, interrupt: &Interrupt) -> Result<()> {
    let mut command = Command::new(checkout::root().join(RUNNER));
    command.args(verbose.then_some("--verbose")).env_remove("AT");
    for (variable, service) in VARIABLES.iter().zip(services) {
        command.env(variable, service.url());
    }
    // deploy/examples/env.sh gets tokens from `xtask token --data DATA`.
    command.env("XTASK", own_path()?);
    command.env("DATA", data);
    let status = process::run(&mut command, interrupt)?;
    let logs = data.join("log");
    ensure!(
        status.success(),
        "the examples failed: the step is named above, the logs are in {}",
        logs.display()
    );
    Ok(())
}

/// Writes a file of the data folder that sets the base URLs and a token for each person of the examples, readable by
/// its owner only. Returns its path.
pub fn write_environment(
    services: &[ServiceConfig],
    data: &Path,
    keys: &DevKeys,
    ttl: Duration,
) -> Result<PathBuf> {
    let mut lines =
        String::from("# The services of `cargo xtask up`, and a token for each person of the examples.\n");
    for (variable, service) in VARIABLES.iter().zip(services) {
        lines.extend(["export ", variable, "='", &service.url(), "'\n"]);
    }
    let people =
        fs::read_to_string(checkout::root().join(PEOPLE)).with_context(|| format!("cannot read {PEOPLE}"))?;
    for [variable, user, name, org, org_name, role] in people.lines().filter_map(person) {
        let roles: Vec<String> =
            Some(role).filter(|role| !role.is_empty()).map(str::to_owned).into_iter().collect();
        let (name, org, org_name) = (Some(name), Some(org), Some(org_name));
        let token = Identity { user, name, org, org_name, roles: &roles }.token(keys, ttl);
        lines.extend(["export ", variable, "='", &token, "'\n"]);
    }
    let path = data.join("env.sh");
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| {
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(lines.as_bytes())
    });
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Reads a line of [`PEOPLE`] that sets a token: `person VARIABLE USER NAME ORGANISATION "NAME" [ROLE]`.
fn person(line: &str) -> Option<[&str; 6]> {
    let words = line.trim().trim_end_matches("&&").trim().strip_prefix("person ")?;
    let (before, rest) = words.split_once(" \"")?;
    let (org_name, role) = rest.split_once('"')?;
    let mut before = before.split(' ');
    let mut next = || before.next();
    Some([next()?, next()?, next()?, next()?, org_name, role.trim()])
}

/// Returns the path of this program. Linux marks it if cargo has replaced the file since the program started.
fn own_path() -> Result<PathBuf> {
    let path = env::current_exe().context("cannot find the path of this program")?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use std::process::Output;

    use testkit::processes::http::listen;

    use super::*;

    #[test]
    fn the_environment_has_urls_and_tokens_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let keys = DevKeys::load_or_create(folder.path()).unwrap();
        let config =
            crate::launch::config(&crate::cli::BackendArgs::default(), folder.path(), 9000, &Vec::new());
        let services = config.services().unwrap();
        let path = write_environment(&services, folder.path(), &keys, Duration::from_secs(60)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let shell = format!(". '{}' && echo $LIVESTOCK $RUTH $ANNA", path.display());
        let output = Command::new("sh").args(["-euc", &shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let [url, ruth, anna] = text.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(url == "http://127.0.0.1:9002" && ruth.starts_with("ey") && anna.starts_with("ey"), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap().matches("='ey").count(), 8);
    }

    #[test]
    fn reads_the_people_of_the_examples() {
        let read = person(r#"    person ANNA anna Anna drover "Drover" admin"#).unwrap();
        assert_eq!(read, ["ANNA", "anna", "Anna", "drover", "Drover", "admin"]);
        let read = person(r#"person RUTH ruth Ruth hereford-haulage "Hereford Haulage" &&"#).unwrap();
        assert_eq!(read, ["RUTH", "ruth", "Ruth", "hereford-haulage", "Hereford Haulage", ""]);
        assert!(person("person() {").is_none() && person("# person").is_none());
    }

    const ID: &str = "0198f0c1-7b1a-7c3e-8a55-0a1b2c3d4e5f";

    /// A server that responds to every request with this body.
    fn server(body: String) -> u16 {
        listen(move |_| Some(body.clone())).unwrap()
    }

    /// Runs an example against a server.
    fn run_example(port: u16, example: &str) -> Output {
        assert!(has_curl(), "install curl");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("example.sh");
        fs::write(&path, example).unwrap();
        let mut command = Command::new(checkout::root().join(RUNNER));
        command.arg(path).env_remove("AT").env("FILE", checkout::root().join("LICENSE"));
        for person in ["RUTH", "OWEN", "DAI", "CARYS", "TOM", "SILAS", "ANNA"] {
            command.env(person, "token");
        }
        command.env("SYSTEM", format!("http://127.0.0.1:{port}")).output().unwrap()
    }

    #[test]
    fn each_kind_of_check_passes_and_fails() {
        let body = format!(
            r#"{{"id": "{ID}", "status": "error", "code": "conflict", "message": "m", "stack": "", "text": "a \"b\" = c",
            "body": {{"requestId": ""}}, "validation": [{{"path": "b"}}, {{"path": "a"}}], "list": [{{"n": 1}}, {{"n": 2.5}}]}}"#
        );
        let (json, list) = (server(body), server("[]".to_owned()));
        let licence = server(fs::read_to_string(checkout::root().join("LICENSE")).unwrap());
        for (port, check, passes) in [
            (json, "expect 404", false),
            (json, "expect 200 conflict", true),
            (json, "expect 200 forbidden", false),
            (list, "expect 200 conflict", false),
            (json, "fields a, b", true),
            (json, "fields a", false),
            (json, "check list[*].n = 2.5", true),
            (json, "check list[1].n = 2.5", true),
            (json, "check list[0].n = 2.5", false),
            (json, r#"check text = a "b" = c"#, true),
            (json, "check missing = 1", false),
            (json, "check id is a UUID", true),
            (json, "check code is a UUID", false),
            (json, "header content-type: application/json", true),
            (json, "header Content-Type: text/csv", false),
            (json, "header ETag: x", false),
            (json, r#"contains "n": 2.5"#, true),
            (json, "contains 7.5", false),
            (json, r#"begins {"id""#, true),
            (json, "begins id", false),
            (list, "is []", true),
            (json, "is []", false),
            (licence, "same as $FILE", true),
            (json, "same as $FILE", false),
            (json, "keep X = id\n# check id = $X", true),
            (json, "keep X = code\n# check id = $X", false),
            (json, "keep X = missing", false),
            (json, "chekc id = 1", false),
        ] {
            let example = format!("# A step.\ncurl \"$SYSTEM/v1/x\"\n# expect 200\n# {check}\n");
            let output = run_example(port, &example);
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.success(), passes, "{check}: {text}");
            let expected = if passes { "  1  200  A step.\n1 steps passed\n" } else { "" };
            assert!(text.contains(expected), "{check}: {text}");
        }
    }

    #[test]
    fn a_failure_names_step_expectation_and_response() {
        let port = server(format!(r#"{{"id": "{ID}"}}"#));
        let output = run_example(port, "# A step.\ncurl \"$SYSTEM/v1/x\"\n# expect 200\n# check id = 7\n");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        for part in [
            "step 1 of ",
            "example.sh failed: A step.",
            "expected: id = 7",
            "got:      0198",
            "\"id\": \"0198",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn nothing_to_check_is_a_failure() {
        let port = server("[]".to_owned());
        for (example, message) in [
            ("# A step.\ncurl \"$SYSTEM/v1/x\"\n", "has no line `# expect STATUS`"),
            ("# A step without a command.\n", "there are no steps"),
            ("# A step.\ncurl http://127.0.0.1:1\n# expect 200\n", "expected: a response"),
        ] {
            let output = run_example(port, example);
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && text.contains(message), "{example}: {text}");
        }
    }

    #[test]
    fn files_of_the_examples_are_small_and_of_their_types() {
        for entry in fs::read_dir(checkout::root().join("deploy/examples/files")).unwrap() {
            let path = entry.unwrap().path();
            let content = fs::read(&path).unwrap();
            let is_jpeg = path.extension().is_some_and(|extension| extension == "jpg");
            let magic: &[u8] = if is_jpeg { b"\xff\xd8\xff" } else { b"%PDF-" };
            assert!(content.starts_with(magic) && content.len() < 40_000, "{}", path.display());
        }
    }
}
