//! Limits that are programs: the crate `limits`, pgbench, nginx.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::sample::Sample;
use super::stage::{Limit, Stage};
use super::wrk::Requests;
use crate::nginx;
use crate::ports;
use crate::proc;
use crate::process::end;
use crate::service::Service;

/// A server beside the services. Dropped, it ends.
pub struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts a command that is to listen on this port.
    pub fn start(command: &mut Command, port: u16) -> Result<Self> {
        let name = command.get_program().display().to_string();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let (mut server, begun) = (Self { child, url: format!("http://127.0.0.1:{port}") }, Instant::now());
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if server.child.try_wait()?.is_some() || begun.elapsed() > Duration::from_secs(10) {
                bail!("{name} did not start");
            }
            sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    fn load(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Sample> {
        let before = proc::family_cpu_us(self.child.id())?;
        let sample = requests.send(&self.url, clients, seconds)?;
        Ok(Sample { cpu_us: Some(proc::family_cpu_us(self.child.id())? - before), ..sample })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A handler that answers the same requests with so many constant bytes.
pub fn constant<'a>(
    stage: &Stage,
    bytes: usize,
    requests: &'a Requests,
    clients: usize,
) -> Result<Limit<'a>> {
    let [port] = ports::find_free()?;
    let program = &mut program(stage);
    let server = Server::start(program.args(["constant", &port.to_string(), &bytes.to_string()]), port)?;
    let seconds = stage.seconds;
    Ok(Limit { name: "constant bytes", run: Box::new(move || server.load(requests, clients, seconds)) })
}

/// nginx with the folder of a file, asked for it with these headers; nothing where there is no nginx.
pub fn nginx(
    stage: &Stage,
    file: &Path,
    headers: &[(&str, &str)],
    clients: usize,
) -> Result<Option<Limit<'static>>> {
    let Some(program) = nginx::find() else {
        stage.note(format!("Downloads are compared with nothing: install {}", nginx::PACKAGE.by_hand));
        return Ok(None);
    };
    let (folder, name) = file.parent().zip(file.file_name()).context("a file has a folder")?;
    let [port] = ports::find_free()?;
    let server = serve(&program, &stage.path("nginx"), folder, port)?;
    let path = [format!("/{}", name.to_string_lossy())];
    let requests =
        Requests::write(stage.path("nginx-requests"), headers, "GET", path.iter().map(|p| (p, None)))?;
    let seconds = stage.seconds;
    Ok(Some(Limit { name: "nginx", run: Box::new(move || server.load(&requests, clients, seconds)) }))
}

/// nginx as Debian sets it up, from a folder of its own over one folder: what a download cannot be much faster than.
fn serve(program: &Path, own: &Path, served: &Path, port: u16) -> Result<Server> {
    fs::create_dir_all(own).with_context(|| format!("cannot make {}", own.display()))?;
    let (config, root) = (own.join("nginx.conf"), served.display());
    // The workers must be able to read what the service wrote.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};", own.join(name).display()));
    let text = format!(
        "daemon off; worker_processes auto; pid {own}/pid; error_log {own}/error.log; {user}\n\
         events {{ worker_connections 768; }}\n\
         http {{ sendfile on; tcp_nopush on; access_log {own}/access.log; default_type application/octet-stream;\n\
         {}\nserver {{ listen 127.0.0.1:{port}; root {root}; }} }}\n",
        temporary.join(" "),
        own = own.display(),
    );
    fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
    Server::start(Command::new(program).arg("-e").arg(own.join("error.log")).arg("-c").arg(&config), port)
}

/// These statements in a loop: through rusqlite, or pgbench with as many clients.
pub fn sql(
    stage: &Stage,
    service: &Service,
    statements: &[String],
    clients: usize,
) -> Result<Limit<'static>> {
    let seconds = stage.seconds;
    if let Some(postgres) = &stage.postgres {
        let bench = postgres.bench(stage, service.name, statements, clients)?;
        return Ok(Limit { name: "the SQL in pgbench", run: Box::new(move || bench.run(seconds)) });
    }
    let (database, file) = (service.sqlite(), stage.write("statements", statements)?);
    let arguments = ["sqlite-read".into(), database, file, seconds.to_string().into()];
    Ok(looped(stage, "the SQL in a loop", arguments))
}

/// Rows like those that a table has, so many in a transaction, through rusqlite; or one by one by as many clients
/// through pgbench.
pub fn insert(
    stage: &Stage,
    service: &Service,
    table: &str,
    group: usize,
    seconds: u64,
) -> Result<Limit<'static>> {
    if let Some(postgres) = &stage.postgres {
        let bench = postgres.bench(stage, service.name, &postgres.inserts(service.name, table)?, group)?;
        return Ok(Limit { name: "pgbench inserting", run: Box::new(move || bench.run(seconds)) });
    }
    let copy = stage.path("copy.sqlite");
    let status = program(stage).arg("sqlite-copy").args([&service.sqlite(), &copy]).status();
    if !status.context("cannot run limits")?.success() {
        bail!("the database could not be copied");
    }
    let arguments =
        ["sqlite-insert".into(), copy, table.into(), group.to_string().into(), seconds.to_string().into()];
    Ok(looped(stage, "a loop inserting", arguments))
}

/// Files of so many bytes that outlive a power failure, one after the other, in this folder.
pub fn files(stage: &Stage, folder: PathBuf, bytes: usize) -> Limit<'static> {
    looped(
        stage,
        "write and fsync",
        ["files".into(), folder, bytes.to_string().into(), stage.seconds.to_string().into()],
    )
}

fn program(stage: &Stage) -> Command {
    Command::new(stage.binaries.join("limits"))
}

fn looped<const N: usize>(stage: &Stage, name: &'static str, arguments: [PathBuf; N]) -> Limit<'static> {
    let mut program = program(stage);
    program.args(&arguments);
    let run = move || {
        let output = program.output().context("cannot run limits")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Sample::read(&serde_json::from_slice(&output.stdout)?)
    };
    Limit { name, run: Box::new(run) }
}

/// The documents that each of these statements finds.
pub fn documents(stage: &Stage, service: &Service, statements: &[String]) -> Result<Vec<Vec<Value>>> {
    let text = if let Some(postgres) = &stage.postgres {
        // An empty line after each, as the program below prints them.
        postgres.say(service.name, &(statements.join(";\n\\echo\n") + ";\n\\echo\n"))?
    } else {
        let file = stage.write("statements", statements)?;
        let output = program(stage)
            .arg("sqlite-print")
            .args([&service.sqlite(), &file])
            .arg(statements.len().to_string())
            .output()
            .context("cannot run limits")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (mut all, mut some) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.is_empty() {
            all.push(std::mem::take(&mut some));
        } else {
            some.push(serde_json::from_str(line).context("a document is no JSON")?);
        }
    }
    Ok(all)
}
