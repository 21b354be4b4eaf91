//! A Compose project: a copy of the files of this checkout, with secrets and a port of its own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::{self, PROGRAMS};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::process::output;
use testkit::processes::trial::Trial;
use testkit::processes::{ports, tools};

use crate::deploy::compose::MAIN;
use crate::deploy::docker::images::{Images, address, docker};
use crate::traffic::Client;

/// The demo accepts test tokens.
const FILES: &str = "docker-compose.yml:docker-compose.demo.yml";

/// All containers that run: those that others need come last.
pub const CONTAINERS: [&str; 8] =
    ["proxy", "console", "livestock", "logistics", "system", "store", "redis", "postgres"];

/// A project. Dropped, its containers, networks and volumes are removed.
#[derive(Debug)]
pub struct Project<'a> {
    trial: &'a Trial<'a>,
    /// Its name, with which the names of containers, networks and volumes begin.
    pub name: String,
    /// The tag of its images.
    pub version: String,
    folder: PathBuf,
    files: String,
    variables: Vec<(&'static str, String)>,
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
        let variables = vec![
            ("DROVER_VERSION", images.version.clone()),
            ("DROVER_HTTPS_PORT", port.to_string()),
            ("DROVER_PUBLIC_URL", format!("https://localhost:{port}")),
        ];
        let (version, files) = (images.version.clone(), FILES.to_owned());
        let project = Self { trial, name, version, folder, files, variables, port };
        output(&mut project.command("deploy/secrets.sh"))?;
        Ok(project)
    }

    /// A project of the file that starts one service alone, with the secrets and images of this one, and with another
    /// file that adds to it.
    pub fn alone(
        &self,
        service: &str,
        more: &str,
        variables: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<Self> {
        let added = format!("deploy/compose/{service}-trial.yml");
        fs::write(self.folder.join(&added), more).with_context(|| added.clone())?;
        Ok(Self {
            trial: self.trial,
            name: format!("{}-{service}", self.name),
            version: self.version.clone(),
            folder: self.folder.clone(),
            files: format!("deploy/compose/{service}.yml:{added}"),
            variables: self.variables.iter().cloned().chain(variables).collect(),
            port: 0,
        })
    }

    /// Runs Compose.
    pub fn compose(&self, arguments: &[&str]) -> Result<String> {
        output(self.command(tools::find("docker-compose")?).args(arguments))
    }

    /// Starts all containers and waits until they are healthy.
    pub fn start(&self) -> Result<()> {
        self.compose(&["up", "--detach", "--wait", "--no-build"]).map(drop)
    }

    /// Adds or removes replicas of logistics, and waits until all are healthy.
    pub fn scale(&self, count: u32) -> Result<()> {
        let option = format!("logistics={count}");
        let up = ["up", "--detach", "--wait", "--no-build", "--no-deps", "--no-recreate", "--scale", &option];
        self.compose(&[&up[..], &["logistics"]].concat()).map(drop)
    }

    /// Replaces the replicas of a service. New ones have this time to become healthy.
    pub fn replace(&self, service: &str, version: &str, limit: Duration) -> Result<String> {
        let mut script = self.command("deploy/docker/replace.sh");
        script.env("DROVER_VERSION", version).env("COMPOSE", tools::find("docker-compose")?);
        output(script.env("HEALTHY_SECONDS", limit.as_secs().to_string()).arg(service))
    }

    /// Replaces test tokens by the OpenID provider of the profile `login`, as docs/operations/log-in.md describes.
    pub fn start_login(&mut self) -> Result<()> {
        output(self.command("deploy/login/setup").arg(self.base()))?;
        MAIN.clone_into(&mut self.files);
        self.start()
    }

    /// Invites a person at the provider, and returns what is printed.
    pub fn invite(&self, arguments: &[&str]) -> Result<String> {
        let people = ["exec", "-T", "login", "/opt/drover-login/people", "invite"];
        self.compose(&[&people[..], arguments].concat())
    }

    /// Returns the ids of the running containers of a service.
    pub fn containers(&self, service: &str) -> Result<Vec<String>> {
        Ok(self.compose(&["ps", "--quiet", service])?.lines().map(str::to_owned).collect())
    }

    /// Returns the ids of all containers, sorted, also of those that do not run.
    pub fn all_containers(&self) -> Result<Vec<String>> {
        let mut ids: Vec<_> = self.compose(&["ps", "--all", "--quiet"])?.lines().map(str::to_owned).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the id of the first running container of a service.
    pub fn container(&self, service: &str) -> Result<String> {
        let first = self.containers(service)?.into_iter().next();
        first.with_context(|| format!("there is no container of {service}"))
    }

    /// The name of a network.
    pub fn network(&self, name: &str) -> String {
        format!("{}_{name}", self.name)
    }

    /// URL of the proxy.
    pub fn base(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// Port of the proxy.
    pub fn https_port(&self) -> u16 {
        self.port
    }

    /// The certificate of the proxy.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("deploy/secrets/certificate.pem")
    }

    /// URL of the database for a role, for programs on the host.
    pub fn database_url(&self, role: &str) -> Result<String> {
        let host = address(&self.container("postgres")?, &self.network("data"))?;
        let file = self.folder.join(format!("deploy/secrets/{role}-database-url"));
        let url = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(url.trim().replace("@postgres:", &format!("@{host}:")))
    }

    /// Seeds a service at a URL with the tokens of this project.
    pub fn client(&self, service: &'static str, url: String, database: Option<String>) -> Result<Client> {
        // The script fails without a key, which exists.
        let token = |organisation: &str| {
            let token = output(self.command("deploy/token.sh").args(["ruth", organisation]));
            token.unwrap_or_default().trim().to_owned()
        };
        Client::seed(service, url, database, token)
    }

    /// Returns how many replicas of logistics have answered in the last 5 seconds, by the proxy's log.
    pub fn reached_replicas(&self) -> Result<usize> {
        let log = self.compose(&["logs", "--no-log-prefix", "--since", "5s", "proxy"])?;
        let addresses = log.split(r#""upstream":""#).filter_map(|rest| rest.split('"').next());
        Ok(addresses.filter(|address| address.ends_with(":8082")).collect::<BTreeSet<_>>().len())
    }

    /// Returns a command in the copy of the checkout, with the settings of the project.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        let program =
            if program.starts_with("deploy") { self.folder.join(program) } else { program.to_owned() };
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("COMPOSE_FILE", &self.files);
        command.env("COMPOSE_PROJECT_NAME", &self.name).envs(self.variables.iter().cloned());
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

/// Time until all dependencies are reached on a busy machine. `/readyz` waits only a second for each.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `deploy/try.sh`, then all other checks.
pub fn check_site(trial: &Trial<'_>, project: &Project<'_>, probes: &BTreeSet<String>) -> Result<()> {
    check_probes(trial, project, probes)?;
    check_try_script(trial, project)?;
    check_hidden_paths(trial, project)?;
    check_redirect(trial, project)?;
    check_hsts(trial, project)?;
    check_memory(trial, project)?;
    check_logs(project)
}

/// Requests from each service the paths that Kubernetes and Prometheus request. Each must be 200, and no dependency may
/// be reported as other than `ok`.
fn check_probes(trial: &Trial<'_>, project: &Project<'_>, paths: &BTreeSet<String>) -> Result<()> {
    let client = HttpClient::new(Duration::from_secs(5));
    for (service, port) in PROGRAMS.iter().zip(8081..) {
        let host = address(&project.container(service)?, &project.network("front"))?;
        for path in paths {
            let url = format!("http://{host}:{port}{path}");
            trial.wait_for(&format!("{url} is 200"), READY_TIMEOUT, || {
                let response = client.send("GET", &url, None, &Body::Empty)?;
                // /readyz is also 200 without cache or store, and reports that.
                let mut parts = response.json.as_object().into_iter().flatten();
                Ok(response.status == 200 && parts.all(|(_, state)| state == "ok"))
            })?;
        }
    }
    let paths = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    trial.note("probes of deploy/kubernetes", paths, "200 and ok from each service");
    Ok(())
}

fn check_try_script(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let report = output(project.command("deploy/try.sh").arg(project.base()))?;
    let steps = report.lines().count();
    trial.expect(steps > 0, "deploy/try.sh through the proxy", format!("{steps} steps"), "all succeed")
}

/// Requests the operators' paths of each service and the console through the proxy. The response is the API's 404.
fn check_hidden_paths(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    for prefix in ["/system", "/logistics", "/livestock", ""] {
        for path in ["metrics", "readyz"] {
            let url = format!("{}{prefix}/{path}", project.base());
            let response = curl(project, &["--write-out", "\n%{http_code}", &url])?;
            let is_right = response.contains(r#""code":"not_found""#) && response.ends_with("\n404");
            ensure!(is_right, "{url} must be 404: {response}");
        }
    }
    trial.note("/metrics and /readyz through the proxy", "404", "404");
    Ok(())
}

/// Checks that a redirect keeps the client's port.
fn check_redirect(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let url = format!("{}/system", project.base());
    let headers = curl(project, &["--output", "/dev/null", "--dump-header", "-", &url])?.to_lowercase();
    let status = headers.lines().next().unwrap_or_default();
    let status = status.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let location = headers.lines().find_map(|line| line.strip_prefix("location: "));
    let found = format!("{} {}", status.trim_end(), location.unwrap_or_default().trim_end());
    let expected = "http/1.1 301 /system/";
    trial.expect(found == expected, format!("redirect of {url}"), found, expected)
}

/// Checks that browsers are told to use HTTPS only, except on localhost, where other programs have other ports.
fn check_hsts(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let port = project.https_port();
    let resolve = format!("drover.example:{port}:127.0.0.1");
    let mut found = Vec::new();
    for host in ["drover.example", "localhost"] {
        let url = format!("https://{host}:{port}/system/healthz");
        let headers =
            curl(project, &["--resolve", &resolve, "--output", "/dev/null", "--dump-header", "-", &url])?;
        let headers = headers.to_lowercase();
        let value = headers.lines().find_map(|line| line.strip_prefix("strict-transport-security: "));
        found.push(format!("{host} {}", value.map_or("none", str::trim_end)));
    }
    let (found, expected) =
        (found.join(", "), "drover.example max-age=31536000; includesubdomains, localhost none");
    trial.expect(found == expected, "Strict-Transport-Security", found.clone(), expected)
}

/// Reports the memory of the containers. None may have been ended by its limit.
fn check_memory(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let ids = project.compose(&["ps", "--quiet"])?;
    let ids: Vec<_> = ids.lines().collect();
    let format = "{{.Name}} {{.MemUsage}}";
    let used = docker(&[&["stats", "--no-stream", "--format", format], &*ids].concat())?;
    let used = used.lines().filter_map(|line| {
        let (name, usage) = line.split_once(' ')?;
        let name = name.strip_prefix(&project.name)?.trim_matches(['-', '_']).trim_end_matches("-1");
        Some(format!("{name} {}", usage.split(" / ").next()?))
    });
    trial.note("memory of the containers", used.collect::<Vec<_>>().join(", "), "below mem_limit");
    let format = "{{.State.OOMKilled}} {{.RestartCount}}";
    let endings = docker(&[&["inspect", "--format", format], &*ids].concat())?;
    ensure!(endings.lines().all(|line| line == "false 0"), "containers were restarted:\n{endings}");
    Ok(())
}

/// No service may have logged a warning so far.
fn check_logs(project: &Project<'_>) -> Result<()> {
    let log = project.compose(&[&["logs", "--no-color"], &PROGRAMS[..]].concat())?;
    ensure!(!log.is_empty(), "the services have logged nothing");
    let warnings: Vec<_> =
        log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
    ensure!(warnings.is_empty(), "the services have logged:\n{}", warnings.join("\n"));
    Ok(())
}

fn curl(project: &Project<'_>, arguments: &[&str]) -> Result<String> {
    let mut curl = Command::new("curl");
    curl.args(["-q", "--silent", "--show-error", "--max-time", "10", "--cacert"]);
    output(curl.arg(project.certificate()).args(arguments))
}
