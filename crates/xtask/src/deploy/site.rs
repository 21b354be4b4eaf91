//! The containers of docker-compose.yml as processes of this machine: the same commands, settings, secrets and health
//! checks in the same order. Only names of hosts become ports of 127.0.0.1, and places of containers folders.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use super::compose::Compose;
use super::container::Container;
use super::tools::{Tools, output};
use crate::servers::{Cluster, S3Ports, path_with};
use crate::trial::Trial;
use crate::workspace::{self, SERVICES};
use crate::{nginx, ports, process};

const HEALTHY_LIMIT: Duration = Duration::from_secs(60);

/// A container that runs. Dropped, it ends.
#[derive(Debug)]
pub struct Part<'a> {
    pub name: &'a str,
    pub child: Child,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if self.name == "store" {
            process::signal(&self.child, Signal::KILL); // its data goes with it; with care it takes 15 seconds
        }
        process::end(&mut self.child);
    }
}

/// All of them. Dropped, they end, the last first.
#[derive(Debug)]
pub struct Site<'a> {
    pub trial: &'a Trial<'a>,
    compose: &'a Compose,
    tools: &'a Tools,
    pub running: Vec<Part<'a>>,
    cluster: Cluster,
    store: S3Ports,
    pub folder: PathBuf,
    /// Of the services, of the proxy (https, http) and of Redis.
    pub ports: [u16; 6],
    replaced: Vec<(String, String)>,
}

impl<'a> Site<'a> {
    /// Starts everything that docker-compose.yml names, and sees it healthy.
    pub fn start(trial: &'a Trial<'a>, tools: &'a Tools, compose: &'a Compose) -> Result<Self> {
        let begun = Instant::now();
        let cluster = Cluster::start(&trial.servers.programs().postgres, trial.stop)?;
        let (store, ports) = (S3Ports::find()?, ports::find_free()?);
        let folder = trial.path("deployment");
        let (running, replaced) = (Vec::new(), Vec::new());
        let mut site = Self { trial, compose, tools, running, cluster, store, folder, ports, replaced };
        site.replaced = site.places();
        fs::create_dir_all(site.folder.join("tmp")).context("cannot make a folder")?;
        site.secrets()?;
        let mut ready = BTreeSet::new();
        while let Some(next) = compose.containers().find(|container| {
            !ready.contains(container.name)
                && container.waits_for().iter().all(|(other, _)| ready.contains(other))
        }) {
            trial.check()?;
            site.run(next).with_context(|| format!("docker-compose.yml: {}", next.name))?;
            ready.insert(next.name);
        }
        let waiting: Vec<_> =
            compose.containers().map(|c| c.name).filter(|name| !ready.contains(name)).collect();
        ensure!(waiting.is_empty(), "docker-compose.yml: {} wait for each other", waiting.join(", "));
        let figure = format!("{} in {:.1} s", ready.len(), begun.elapsed().as_secs_f64());
        trial.note("containers of docker-compose.yml, as processes", figure, "all healthy, or done");
        Ok(site)
    }

    /// What containers call something, and what it is here.
    fn places(&self) -> Vec<(String, String)> {
        let [system, logistics, livestock, tls, plain, redis] = self.ports;
        let (here, store) = (|port: u16| format!("127.0.0.1:{port}"), self.store.http("s3"));
        let (root, folder) = (workspace::root(), self.folder.display());
        let mut places = vec![
            ("postgres:5432", here(self.cluster.port)),
            ("redis:6379", here(redis)),
            ("redis-cli ping", format!("redis-cli -p {redis} ping")),
            ("store:8333", here(store)),
            ("127.0.0.1:8333", here(store)),
            ("-dir=/data", format!("-dir={folder}/store")),
            ("bind=0.0.0.0", "bind=127.0.0.1".to_owned()),
            ("system:8081", here(system)),
            ("logistics:8082", here(logistics)),
            ("livestock:8083", here(livestock)),
            ("localhost:8443", format!("localhost:{tls}")),
            ("127.0.0.1:8443", here(tls)),
            ("listen 8443", format!("listen {}", here(tls))),
            ("listen 8080", format!("listen {}", here(plain))),
            ("/run/secrets/", format!("{folder}/secrets/")),
            ("/etc/drover/", format!("{folder}/proxy/")),
            ("./deploy/", format!("{}/deploy/", root.display())),
        ];
        places.retain(|(_, here)| !here.is_empty());
        places.into_iter().map(|(there, here)| (there.to_owned(), here)).collect()
    }

    fn here(&self, text: &str) -> String {
        let whole = match text {
            "0.0.0.0" => Some("127.0.0.1".to_owned()),
            "/tmp/" => Some(format!("{}/proxy/", self.folder.display())),
            _ => None,
        };
        whole.unwrap_or_else(|| {
            self.replaced.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
        })
    }

    /// By deploy/secrets.sh, twice: the second time it has nothing to do.
    fn secrets(&self) -> Result<()> {
        let folder = self.folder.join("secrets");
        fs::create_dir_all(&folder).context("cannot make a folder for secrets")?;
        let make = || output(Command::new(workspace::root().join("deploy/secrets.sh")).arg(&folder));
        make()?;
        let read = || -> Result<Vec<(PathBuf, String)>> {
            let paths =
                fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<_>>>()?;
            paths.into_iter().map(|path| Ok((path.clone(), fs::read_to_string(path)?))).collect()
        };
        let first = read()?;
        make()?;
        ensure!(first == read()?, "deploy/secrets.sh makes other secrets when it runs again");
        for (path, text) in first {
            fs::remove_file(&path)?; // nobody may write to it
            fs::write(&path, self.here(&text))?;
        }
        Ok(())
    }

