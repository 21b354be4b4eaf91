//! A Compose project: a copy of the files of this checkout, with secrets and a port of its own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use stack::trial::Trial;
use stack::{checkout, ports, tools};

use super::images::Images;
use crate::command::output;

/// The demo accepts test tokens.
const FILES: &str = "docker-compose.yml:docker-compose.demo.yml";

/// A project. Dropped, its containers, networks and volumes are removed.
#[derive(Debug)]
pub struct Project<'a> {
    trial: &'a Trial<'a>,
    folder: PathBuf,
    name: String,
    version: String,
    port: u16,
}

impl<'a> Project<'a> {
    /// Copies the files and creates secrets.
    pub fn new(trial: &'a Trial<'a>, images: &Images<'_>) -> Result<Self> {
        let folder = trial.path("compose");
        copy(&checkout::root().join("deploy"), &folder.join("deploy"))?;
        for file in FILES.split(':') {
            fs::copy(checkout::root().join(file), folder.join(file)).with_context(|| file.to_owned())?;
        }
        let name = format!("drover-trial-{}", std::process::id());
        let [port] = ports::find_free()?;
        let project = Self { trial, folder, name, version: images.version.clone(), port };
        output(&mut project.command("deploy/secrets.sh"))?;
        Ok(project)
    }

    /// Runs Compose.
    pub fn compose(&self, arguments: &[&str]) -> Result<String> {
        output(self.command(tools::find("docker-compose")?).args(arguments))
    }

    /// Replaces the replicas of a service.
    pub fn replace(&self, service: &str, version: &str) -> Result<String> {
        let mut script = self.command("deploy/docker/replace.sh");
        script.env("DROVER_VERSION", version).env("COMPOSE", tools::find("docker-compose")?);
        output(script.arg(service))
    }

    /// Returns the ids of the running containers of a service.
    pub fn containers(&self, service: &str) -> Result<Vec<String>> {
        Ok(self.compose(&["ps", "--quiet", service])?.lines().map(str::to_owned).collect())
    }

    /// URL of the proxy.
    pub fn base(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The certificate of the proxy.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("deploy/secrets/certificate.pem")
    }

    /// Creates a token of an organisation.
    pub fn token(&self) -> Result<String> {
        let token = output(self.command("deploy/token.sh").args(["ruth", "hereford-haulage"]))?;
        Ok(token.trim().to_owned())
    }

    /// Runs `deploy/try.sh`.
    pub fn check_try_script(&self) -> Result<()> {
        let report = output(self.command("deploy/try.sh").arg(self.base()))?;
        let steps = report.lines().count();
        self.trial.expect(steps > 0, "deploy/try.sh in containers", format!("{steps} steps"), "all succeed")
    }

    /// Reports the memory of the containers. None may have been ended by its limit.
    pub fn check_memory(&self) -> Result<()> {
        let ids = self.compose(&["ps", "--quiet"])?;
        let mut stats = Command::new("docker");
        stats.args(["stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"]).args(ids.lines());
        let used = output(&mut stats)?;
        let used = used.lines().filter_map(|line| {
            let (name, usage) = line.split_once(' ')?;
            let name = name.strip_prefix(&self.name)?.trim_matches(['-', '_']).trim_end_matches("-1");
            Some(format!("{name} {}", usage.split(" / ").next()?))
        });
        self.trial.note("memory of the containers", used.collect::<Vec<_>>().join(", "), "below mem_limit");
        let mut inspect = Command::new("docker");
        inspect.args(["inspect", "--format", "{{.State.OOMKilled}} {{.RestartCount}}"]).args(ids.lines());
        let endings = output(&mut inspect)?;
        ensure!(endings.lines().all(|line| line == "false 0"), "containers were restarted:\n{endings}");
        Ok(())
    }

    /// Returns how many replicas of logistics have answered in the last 5 seconds, by the proxy's log.
    pub fn reached_replicas(&self) -> Result<usize> {
        let log = self.compose(&["logs", "--no-log-prefix", "--since", "5s", "proxy"])?;
        let addresses = log.split(r#""upstream":""#).filter_map(|rest| rest.split('"').next());
        Ok(addresses.filter(|address| address.ends_with(":8082")).collect::<BTreeSet<_>>().len())
    }

    /// Stops all containers. The services must succeed.
    pub fn check_stop(&self) -> Result<()> {
        let begun = Instant::now();
        let services = ["system", "logistics", "livestock"].map(|name| self.containers(name));
        let services = services.into_iter().collect::<Result<Vec<_>>>()?.concat();
        self.compose(&["stop"])?;
        let mut inspect = Command::new("docker");
        inspect.args(["inspect", "--format", "{{.State.ExitCode}}"]).args(&services);
        let codes = output(&mut inspect)?;
        ensure!(codes.lines().all(|code| code == "0"), "the services ended with\n{codes}");
        let figure = format!("ended after {:.0} s", begun.elapsed().as_secs_f64());
        self.trial.note("containers after `stop`", figure, "exit status 0 of the services");
        Ok(())
    }

    /// Returns a command in the copy of the checkout, with the settings of the project.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        let program =
            if program.starts_with("deploy") { self.folder.join(program) } else { program.to_owned() };
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("COMPOSE_FILE", FILES).env("COMPOSE_PROJECT_NAME", &self.name);
        command.env("DROVER_VERSION", &self.version).env("DROVER_HTTPS_PORT", self.port.to_string());
        command.env("DROVER_PUBLIC_URL", self.base());
        command
    }
}

impl Drop for Project<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.compose(&["down", "--volumes", "--remove-orphans", "--timeout", "1"]) {
            eprintln!("  cannot remove the containers: {error:#}");
        }
    }
}

/// Copies a folder, without secrets.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let (path, target) = (entry?.path(), to);
        let target = target.join(path.file_name().unwrap_or_default());
        if path.is_dir() && path.file_name() != Some(OsStr::new("secrets")) {
            copy(&path, &target)?;
        } else if path.is_file() {
            fs::copy(&path, &target).with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}
