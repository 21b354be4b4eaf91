//! Finds the programs and libraries that `.ci/install` installs. Rust code installs nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use anyhow::{Result, bail};

use crate::processes::checkout;

/// Tools of the servers that tests and trials start.
pub const SERVERS: [&str; 3] = ["initdb", "redis-server", "weed"];

/// What provides a tool whose name does not say so.
const PROVIDERS: [(&str, &str); 10] = [
    ("axe.min.js", "axe, which checks how accessible pages are"),
    ("chromium-headless-shell", "the headless shell of Chromium"),
    ("initdb", "PostgreSQL 14 or newer, with contrib"),
    ("libfaketime.so.1", "libfaketime"),
    ("prometheus", "Prometheus 2.40 or newer"),
    ("promtool", "Prometheus 2.40 or newer"),
    ("redis-server", "Redis 6 or newer"),
    ("soffice", "LibreOffice Calc"),
    ("tsc", "TypeScript 4.9 or newer"),
    ("weed", "SeaweedFS"),
];

/// The folder of the pinned Python programs, unless it was installed from other requirements than today's.
static PYTHON_PROGRAMS: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let installed = checkout::target_dir().ok()?.join("tools/python");
    let [actual, expected] =
        [installed.join("requirements.txt"), checkout::root().join(".ci/requirements.txt")]
            .map(|file| fs::read(file).ok());
    (actual.is_some() && actual == expected).then(|| installed.join("bin"))
});

/// Lists the tools that a trial needs besides [`SERVERS`].
pub fn for_trial(name: &str) -> &'static [&'static str] {
    match name {
        "console" => &["axe.min.js", "chromium-headless-shell"],
        "clients" => &[
            "chromium-headless-shell",
            "java",
            "mypy",
            "node",
            "openapi-generator-cli",
            "openapi-python-client",
            "python3",
            "ruff",
            "tsc",
        ],
        "containers" => &[
            "bash",
            "chromium-headless-shell",
            "curl",
            "debootstrap",
            "docker",
            "docker-compose",
            "kubectl",
            "kubernetes-validate",
            "nginx",
            "openssl",
            "strip",
            "tar",
        ],
        "dashboards" => &["prometheus", "promtool", "python3"],
        "deploy" => &[
            "bash",
            "curl",
            "docker-compose",
            "git",
            "hadolint",
            "kubectl",
            "kubernetes-validate",
            "openssl",
            "shellcheck",
            "systemd-analyze",
        ],
        "docs" => &["curl", "git", "shellcheck"],
        "docspage" => &["chromium-headless-shell", "nginx"],
        "fuzz" => &["python3", "schemathesis"],
        "login" => &[
            "bash",
            "chromium-headless-shell",
            "docker-compose",
            "nginx",
            "openssl",
            "perl",
            "slapd",
            "starman",
            "tar",
        ],
        "spreadsheets" => &["python3", "soffice"],
        "replicas" => &["libfaketime.so.1", "nginx"],
        _ => &[],
    }
}

/// Finds a program or library.
///
/// Pinned Python programs come before those on `PATH`; `python3` is the interpreter of their virtual environment.
///
/// # Errors
/// The tool is missing.
pub fn find(name: &str) -> Result<PathBuf> {
    match lookup(name) {
        Some(path) => Ok(path),
        None => bail!(message(&[name])),
    }
}

/// Finds a program of this machine, without those that are pinned in cargo's target folder.
pub fn find_installed(name: &str) -> Result<PathBuf> {
    match installed(name) {
        Some(path) => Ok(path),
        None => bail!(message(&[name])),
    }
}

/// Returns the names of the tools that are missing.
pub fn missing<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().copied().filter(|name| lookup(name).is_none()).collect()
}

/// Fails if one of these tools is missing.
pub fn require(names: &[&str]) -> Result<()> {
    let missing = missing(names);
    if missing.is_empty() { Ok(()) } else { bail!(message(&missing)) }
}

/// Says what to do about missing tools.
pub fn message(missing: &[&str]) -> String {
    let provider = |name| PROVIDERS.iter().find(|(tool, _)| *tool == name);
    let named = missing.iter().map(|name| match provider(*name) {
        Some((_, provider)) => format!("{name} ({provider})"),
        None => (*name).to_owned(),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    format!("missing: {named}. Run .ci/install (Debian), or install them and put them on PATH")
}

/// Returns the folder with `initdb`, `postgres`, `psql` and `pgbench`.
pub fn postgres_folder() -> Result<PathBuf> {
    // On PATH there may be a link to `initdb` alone.
    let initdb = fs::canonicalize(find_installed("initdb")?)?;
    Ok(initdb.parent().map(Path::to_path_buf).unwrap_or_default())
}

/// Returns `PATH` with these folders in front.
pub fn path_with(folders: &[&Path]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| (*folder).to_owned());
    Ok(env::join_paths(folders.chain(env::split_paths(&path)))?)
}

/// Returns a command whose worker processes run as the current user and so can read the folders of a trial.
pub fn nginx(program: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.args(["-g", "user root;"]);
    }
    command
}

fn lookup(name: &str) -> Option<PathBuf> {
    let typescript = checkout::target_dir().ok();
    let typescript = typescript.map(|target| target.join("tools/typescript/usr/share/nodejs/typescript/bin"));
    let python = PYTHON_PROGRAMS.clone().into_iter();
    // A script within a package.
    let axe = python.clone().filter_map(|programs| Some(programs.parent()?.join("lib")));
    let axe = axe.flat_map(|lib| subfolders(lib, "site-packages/axe_playwright_python"));
    let pinned = python.chain(typescript).chain(axe);
    pinned.map(|folder| folder.join(name)).find(|file| file.is_file()).or_else(|| installed(name))
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Servers run in other working directories, where relative paths lead elsewhere.
    let on_path = env::split_paths(&path).filter(|folder| folder.is_absolute());
    on_path
        .chain([PathBuf::from("/usr/sbin")])
        .chain(subfolders("/usr/lib/postgresql", "bin"))
        .chain(subfolders("/usr/lib", "faketime"))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Lists `base/*/inner`, the highest version number first.
fn subfolders(base: impl AsRef<Path>, inner: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    folders.into_iter().map(|folder| folder.join(inner)).filter(|folder| folder.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_on_path() {
        assert!(find("sh").unwrap().ends_with("sh"));
        assert_eq!(missing(&["sh", "no-such-program"]), ["no-such-program"]);
    }

    #[test]
    fn names_missing_tools_and_what_provides_them() {
        let error = find("no-such-program").unwrap_err().to_string();
        assert!(error.contains("no-such-program") && error.contains(".ci/install"), "{error}");
        assert!(message(&["weed", "curl"]).starts_with("missing: weed (SeaweedFS), curl. "));
    }

    #[test]
    fn the_newest_version_comes_first() {
        let base = tempfile::tempdir().unwrap();
        for folder in ["9/bin", "15/bin", "17/bin", "18", "common/bin"] {
            fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        let found = subfolders(base.path(), "bin");
        let expected = ["17/bin", "15/bin", "9/bin", "common/bin"].map(|folder| base.path().join(folder));
        assert_eq!(found, expected);
        assert!(subfolders("/no/such/folder", "bin").is_empty());
    }
}
