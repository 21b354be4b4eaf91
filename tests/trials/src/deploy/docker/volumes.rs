//! A full volume of PostgreSQL, in the project of system alone.
//!
//! The volume is a tmpfs. To fill it, its limit is lowered to what it contains. A container of the trial keeps it
//! mounted: a tmpfs is lost when its last container ends, and PostgreSQL ends without space.

use std::time::Duration;

use anyhow::Result;
use testkit::processes::trial::Trial;

use super::clients::during;
use super::project::Project;
use crate::deploy::docker::images::docker;
use crate::traffic::{Client, new_prefix};

/// Size of the volume. Only what it contains takes memory.
const SIZE: &str = "8g";
/// How long a volume is full.
const FULL: Duration = Duration::from_secs(8);
/// The longest that a request may take.
const SLOWEST: Duration = Duration::from_secs(12);
/// Time from the end of the shortage until everything works. Docker starts PostgreSQL again after a growing pause.
const RECOVERY: Duration = Duration::from_secs(30);
/// Size of an upload, in bytes.
const UPLOAD: usize = 300_000;

/// Returns the definition of a volume with a user, for a Compose file.
pub fn define(name: &str, user: u32) -> String {
    format!(
        "  {name}:
    driver_opts: {{type: tmpfs, device: tmpfs, o: \"size={SIZE},uid={user},gid={user},mode=0700\"}}
"
    )
}

/// A container that has the volume mounted, and may change its size. It ends when it is dropped.
struct Holder(String);

impl Holder {
    fn start(project: &Project<'_>) -> Result<Self> {
        let volume = format!("{}_postgres:/postgres", project.name);
        let run = ["run", "--detach", "--rm", "--cap-add=SYS_ADMIN", "--network=none"];
        let run = [&run[..], &["--volume", &volume, "debian:bookworm-slim", "sleep", "3600"]].concat();
        docker(&run).map(Self)
    }

    /// Leaves no space in a volume.
    fn fill(&self, name: &str) -> Result<()> {
        let used = format!("$(df --block-size=1 --output=used /{name} | tail -n 1)");
        self.run(&format!("mount -o remount,size={used} /{name}"))
    }

    /// Gives a volume its size again.
    fn empty(&self, name: &str) -> Result<()> {
        self.run(&format!("mount -o remount,size={SIZE} /{name}"))
    }

    fn run(&self, command: &str) -> Result<()> {
        docker(&["exec", &self.0, "sh", "-c", command]).map(drop)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Err(error) = docker(&["container", "rm", "--force", &self.0]) {
            eprintln!("  cannot remove a container: {error:#}");
        }
    }
}

/// Fills the volume while clients upload to system and read from it.
pub fn run(trial: &Trial<'_>, project: &Project<'_>, client: &Client) -> Result<()> {
    let holder = Holder::start(project)?;
    let postgres = project.container("postgres")?;
    fill(trial, client, "postgres", || {
        holder.fill("postgres")?;
        // The next record needs a new file of the write-ahead log, which ends PostgreSQL.
        let switch = "--command=SELECT pg_switch_wal()";
        let _ = docker(&["exec", &postgres, "psql", "--username=postgres", "--dbname=drover", switch]);
        trial.pause(FULL)?;
        holder.empty("postgres")
    })
}

fn fill(trial: &Trial<'_>, client: &Client, name: &str, action: impl FnOnce() -> Result<()>) -> Result<()> {
    let prefix = new_prefix();
    let mut workloads = client.workloads(&prefix);
    workloads.push(client.large_uploads(&prefix, UPLOAD));
    let outcomes = during(trial, std::slice::from_ref(client), &prefix, workloads, action)?;
    let is_right = outcomes.failed > 0
        && outcomes.unexpected == 0
        && outcomes.violations == 0
        && outcomes.slowest <= SLOWEST
        && outcomes.recovered <= RECOVERY;
    trial.expect(
        is_right,
        format!("system with a full volume `{name}`"),
        outcomes.figures(),
        format!(
            "refused; unexpected 0, violations 0, slowest {} s, recovered after {} s",
            SLOWEST.as_secs(),
            RECOVERY.as_secs()
        ),
    )
}
