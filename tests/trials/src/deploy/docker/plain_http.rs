//! nginx on the host that accepts plain HTTP, and forwards it to the proxy of the containers with TLS. The clients of
//! the trials have no TLS, and containers of other projects do not know the certificate.

use std::fs;
use std::net::TcpStream;

use anyhow::{Context, Result};
use rustix::process::Signal;
use stack::servers::{Server, ShutdownSignals, folder};
use stack::trial::Trial;
use stack::{nginx, ports, tools};

use super::engine::docker;
use super::project::Project;

const SHUTDOWN: ShutdownSignals = &[(Signal::TERM, 5), (Signal::KILL, 5)];

/// The running server. It ends when it is dropped.
#[derive(Debug)]
pub struct PlainHttp {
    _server: Server,
    port: u16,
    /// Address of the host in the network `front`.
    gateway: String,
}

impl PlainHttp {
    /// Starts it in front of the proxy of a project.
    pub fn start(trial: &Trial<'_>, project: &Project<'_>) -> Result<Self> {
        let gateway = docker(&[
            "network",
            "inspect",
            "--format",
            "{{(index .IPAM.Config 0).Gateway}}",
            &project.network("front"),
        ])?;
        let [port] = ports::find_free()?;
        let certificate = project.certificate();
        let (certificate, proxy) = (certificate.display(), project.https_port());
        let configuration = format!(
            "daemon off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_max_body_size 0;
    upstream site {{
        server 127.0.0.1:{proxy};
        keepalive 32;
    }}
    server {{
        listen 127.0.0.1:{port};
        listen {gateway}:{port};
        location / {{
            proxy_pass https://site;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $http_host;
            proxy_ssl_trusted_certificate {certificate};
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
            proxy_next_upstream off;
            proxy_read_timeout 150s;
        }}
    }}
}}
"
        );
        let folder = folder("plain-http")?;
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration).context("cannot write nginx.conf")?;
        let mut command = nginx::command(&tools::find("nginx")?);
        command.args(["-e", "stderr", "-p"]).arg(folder.path()).arg("-c").arg(&file);
        let mut server = Server::spawn("nginx", &mut command, folder, SHUTDOWN)?;
        server.wait_ready(trial.stop, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(Self { _server: server, port, gateway })
    }

    /// Base URL of a service for clients on the host.
    pub fn url(&self, service: &str) -> String {
        format!("http://127.0.0.1:{}/{service}", self.port)
    }

    /// Base URL of a service for containers of other projects.
    pub fn url_for_containers(&self, service: &str) -> String {
        format!("http://{}:{}/{service}", self.gateway, self.port)
    }
}