    fn run(&mut self, container: Container<'a>) -> Result<()> {
        if container.name == "postgres" {
            return self.postgres(container);
        }
        if container.name == "proxy" {
            self.proxy(container)?;
        }
        let mut command = self.command(container)?;
        if container.ends() {
            return output(&mut command).map(drop);
        }
        let log = File::create(self.log(container.name)).context("cannot make a log")?;
        let spawned =
            command.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log).process_group(0).spawn();
        let child = spawned.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        self.running.push(Part { name: container.name, child });
        self.wait(container)
    }

    /// What a container runs.
    fn command(&self, container: Container<'_>) -> Result<Command> {
        let mut words = [container.list("entrypoint"), container.list("command")].concat();
        let home = self.folder.join(container.name);
        fs::create_dir_all(&home).context("cannot make a folder")?;
        let programs = self.trial.servers.programs();
        let program = match container.service() {
            Some(service) => self.trial.binaries.join(service),
            None => match words.remove(0) {
                "redis-server" => programs.redis.clone(),
                "/usr/bin/weed" => programs.weed.clone(),
                "nginx" => self.tools.nginx.clone(),
                other => other.into(),
            },
        };
        let mut command =
            if container.name == "proxy" { nginx::command(&program) } else { Command::new(program) };
        command.args(words.iter().map(|word| self.here(word))).current_dir(&home);
        match container.name {
            "redis" => drop(command.args(["--bind", "127.0.0.1", "--port", &self.ports[5].to_string()])),
            "store" => drop(command.args(self.store.arguments()).env("HOME", &home)),
            _ => {}
        }
        self.tell(&mut command, container);
        Ok(command)
    }

    /// The variables of a container, and no others.
    fn tell(&self, command: &mut Command, container: Container<'_>) {
        if let Some(service) = container.service() {
            command.env_clear().env("TMPDIR", self.folder.join("tmp"));
            // Nobody has to notice that it stops; in production that takes ten seconds.
            command.envs(container.environment().iter().map(|(name, value)| (*name, self.here(value))));
            command.env("DROVER_SERVER__DRAIN_SECONDS", "1");
            let port = SERVICES.iter().position(|name| *name == service).map_or(0, |index| self.ports[index]);
            command.env("DROVER_SERVER__PORT", port.to_string());
        } else {
            command.env("PGPORT", self.cluster.port.to_string());
        }
    }

    /// Until its health check says that it is well.
    fn wait(&mut self, container: Container<'a>) -> Result<()> {
        let words = container.health().context("it has no health check")?;
        let program = match (words[0], container.service()) {
            ("/usr/local/bin/drover", Some(service)) => self.trial.binaries.join(service),
            ("pg_isready", _) => self.trial.servers.programs().postgres.join("pg_isready"),
            (program, _) => program.into(),
        };
        let begun = Instant::now();
        loop {
            self.trial.check()?;
            let mut check = Command::new(&program);
            check.args(words[1..].iter().map(|word| self.here(word)));
            self.tell(&mut check, container);
            let checked = output(&mut check);
            let ended = self.running.iter_mut().find(|part| part.name == container.name);
            let ended = ended.map(|part| part.child.try_wait()).transpose()?.flatten();
            match checked {
                Ok(_) if ended.is_none() => return Ok(()),
                Err(error) if ended.is_some() || begun.elapsed() > HEALTHY_LIMIT => {
                    bail!("it is not well: {error:#}\n{}", fs::read_to_string(self.log(container.name))?);
                }
                _ => sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Where what one says is kept.
    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// A cluster of ours, made ready as the image does it: a database, then the script.
    fn postgres(&mut self, container: Container<'a>) -> Result<()> {
        let environment = container.environment();
        let of = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str());
        let database = of("POSTGRES_DB").context("it names no database")?;
        let create = format!("CREATE DATABASE {database}");
        self.trial.databases.ask(&self.cluster.url(), "", &create)?;
        let path = path_with(&[&self.trial.servers.programs().postgres])?;
        for (script, _) in container.files() {
            let mut init = Command::new(workspace::root().join(script));
            init.envs(environment.iter().map(|(name, value)| (*name, value))).env("PATH", &path);
            init.envs(self.cluster.variables()).env("SECRETS", self.folder.join("secrets"));
            output(&mut init)?;
        }
        self.wait(container)
    }

    /// The configuration of the proxy, beside its certificate.
    fn proxy(&self, container: Container<'_>) -> Result<()> {
        let folder = self.folder.join("proxy");
        fs::create_dir_all(&folder).context("cannot make a folder")?;
        let place = |path: &str| Some(folder.join(path.strip_prefix("/etc/drover/")?));
        for (ours, theirs) in container.files() {
            let text = fs::read_to_string(workspace::root().join(ours))?;
            fs::write(place(theirs).context("it is not in /etc/drover")?, self.here(&text))?;
        }
        for (secret, path) in container.secrets() {
            let file =
                Path::new(self.compose.secret(secret).unwrap_or_default()).file_name().unwrap_or_default();
            fs::copy(
                self.folder.join("secrets").join(file),
                place(&path).context("it is not in /etc/drover")?,
            )?;
        }
        Ok(())
    }
}
