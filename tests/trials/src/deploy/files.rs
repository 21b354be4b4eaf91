//! Files that existing tools check on their own (the Dockerfile, shell scripts, the systemd unit), the build context of
//! the images, and the secrets that `deploy/secrets.sh` creates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::{self, CONSOLE};
use testkit::processes::process::{output, output_without_warnings};
use testkit::processes::tools;
use testkit::processes::trial::Trial;

use crate::deploy::compose::Compose;

const DOCKERFILE: &str = "deploy/Dockerfile";
const LOGIN_DOCKERFILE: &str = "deploy/login/Dockerfile";
const UNIT: &str = "deploy/systemd/drover@.service";
/// What the unit of the console has besides.
const CONSOLE_UNIT: &str = "deploy/systemd/drover@console.service.d/console.conf";
/// Highest allowed result of `systemd-analyze security` times ten. 0 is fully confined, 100 is unrestricted.
const MAX_EXPOSURE: &str = "20";

/// Runs hadolint, shellcheck and systemd-analyze.
pub fn lint(trial: &Trial<'_>) -> Result<()> {
    let root = checkout::root();
    for file in [DOCKERFILE, LOGIN_DOCKERFILE] {
        output(in_root("hadolint")?.args(["--no-color", file]))?;
        check_user(file, &read(&root.join(file))?)?;
        trial.note(file, "no finding", "hadolint: no finding");
    }

    let scripts = scripts(&root)?;
    output(in_root("shellcheck")?.args(["--color=never", "--external-sources"]).args(&scripts))?;
    trial.note(format!("{} shell scripts", scripts.len()), "no finding", "shellcheck: no finding");

    unit(trial, "system", None)?;
    unit(trial, CONSOLE, Some(CONSOLE_UNIT))?;
    trial.note(UNIT, "no finding", "systemd-analyze: valid, exposure at most 2.0 of 10");
    Ok(())
}

fn in_root(tool: &str) -> Result<Command> {
    let mut command = Command::new(tools::find(tool)?);
    command.current_dir(checkout::root());
    Ok(command)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Requires a numeric user other than root: Kubernetes' `runAsNonRoot` cannot check a name.
fn check_user(file: &str, dockerfile: &str) -> Result<()> {
    let user = dockerfile.lines().rev().find_map(|line| line.strip_prefix("USER "));
    let id = user.and_then(|user| user.split(':').next()?.parse::<u32>().ok());
    ensure!(id.is_some_and(|id| id > 0), "{file}: the last USER must be a number other than 0");
    Ok(())
}

/// Lists the files below `deploy` and `.ci` that begin with the name of a shell.
fn scripts(root: &Path) -> Result<Vec<PathBuf>> {
    let mut scripts = Vec::new();
    let mut folders = vec![root.join("deploy"), root.join(".ci")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_shell_script(&path) {
                scripts.push(path);
            }
        }
    }
    ensure!(scripts.len() >= 5, "found only {} shell scripts in deploy and .ci", scripts.len());
    scripts.sort();
    Ok(scripts)
}

fn is_shell_script(path: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"#!") && line.ends_with(b"sh")
}

/// Verifies an instance of the unit, with another file that adds to it. Its program and its configuration file are
/// those of this checkout: systemd-analyze requires that the program exists.
fn unit(trial: &Trial<'_>, service: &str, more: Option<&str>) -> Result<()> {
    let instance = trial.path(&format!("drover@{service}.service"));
    if let Some(more) = more {
        let folder = trial.path(&format!("drover@{service}.service.d"));
        fs::create_dir_all(&folder)?;
        fs::copy(checkout::root().join(more), folder.join("more.conf")).with_context(|| more.to_owned())?;
    }
    let installed = "/usr/local/bin/%i";
    let text = read(&checkout::root().join(UNIT))?;
    ensure!(text.contains(installed), "{UNIT}: ExecStart must be {installed}");
    let text = text.replace(installed, &trial.binaries.join("%i").display().to_string());
    fs::write(&instance, text).with_context(|| format!("cannot write {}", instance.display()))?;
    let analyze = || Ok::<_, anyhow::Error>(Command::new(tools::find("systemd-analyze")?));
    output_without_warnings(analyze()?.args(["verify", "--man=no"]).arg(&instance))?;
    let threshold = format!("--threshold={MAX_EXPOSURE}");
    output(analyze()?.args(["security", "--offline=true", "--no-pager", &threshold]).arg(&instance))?;
    Ok(())
}

