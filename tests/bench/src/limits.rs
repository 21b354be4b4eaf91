//! What the services are compared with: the floor of the program `limits`, pgbench and nginx.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::environment::BenchEnvironment;
use crate::measurement::{Measurement, Run};
use crate::queries::{LISTING_INDEXES, LOAD_INDEXES, Query};
use crate::wrk::Requests;
use testkit::processes::databases::{Databases, options};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::servers::Server;
use testkit::processes::service::ServiceProcess;
use testkit::processes::{ports, process_stats, servers, tools};

/// Number of responses that are compared with those of a limit.
pub const COMPARED: usize = 40;
/// Maximum number of scripts of pgbench. Each client plans each script once, which must stay a small part of the run.
const MAX_SCRIPTS: usize = 64;
/// Statements that insert copies of loads with new ids of version 7 and new times, as pgbench reads them: it takes a
/// colon in a text for a variable.
const INSERTS: &str = r"
    SELECT format('INSERT INTO loads (id, created_at, %s) VALUES (%s)', string_agg(quote_ident(key), ', '),
        $new$(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' ||
        substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, clock_timestamp(), $new$ ||
        string_agg(coalesce('E''' || replace(replace(replace(replace(value, '\', '\\'), '''', ''''''), ':', '\x3a'),
        chr(10), ' ') || '''', 'NULL'), ', '))
    FROM (SELECT row_number() OVER () AS number, row_to_json(loads) AS cells FROM loads LIMIT 8) AS rows,
        json_each_text(cells)
    WHERE key NOT IN ('id', 'created_at') GROUP BY number";

/// A server that listens on a port of 127.0.0.1.
pub struct LimitServer {
    server: Server,
    port: u16,
}

impl LimitServer {
    /// Starts a server and waits until it listens. `command` receives the folder of the server and its port.
    pub fn start(
        env: &BenchEnvironment,
        name: &'static str,
        command: impl Fn(&TempDir, u16) -> Result<Command>,
    ) -> Result<Self> {
        servers::attempt(env.stop, || {
            let ([port], folder) = (ports::find_free()?, servers::folder(name)?);
            let end = &[(Signal::TERM, 10), (Signal::KILL, 5)];
            let mut server = Server::spawn(name, &mut command(&folder, port)?, folder, end)?;
            server.wait_ready(env.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
            Ok(Self { server, port })
        })
    }

    /// URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sends requests for `seconds` seconds and measures the CPU time of the server and its child processes.
    pub fn load(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Measurement> {
        let before = process_stats::family_cpu_us(self.server.pid())?;
        let run = requests.send(&self.url(""), clients, seconds)?;
        Ok(Measurement { cpu: Some(process_stats::family_cpu_us(self.server.pid())? - before), ..run })
    }
}

/// Returns the limit of reads: the floor, or pgbench with the same statements.
///
/// # Errors
/// The statements find other documents than the service.
pub fn reads<'a>(
    env: &'a BenchEnvironment,
    service: &ServiceProcess,
    token: &str,
    queries: &[Query],
    requests: &'a Requests,
    clients: usize,
) -> Result<(&'static str, Run<'a>)> {
    let first = &queries[..COMPARED.min(queries.len())];
    let mut statements: Vec<_> = queries.iter().map(|query| query.sql.clone()).collect();
    if let Some(postgres) = &env.postgres {
        let sql = first.iter().map(|query| query.sql.clone() + ";\n\\echo\n").collect::<String>();
        let (mut found, mut page) = (Vec::new(), Vec::new());
        for line in postgres.execute_for(service.name, &sql)?.lines() {
            if line.is_empty() {
                found.push(Value::Array(std::mem::take(&mut page)));
            } else {
                page.push(serde_json::from_str(line).context("a document is not JSON")?);
            }
        }
        compare(service, token, first, &found)?;
        statements.truncate(MAX_SCRIPTS);
        return Ok(("pgbench", pgbench(env, postgres, service.name, &statements, clients)?));
    }
    let floor = floor(env, service, queries)?;
    let client = HttpClient::new(Duration::from_secs(60));
    let found = first.iter().map(|query| client.send("GET", &floor.url(&query.path), None, &Body::Empty));
    let found = found.map(|response| Ok(response?.json)).collect::<Result<Vec<_>>>()?;
    compare(service, token, first, &found)?;
    Ok(("floor", Box::new(move || floor.load(requests, clients, env.seconds))))
}

/// Returns the limit of creates of loads: the floor with the requests, or pgbench with inserts of existing rows.
pub fn creates<'a>(
    env: &'a BenchEnvironment,
    service: &ServiceProcess,
    requests: &'a Requests,
    clients: usize,
) -> Result<(&'static str, Run<'a>)> {
    if let Some(postgres) = &env.postgres {
        let statements = postgres.execute_for(service.name, &INSERTS.replace('\n', " "))?;
        let statements: Vec<_> = statements.lines().map(str::to_owned).collect();
        return Ok(("pgbench", pgbench(env, postgres, service.name, &statements, clients)?));
    }
    let floor = floor(env, service, &[])?;
    Ok(("floor", Box::new(move || floor.load(requests, clients, env.seconds))))
}

/// Checks that the service finds the same documents in the same order.
fn compare(service: &ServiceProcess, token: &str, queries: &[Query], found: &[Value]) -> Result<()> {
    let ids = |page: &Value| -> Vec<_> {
        page.as_array().into_iter().flatten().map(|document| document["id"].to_string()).collect()
    };
    ensure!(found.len() == queries.len(), "{} of {} searches responded", found.len(), queries.len());
    let mut rows = 0;
    for (query, found) in queries.iter().zip(found) {
        let (actual, found) = (ids(&service.get(&query.path, token)?.json), ids(found));
        let Query { path, sql } = query;
        ensure!(actual == found, "the service and the SQL differ\n{path}: {actual:?}\n{sql}: {found:?}");
        rows += actual.len();
    }
    ensure!(rows > queries.len(), "{} searches found only {rows} documents", queries.len());
    Ok(())
}

/// Starts the floor over a copy of the SQLite database of a service.
fn floor(env: &BenchEnvironment, service: &ServiceProcess, queries: &[Query]) -> Result<LimitServer> {
    let (database, file) = (copy(env, service)?, env.temp_path("statements"));
    let indexes = if service.name == "livestock" { LISTING_INDEXES } else { LOAD_INDEXES };
    let indexes = indexes.iter().map(|index| format!("\tCREATE INDEX {index}\n"));
    let statements = queries.iter().map(|query| format!("{}\t{}\n", query.path, query.sql));
    fs::write(&file, indexes.chain(statements).collect::<String>())?;
    LimitServer::start(env, "limits", |_, port| {
        let mut command = Command::new(env.programs.join("limits"));
        command.arg("floor").arg(&database).arg(port.to_string()).arg(&file);
        Ok(command)
    })
}

/// Copies the SQLite database of a service.
pub fn copy(env: &BenchEnvironment, service: &ServiceProcess) -> Result<PathBuf> {
    let copy = env.temp_path("copy.sqlite");
    let mut command = Command::new(env.programs.join("limits"));
    let output = command.arg("sqlite-copy").arg(service.config().sqlite()).arg(&copy).output();
    let output = output.context("cannot run limits")?;
    ensure!(output.status.success(), "limits: {}", String::from_utf8_lossy(&output.stderr));
    Ok(copy)
}

/// Returns a run of pgbench with a script for each statement, in random order. Each client prepares each once.
fn pgbench<'a>(
    env: &'a BenchEnvironment,
    postgres: &Databases,
    service: &'static str,
    statements: &[String],
    clients: usize,
) -> Result<Run<'a>> {
    let folder = env.temp_path("pgbench");
    fs::create_dir_all(&folder)?;
    let mut command = Command::new(postgres.programs.join("pgbench"));
    command.current_dir(&folder).env("PGOPTIONS", options(service));
    command.args(["-n", "-M", "prepared", "-j", "1", "-c", &clients.to_string()]);
    command.args(["-T", &env.seconds.to_string()]);
    for (number, statement) in statements.iter().enumerate() {
        let file = format!("{number}.sql");
        fs::write(folder.join(&file), format!("{statement};\n"))?;
        command.args(["-f", &file]);
    }
    command.arg(postgres.url_of(service)?);
    let mut run = move || {
        let output = command.output().context("cannot run pgbench")?;
        if !output.status.success() {
            bail!("pgbench: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        parse_pgbench(&String::from_utf8_lossy(&output.stdout))
            .context("pgbench finished no transaction within this time: increase --seconds")
    };
    Ok(Box::new(move || env.with_cpu(None, &mut run)))
}

/// Parses the number of transactions and their rate. Their latencies are not read.
fn parse_pgbench(output: &str) -> Option<Measurement> {
    let number = |prefix: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(prefix))?;
        line.split([' ', '/']).next()?.parse::<f64>().ok()
    };
    let requests = number("number of transactions actually processed: ")?;
    Some(Measurement { requests, us: requests / number("tps = ")? * 1e6, ..Measurement::default() })
}

/// Returns the limit of downloads: nginx with the settings of Debian and the same file. Returns none and adds a note to
/// the report where nginx is not installed.
pub fn download<'a>(
    env: &'a BenchEnvironment,
    file: &Path,
    headers: &[(&str, &str)],
    clients: usize,
) -> Result<Option<(&'static str, Run<'a>)>> {
    let Ok(program) = tools::find("nginx") else {
        env.add_note("Downloads are not compared with nginx, which is missing: run .ci/install");
        return Ok(None);
    };
    let (root, name) = file.parent().zip(file.file_name()).context("the file has no folder")?;
    let server = LimitServer::start(env, "nginx", |folder, port| {
        let path = folder.path().join("nginx.conf");
        fs::write(&path, nginx_conf(folder.path(), root, port)).context("cannot write nginx.conf")?;
        let mut command = tools::nginx(&program);
        command.arg("-e").arg(folder.path().join("error.log")).arg("-c").arg(path);
        Ok(command)
    })?;
    let path = format!("/{}", name.to_string_lossy());
    let requests = Requests::get(env.temp_path("requests"), "", headers, &[path])?;
    Ok(Some(("nginx", Box::new(move || server.load(&requests, clients, env.seconds)))))
}

/// Returns the configuration of a server in `folder` that serves the files of `root`.
fn nginx_conf(folder: &Path, root: &Path, port: u16) -> String {
    let temp_paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};", folder.join(name).display()));
    format!(
        "daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/error.log;\n\
         events {{ worker_connections 768; }}\n\
         http {{ sendfile on; tcp_nopush on; access_log {folder}/access.log; default_type application/octet-stream;\n\
         {}\nserver {{ listen 127.0.0.1:{port}; root {root}; }} }}\n",
        temp_paths.join(" "),
        folder = folder.display(),
        root = root.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_pgbench() {
        let output = "transaction type: a\nnumber of transactions actually processed: 1234\n\
                      latency average = 1.6 ms\ntps = 617.25 (without initial connection time)\n";
        let run = parse_pgbench(output).unwrap();
        assert_eq!((run.requests, (run.us / 1e3).round()), (1234.0, 1999.0));
        assert_eq!(parse_pgbench("tps = 1"), None);
    }
}
