//! `expand`: runs the tests of the last release on the current database schema.
//!
//! During a rolling upgrade, replicas of both releases run side by side. After a rollback, the older release runs alone
//! on the newer schema. A release may therefore add to the schema, and remove only what the release before it no longer
//! uses (docs/operations/upgrade.md#what-a-migration-may-change).
//!
//! The tests run in a git worktree of the release with the current migrations. The tests of SQLite query plans are
//! skipped: a new index may change the plans.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::process::{self, output};
use testkit::processes::trial::Trial;

/// Folders of migrations.
const MIGRATION_FOLDERS: [&str; 4] = [
    "crates/common/migrations",
    "services/system/migrations",
    "services/logistics/migrations",
    "services/livestock/migrations",
];
/// Subfolders of each folder of migrations.
const DATABASES: [&str; 2] = ["sqlite", "postgres"];

/// Tests a release, or the newest one, on the current schema. Tests nothing if the migrations are the same.
pub fn run(trial: &Trial<'_>, release: Option<&str>) -> Result<()> {
    let check = "tests of the last release on the current schema";
    let release = match release.map_or_else(newest_release, |release| Ok(Some(release.to_owned()))) {
        Ok(Some(release)) => release,
        Ok(None) => {
            trial.note(check, "no release yet (no tag v* before HEAD)", "-");
            return Ok(());
        }
        // Source archives have no repository, shallow clones have no tags.
        Err(error) => {
            trial.not_tried(check, &format!("{error:#}"));
            return Ok(());
        }
    };
    let uncommitted = git(&["status", "--porcelain", "--"], &MIGRATION_FOLDERS)?;
    let committed = git(&["diff", "--name-only", &release, "--"], &MIGRATION_FOLDERS)?;
    if uncommitted.is_empty() && committed.is_empty() {
        trial.note(check, format!("the migrations are those of {release}"), "-");
        return Ok(());
    }
    test_in_worktree(trial, &release)?;
    trial.note(check, format!("the tests of {release} pass"), "pass");
    Ok(())
}

/// Returns the newest tag `v*` before HEAD. A release is newer than its pre-releases (`v1.0-rc1`).
fn newest_release() -> Result<Option<String>> {
    let options = ["-c", "versionsort.suffix=-", "tag", "--merged", "HEAD", "--sort=-v:refname"];
    let newest = git(&options, &["--list", "v*"])?.lines().next().map(str::to_owned);
    ensure!(
        newest.is_some() || git(&["rev-parse", "--is-shallow-repository"], &[])?.trim() == "false",
        "this clone is shallow: run `git fetch --unshallow --tags`"
    );
    Ok(newest)
}

/// Tests a release with the current migrations in a temporary worktree.
fn test_in_worktree(trial: &Trial<'_>, release: &str) -> Result<()> {
    let worktree = trial.path("release");
    let path = worktree.to_str().context("the path of the temporary folder is not UTF-8: set TMPDIR")?;
    git(&["worktree", "prune"], &[])?; // forgets worktrees whose folders were removed
    git(&["worktree", "add", "--quiet", "--detach"], &[path, release])?;
    let result = replace_migrations(&checkout::root(), &worktree).and_then(|()| run_tests(trial, &worktree));
    let removed = git(&["worktree", "remove", "--force"], &[path]);
    result.with_context(|| format!("{release} does not work on the current schema"))?;
    removed?;
    Ok(())
}

/// Copies the current migrations into a worktree of a release.
///
/// # Errors
/// A migration of the release was changed or removed.
fn replace_migrations(root: &Path, worktree: &Path) -> Result<()> {
    for folder in MIGRATION_FOLDERS {
        for database in DATABASES {
            let [current, released] = [root, worktree].map(|tree| tree.join(folder).join(database));
            let entries =
                fs::read_dir(&released).with_context(|| format!("cannot read {}", released.display()))?;
            for entry in entries {
                let up = Path::new(&entry?.file_name()).join("up.sql");
                let released_sql = fs::read(released.join(&up))?;
                ensure!(
                    fs::read(current.join(&up)).is_ok_and(|sql| sql == released_sql),
                    "{folder}/{database}/{} has been released: restore it and add a new migration",
                    up.display()
                );
            }
            output(Command::new("cp").arg("-R").arg(current.join(".")).arg(&released))?;
        }
    }
    Ok(())
}

/// Runs the tests of the release's three services.
fn run_tests(trial: &Trial<'_>, worktree: &Path) -> Result<()> {
    let mut cargo = checkout::cargo();
    cargo.current_dir(worktree).args(["test", "--locked", "--no-fail-fast", "--test", "it"]);
    cargo.args(SERVICES.iter().flat_map(|service| ["--package", service]));
    cargo.args(["--", "--skip", "plans::"]);
    // With a shared target folder, cargo confuses the crates of both worktrees.
    cargo.env("CARGO_TARGET_DIR", checkout::target_dir()?.join("last-release"));
    cargo.envs(trial.servers.environment());
    if !process::run(&mut cargo, trial.stop)?.success() {
        bail!("tests failed, see above");
    }
    Ok(())
}

/// Runs git in the checkout and returns its output.
fn git(command: &[&str], arguments: &[&str]) -> Result<String> {
    output(Command::new("git").arg("-C").arg(checkout::root()).args(command).args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_migration(root: &Path, name: &str, sql: &str) {
        for folder in MIGRATION_FOLDERS {
            for database in DATABASES {
                let path = root.join(folder).join(database).join(name);
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("up.sql"), sql).unwrap();
            }
        }
    }

    #[test]
    fn new_migrations_are_copied_and_changed_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (root, worktree) = (folder.path().join("root"), folder.path().join("worktree"));
        write_migration(&worktree, "1_create", "CREATE");
        write_migration(&root, "1_create", "CREATE");
        write_migration(&root, "2_add", "ADD");
        replace_migrations(&root, &worktree).unwrap();
        let copied = worktree.join(MIGRATION_FOLDERS[3]).join("postgres/2_add/up.sql");
        assert_eq!(fs::read_to_string(copied).unwrap(), "ADD");
        write_migration(&root, "1_create", "CREATE ANOTHER");
        let error = replace_migrations(&root, &worktree).unwrap_err().to_string();
        assert!(error.contains("1_create/up.sql has been released"), "{error}");
        write_migration(&root, "1_create", "CREATE");
        fs::remove_dir_all(root.join(MIGRATION_FOLDERS[1]).join("sqlite/1_create")).unwrap();
        assert!(replace_migrations(&root, &worktree).unwrap_err().to_string().contains("services/system"));
    }
}
