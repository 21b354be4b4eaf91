//! The cost of a download without a service: nginx with the settings of Debian.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use testkit::processes::tools;

use super::server::BaselineServer;
use crate::benchmark::Baseline;
use crate::environment::BenchEnvironment;
use crate::wrk::Requests;

/// Serves the folder of a file by nginx and returns a baseline that downloads the file. Returns `None` and adds a note
/// to the report where nginx is not installed.
pub fn download(
    env: &BenchEnvironment,
    file: &Path,
    headers: &[(&str, &str)],
    clients: usize,
) -> Result<Option<Baseline<'static>>> {
    let Ok(program) = tools::find("nginx") else {
        env.add_note("Downloads are not compared with nginx, which is missing: run .ci/install".to_owned());
        return Ok(None);
    };
    let (root, name) = file.parent().zip(file.file_name()).context("the file has no folder")?;
    let server = BaselineServer::start(env, "nginx", |folder, port| {
        let path = folder.path().join("nginx.conf");
        fs::write(&path, config(folder.path(), root, port)).context("cannot write nginx.conf")?;
        let mut command = tools::nginx(&program);
        command.arg("-e").arg(folder.path().join("error.log")).arg("-c").arg(path);
        Ok(command)
    })?;
    let path = format!("/{}", name.to_string_lossy());
    let requests = Requests::write(env.temp_path("requests"), headers, "GET", [(path.as_str(), None)])?;
    let seconds = env.seconds;
    Ok(Some(Baseline { name: "nginx", run: Box::new(move || server.send(&requests, clients, seconds)) }))
}

/// Returns the configuration of a server in `folder` that serves the files of `root`.
fn config(folder: &Path, root: &Path, port: u16) -> String {
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
