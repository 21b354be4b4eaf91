//! nginx with the very configuration of deploy/nginx: only where the replicas are is put in, and where it listens, here
//! without TLS. The site as it stands there is `deploy`'s to try.

use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::trial::Trial;
use crate::{nginx, process, workspace};

const START_LIMIT: Duration = Duration::from_secs(10);

/// The running proxy. Dropped, it ends.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    folder: PathBuf,
}

impl Proxy {
    /// In front of these services, each with the ports of its replicas.
    pub fn start(trial: &Trial<'_>, port: u16, upstreams: &[(&str, Vec<u16>)]) -> Result<Self> {
        let folder = trial.path("nginx");
        fs::create_dir_all(folder.join("own")).context("cannot make a folder for nginx")?;
        copy(&workspace::root().join("deploy/nginx"), &folder)?;
        let path = folder.join("upstreams.conf");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let write = |name: &str, text: String| {
            fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
        };
        write("upstreams.conf", replicas(&text, upstreams, trial.short))?;
        let site = format!("server {{\n    listen 127.0.0.1:{port};\n    include routes.conf;\n}}\n");
        write("site.conf", site)?;
        let log = File::create(folder.join("log")).context("cannot make nginx's log")?;
        let mut command = nginx::command(&nginx::provide(trial.stop)?);
        command
            .args(["-e", "stderr"])
            .arg("-p")
            .arg(folder.join("own"))
            .arg("-c")
            .arg(folder.join("nginx.conf"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("access")).context("cannot make nginx's log")?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("cannot start nginx")?;
        let (mut proxy, begun) = (Self { child, folder }, Instant::now());
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if proxy.child.try_wait()?.is_some() || begun.elapsed() > START_LIMIT {
                bail!("nginx did not start with deploy/nginx: {}", proxy.log());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(proxy)
    }

    /// What it had to say.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

/// The base URL of a service, behind the proxy at this port.
pub fn url(port: u16, service: &str) -> String {
    format!("http://127.0.0.1:{port}/{service}")
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
