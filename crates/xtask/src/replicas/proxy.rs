//! nginx with the very configuration of deploy/nginx: only where it listens and where the replicas are is put in.

use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::servers::{self, Package, on_path};
use crate::stop::Stop;
use crate::trial::Trial;
use crate::{nginx, process, workspace};

const START_LIMIT: Duration = Duration::from_secs(10);
/// The name in deploy/nginx/site.conf.
const HOST: &str = "drover.example";

/// nginx, and what makes its certificate and looks at it.
pub fn provide(stop: &Stop) -> Result<PathBuf> {
    let tool = |name, by_hand| Package { name, by_hand, prepare: || Ok(()) };
    let tools = [tool("openssl", "openssl, on PATH"), tool("curl", "curl, on PATH")];
    let missing: Vec<_> = tools.into_iter().filter(|tool| on_path(tool.name).is_none()).collect();
    servers::install(&missing, stop)?;
    nginx::provide(stop)
}

/// Where it listens: for http to https, for https, and for us, who speak plain HTTP with it.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub redirect: u16,
    pub tls: u16,
    pub plain: u16,
}

/// The running proxy. Dropped, it ends.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    folder: PathBuf,
    ports: Ports,
}

impl Proxy {
    /// In front of these services, each with the ports of its replicas.
    pub fn start(trial: &Trial<'_>, ports: Ports, upstreams: &[(&str, Vec<u16>)]) -> Result<Self> {
        let folder = trial.path("nginx");
        fs::create_dir_all(folder.join("own")).context("cannot make a folder for nginx")?;
        copy(&workspace::root().join("deploy/nginx"), &folder)?;
        certify(&folder)?;
        let change = |name: &str, change: &dyn Fn(String) -> String| {
            let path = folder.join(name);
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            fs::write(&path, change(text)).with_context(|| format!("cannot write {}", path.display()))
        };
        change("upstreams.conf", &|text| replicas(&text, upstreams, trial.short))?;
        change("site.conf", &|text| site(&text, ports))?;
        let log = File::create(folder.join("log")).context("cannot make nginx's log")?;
        let mut command = Command::new(provide(trial.stop)?);
        command
            .args(["-e", "stderr"])
            .arg("-p")
            .arg(folder.join("own"))
            .arg("-c")
            .arg(folder.join("nginx.conf"));
        if rustix::process::geteuid().is_root() {
            command.args(["-g", "user root;"]); // the folder is nobody else's
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("access")).context("cannot make nginx's log")?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("cannot start nginx")?;
        let (mut proxy, begun) = (Self { child, folder, ports }, Instant::now());
        while TcpStream::connect(("127.0.0.1", ports.plain)).is_err() {
            if proxy.child.try_wait()?.is_some() || begun.elapsed() > START_LIMIT {
                bail!("nginx did not start with deploy/nginx: {}", proxy.log());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(proxy)
    }

    /// The base URL of a service, for us.
    pub fn url(ports: Ports, service: &str) -> String {
        format!("http://127.0.0.1:{}/{service}", ports.plain)
    }

    /// What it had to say.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// A request over TLS, with the certificate checked, and what must not be had.
    pub fn check(&self, trial: &Trial<'_>) -> Result<()> {
        let Ports { redirect, tls, .. } = self.ports;
        let certificate = self.folder.join("certificate.pem").display().to_string();
        let known = ["--cacert", &certificate];
        let https = format!("https://{HOST}:{tls}");
        let countries = format!("{https}/system/v1/countries");
        let spoken = self.curl(&known, &countries)?;
        let right = spoken.starts_with("200 2");
        trial.expect(right, "a request over TLS, certificate checked", &spoken, "200, HTTP/2")?;
        let refused = self.curl(&[], &countries)?;
        trial.expect(
            refused.starts_with("000"),
            "the same without knowing it",
            &refused,
            "000: no answer",
        )?;
        let led = self.curl(&known, &format!("http://{HOST}:{redirect}/system/"))?;
        let hidden = self.curl(&known, &format!("{https}/logistics/metrics"))?;
        let right = led.starts_with("308") && hidden.starts_with("404");
        trial.expect(right, "plain HTTP; metrics", format!("{led}; {hidden}"), "308 to https; 404")
    }

    /// Status, version of HTTP and where a redirect leads.
    fn curl(&self, arguments: &[&str], url: &str) -> Result<String> {
        let Ports { redirect, tls, .. } = self.ports;
        let output = Command::new("curl")
            .args(["-q", "-sS", "--max-time", "20", "--noproxy", "*", "-o", "/dev/null"])
            .args(["-w", "%{http_code} %{http_version} %{redirect_url}"])
            .args(
                [tls, redirect]
                    .iter()
                    .flat_map(|port| ["--resolve".into(), format!("{HOST}:{port}:127.0.0.1")]),
            )
            .args(arguments)
            .arg(url)
            .output()
            .context("cannot run curl")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.stdout.is_empty(), "curl: {said}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let files = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for file in files {
        let file = file?;
        fs::copy(file.path(), to.join(file.file_name())).context("cannot copy nginx's configuration")?;
    }
    Ok(())
}

/// A certificate for a day.
fn certify(folder: &Path) -> Result<()> {
    let (subject, name) = (format!("/CN={HOST}"), format!("subjectAltName=DNS:{HOST}"));
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-keyout", "key.pem", "-out", "certificate.pem", "-subj", &subject, "-addext", &name])
        .current_dir(folder)
        .output()
        .context("cannot run openssl")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl made no certificate: {said}");
    Ok(())
}

/// The replicas of each service instead of the one name, told the same. The short form has no time for the pauses.
fn replicas(text: &str, upstreams: &[(&str, Vec<u16>)], short: bool) -> String {
    let line = |line: &str| {
        let server = line.trim().strip_prefix("server ").and_then(|rest| rest.split_once([' ', ';']));
        let name = server.and_then(|(address, _)| address.split_once(':'));
        let ports = name.and_then(|(name, _)| upstreams.iter().find(|(service, _)| *service == name));
        let Some(((address, _), (_, ports))) = server.zip(ports) else { return line.to_owned() };
        let each = ports.iter().map(|port| line.replace(address, &format!("127.0.0.1:{port}")));
        each.collect::<Vec<_>>().join("\n")
    };
    let text = text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n";
    if short { text.replace("=5s", "=1s").replace("_timeout 5s", "_timeout 1s") } else { text }
}

/// The same site elsewhere, and one without TLS.
fn site(text: &str, ports: Ports) -> String {
    let Ports { redirect, tls, plain } = ports;
    let text = text
        .replace("listen 8080", &format!("listen 127.0.0.1:{redirect}"))
        .replace("listen 8443", &format!("listen 127.0.0.1:{tls}"));
    format!("{text}\nserver {{\n    listen 127.0.0.1:{plain};\n    include routes.conf;\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_stand_where_the_name_stood() {
        let text =
            "upstream system {\n    server system:8081 fail_timeout=5s;\n    keepalive_timeout 5s;\n}\n";
        let expected = "upstream system {\n    server 127.0.0.1:1 fail_timeout=1s;\n    \
                        server 127.0.0.1:2 fail_timeout=1s;\n    keepalive_timeout 1s;\n}\n";
        assert_eq!(replicas(text, &[("system", vec![1, 2])], true), expected);
        assert_eq!(replicas(text, &[], false), text);
    }
}