/// Lets Cargo read the workspace in the build context of the images: compiling it would take too long.
pub fn check_build_context(trial: &Trial<'_>) -> Result<()> {
    let root = checkout::root();
    let dockerfile = read(&root.join(DOCKERFILE))?.replace("\\\n", "");
    let from_loop = dockerfile.find("for manifest in").map(|begin| &dockerfile[begin..]);
    let make_libraries = from_loop.and_then(|text| text.split_once(" done"));
    let (make_libraries, _) = make_libraries.context("the Dockerfile makes no empty libraries")?;
    // Git reads the same patterns, if those for the root of the context begin with a slash.
    let anchored = |line: &str| match line.strip_prefix('!') {
        Some(path) => format!("!/{path}\n"),
        None if line == "*" => "/*\n".to_owned(),
        None => format!("{line}\n"),
    };
    let patterns: String = read(&root.join(".dockerignore"))?.lines().map(anchored).collect();
    let (excluded, context) = (trial.path("dockerignore"), trial.path("context"));
    fs::write(&excluded, patterns).context("cannot write the patterns")?;
    fs::create_dir_all(&context).context("cannot create the build context")?;
    let excluded = format!("--exclude-from={}", excluded.display());
    let list = |options: &[&str]| output(in_root("git")?.arg("ls-files").args(options));
    let ignored = list(&["--cached", "--ignored", &excluded])?;
    let ignored: BTreeSet<_> = ignored.lines().collect();
    for path in list(&[])?.lines().filter(|path| !ignored.contains(path)) {
        let copy = context.join(path);
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(root.join(path), copy).with_context(|| format!("cannot copy {path}"))?;
    }
    // Cargo looks for the targets of all manifests before it compiles one crate, here an empty one without
    // dependencies.
    let check = format!("{make_libraries} done && cargo check --quiet --offline --locked -p structure --lib");
    output(Command::new("sh").args(["-c", &check]).current_dir(&context))
        .context("Cargo cannot read the build context, which .dockerignore selects")?;
    trial.note("build context of the images", "read by Cargo", "read by Cargo");
    Ok(())
}

/// Runs `deploy/secrets.sh` twice in a new folder. The second run changes nothing, and the Compose files use what the
/// first one creates.
pub fn check_secrets(trial: &Trial<'_>, compose: &Compose) -> Result<()> {
    let folder = trial.path("secrets");
    let run = || output(Command::new(checkout::root().join("deploy/secrets.sh")).arg(&folder));
    run()?;
    let first = contents(&folder)?;
    run()?;
    ensure!(first == contents(&folder)?, "deploy/secrets.sh changes existing secrets when it runs again");

    let created: BTreeSet<_> = first.into_keys().collect();
    let files = compose.secrets().into_iter().filter_map(|name| compose.secret_file(name)?.file_name());
    let used: BTreeSet<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    let different: Vec<_> = created.symmetric_difference(&used).cloned().collect();
    ensure!(
        different.is_empty(),
        "deploy/secrets.sh creates {created:?}, docker-compose.yml uses {used:?}: they differ in {different:?}"
    );
    trial.note(
        "deploy/secrets.sh",
        format!("{} secrets, unchanged by a second run", used.len()),
        "those of docker-compose.yml, unchanged",
    );
    Ok(())
}

fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.map(|entry| {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, fs::read(&path)?))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::{DOCKERFILE, check_user};

    #[test]
    fn the_last_user_must_be_a_number_other_than_root() {
        assert!(check_user(DOCKERFILE, "FROM a\nUSER 0\nUSER 65532:65532\n").is_ok());
        for wrong in ["FROM a\n", "USER drover\n", "USER 65532\nUSER 0\n", "USER root:65532\n"] {
            assert!(check_user(DOCKERFILE, wrong).is_err(), "{wrong}");
        }
    }
}
