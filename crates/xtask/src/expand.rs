//! `expand`: does the last release work on the schema that today's migrations make? Replicas of both run side by side
//! while a release is rolled out, and after a roll-back the older one is alone with it. So a release may add to the
//! schema, and take away only what the one before has ceased to use (docs/operations.md, "Releases").
//!
//! The release's own suites of the three services are run, from a tree of its own with today's migrations laid over it.
//! How SQLite goes about statements (`plans`) is left out: there a new index may well change what a test expects.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cli::ExpandArgs;
use crate::process;
use crate::servers::Servers;
use crate::stop::Stop;
use crate::workspace::{self, SERVICES};

/// Where migrations are.
const FOLDERS: [&str; 4] = [
    "crates/common/migrations",
    "services/system/migrations",
    "services/logistics/migrations",
    "services/livestock/migrations",
];

const NO_RELEASE: &str = "there is no release yet (no tag v* before HEAD)";

/// Runs a release's suites over today's migrations, on servers of its own.
pub fn command(args: &ExpandArgs, stop: &Stop) -> Result<()> {
    let release = match args.release.clone() {
        Some(release) => release,
        None => match last_release()? {
            Some(release) => release,
            None => return nothing(NO_RELEASE),
        },
    };
    try_release(&release, &Servers::start(stop)?, stop)
}

/// The same within the tests, if there is a release whose migrations are not today's. Gives why it cannot be tried
/// where nobody knows of releases: in an archive of the sources, without git, in a clone without a past.
pub fn run(servers: &Servers, stop: &Stop) -> Result<Option<String>> {
    let release = match last_release() {
        Ok(Some(release)) => release,
        Ok(None) => return nothing(NO_RELEASE).map(|()| None),
        Err(error) => return Ok(Some(format!("the last release on this schema: {error:#}"))),
    };
    let changed = git(&workspace::root(), &[&["status", "--porcelain", "--"][..], &FOLDERS].concat())?
        + &git(&workspace::root(), &[&["diff", "--name-only", &release, "--"][..], &FOLDERS].concat())?;
    if changed.is_empty() {
        return nothing(&format!("the migrations are those of {release}")).map(|()| None);
    }
    try_release(&release, servers, stop).map(|()| None)
}

#[expect(clippy::unnecessary_wraps, reason = "it ends what may fail")]
fn nothing(why: &str) -> Result<()> {
    println!("nothing to try: {why}");
    Ok(())
}

/// The newest tag before HEAD; a release is newer than what came before it (v1.0-rc1).
fn last_release() -> Result<Option<String>> {
    let root = workspace::root();
    let list = ["tag", "--merged", "HEAD", "--sort=-v:refname", "--list", "v*"];
    let tags = git(&root, &[&["-c", "versionsort.suffix=-"][..], &list].concat())?;
    let newest = tags.lines().next().map(str::to_owned);
    ensure!(
        newest.is_some() || git(&root, &["rev-parse", "--is-shallow-repository"])?.trim() == "false",
        "this clone has no past: `git fetch --unshallow --tags`"
    );
    Ok(newest)
}

fn try_release(release: &str, servers: &Servers, stop: &Stop) -> Result<()> {
    let folder =
        tempfile::Builder::new().prefix("drover-release-").tempdir().context("cannot make a folder")?;
    let tree = folder.path().join("tree");
    let root = workspace::root();
    let path = tree.to_str().context("a folder's name is no text")?;
    git(&root, &["worktree", "prune"])?; // of those whose folder is gone
    git(&root, &["worktree", "add", "--quiet", "--detach", path, release])?;
    let result = lay_over(&root, &tree).and_then(|()| suites(&tree, servers, stop));
    let removed = git(&root, &["worktree", "remove", "--force", path]);
    result.with_context(|| format!("{release} does not work on the schema that today's migrations make"))?;
    removed?;
    println!("{release} works on the schema that today's migrations make");
    Ok(())
}

/// Today's migrations instead of the release's; one that it had and that is gone, or is another by now, is a mistake.
fn lay_over(root: &Path, tree: &Path) -> Result<()> {
    for folder in FOLDERS {
        for database in ["sqlite", "postgres"] {
            let (from, to) = (root.join(folder).join(database), tree.join(folder).join(database));
            for landed in fs::read_dir(&to).with_context(|| format!("cannot read {}", to.display()))? {
                let up = Path::new(&landed?.file_name()).join("up.sql");
                let (was, is) = (fs::read(to.join(&up))?, fs::read(from.join(&up)));
                let place = format!("{folder}/{database}/{}", up.display());
                ensure!(
                    is.is_ok_and(|is| is == was),
                    "{place} has been released: put it back and add another"
                );
            }
            let copied = Command::new("cp")
                .arg("-R")
                .arg(from.join("."))
                .arg(&to)
                .status()
                .context("there is no cp")?;
            ensure!(copied.success(), "cannot copy {}", from.display());
        }
    }
    Ok(())
}

fn suites(tree: &Path, servers: &Servers, stop: &Stop) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.current_dir(tree).args(["test", "--locked", "--no-fail-fast", "--test", "it"]);
    cargo.args(SERVICES.iter().flat_map(|service| ["--package", service]));
    // A folder of its own: cargo takes crates of two trees of one workspace for the same.
    cargo
        .args(["--", "--skip", "plans::"])
        .env("CARGO_TARGET_DIR", workspace::target_dir()?.join("last-release"));
    cargo.envs(servers.environment());
    if !process::run(&mut cargo, stop)?.success() {
        bail!("what its tests found stands above");
    }
    Ok(())
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output =
        Command::new("git").arg("-C").arg(folder).args(arguments).output().context("there is no git")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(root: &Path, name: &str, sql: &str) {
        for folder in FOLDERS {
            for database in ["sqlite", "postgres"] {
                let path = root.join(folder).join(database).join(name);
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("up.sql"), sql).unwrap();
            }
        }
    }

    #[test]
    fn what_is_new_is_laid_over_and_what_is_released_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (root, tree) = (folder.path().join("root"), folder.path().join("tree"));
        migration(&tree, "1_create", "CREATE");
        migration(&root, "1_create", "CREATE");
        migration(&root, "2_add", "ADD");
        lay_over(&root, &tree).unwrap();
        let added = tree.join(FOLDERS[3]).join("postgres/2_add/up.sql");
        assert_eq!(fs::read_to_string(added).unwrap(), "ADD");
        migration(&root, "1_create", "CREATE ANOTHER");
        let refused = lay_over(&root, &tree).unwrap_err().to_string();
        assert!(refused.contains("1_create/up.sql has been released"), "{refused}");
        migration(&root, "1_create", "CREATE");
        fs::remove_dir_all(root.join(FOLDERS[1]).join("sqlite/1_create")).unwrap();
        assert!(lay_over(&root, &tree).unwrap_err().to_string().contains("services/system"));
    }
}
