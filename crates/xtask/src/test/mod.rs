//! `test`: runs every check, one stage after the other, and stops at the first that fails.

mod stages;

use std::env;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::databases::Databases;
use testkit::processes::interrupt::Interrupt;
use testkit::processes::servers::{S3, Servers, has_citus};
use testkit::processes::{environment, ports, process, programs, tools};

use self::stages::{Stage, Stages, compiler_version, succeed};
use crate::cli::{BackendArgs, TestArgs, TestScope};
use crate::demo::{self, DemoOptions};
use crate::launch::Programs;
use crate::tool;

/// The trials that a change must pass. `cargo xtask trials` runs the others too: every night and before a release.
const TRIALS: [&str; 5] = ["deploy", "fuzz", "crash", "docs", "clients"];
/// Arguments of `cargo test` for crates and services. They select targets, not packages: with fewer packages, cargo
/// would select fewer features of their dependencies and build most of them again.
const SUITES: [(&str, [&str; 4]); 2] = [
    ("tests of services", ["--workspace", "--no-fail-fast", "--lib", "--test=it"]),
    ("doc tests", ["--workspace", "--no-fail-fast", "--doc", "--quiet"]),
];
/// Arguments of the tests on Citus: those that use PostgreSQL, except those of the plans of a single server and those
/// with a standby, which have servers of their own.
const CITUS_SUITE: [&str; 13] = [
    "--workspace",
    "--no-fail-fast",
    "--lib",
    "--test=it",
    "--",
    "--skip",
    "sqlite",
    "--skip",
    "postgres_plans",
    "--skip",
    "list_plans",
    "--skip",
    "standby::",
];
/// The packages that cargo-nextest runs. The stage `tidy` runs tests/structure.
const NEXTEST: [&str; 6] = ["bench", "cli", "journeys", "limits", "trials", "xtask"];

/// Variable of the number of tests that `cargo test` runs at once.
const THREADS: &str = "RUST_TEST_THREADS";
/// Lowest number of tests that `cargo test` runs at once. Many wait for time limits.
const MIN_THREADS: usize = 4;

/// Runs all stages, the quick ones, or `cargo test` with arguments.
pub fn run(args: &TestArgs, interrupt: &Interrupt) -> Result<()> {
    environment::use_memory();
    if !args.args.is_empty() {
        let mut servers = Servers::start(interrupt)?;
        return cargo_test(&args.args, &mut servers, interrupt);
    }
    let mut stages = Stages::new(interrupt);
    let result = match args.scope {
        Some(TestScope::Quick) => quick(&mut stages),
        None => full(&mut stages),
    };
    stages.finish(result)
}

/// Checks the format and runs the tests that need no servers.
fn quick(stages: &mut Stages<'_>) -> Result<()> {
    cargo(stages, "format", &["fmt", "--all", "--check"])?;
    tests_on_sqlite(stages)
}

fn full(stages: &mut Stages<'_>) -> Result<()> {
    // Later stages do not change an outdated lock file: they fail.
    cargo_quietly(stages, "lock file", &["metadata", "--locked", "--format-version", "1"])?;
    format_and_lints(stages)?;
    // Tests add features to the dependencies of the services. Deployed services are built without them.
    cargo(
        stages,
        "services alone",
        &["check", "--locked", "-p", "system", "-p", "logistics", "-p", "livestock", "-p", "console"],
    )?;
    dependencies(stages)?;
    workflows(stages)?;
    let tidy_stage = Stage { name: "tidy", command: "cargo xtask tidy", tools: &[] };
    let interrupt = stages.interrupt;
    stages.run(&tidy_stage, || tool::tidy(interrupt))?;
    cargo(stages, "build", &["build", "--locked", "--workspace", "--all-targets"])?;
    let start = Stage { name: "start servers", command: "cargo xtask servers", tools: &tools::SERVERS };
    if let Some(mut servers) = stages.run(&start, || Servers::start(interrupt))? {
        all_tests(stages, &mut servers)?;
        tests_on_citus(stages, &servers)?;
        demo_on_servers(stages, &servers)?;
    } else {
        for name in ["tests on all servers", "demo on all servers"] {
            stages.leave_out(name, "the servers are missing");
        }
        tests_on_sqlite(stages)?;
    }
    trials(stages)
}

/// Runs a stage that is one call of cargo.
fn cargo(stages: &mut Stages<'_>, name: &str, args: &[&str]) -> Result<()> {
    let command = format!("cargo {}", args.join(" "));
    stages.run_command(&Stage { name, command: &command, tools: &[] }, checkout::cargo().args(args))
}

fn cargo_quietly(stages: &mut Stages<'_>, name: &str, args: &[&str]) -> Result<()> {
    let command = format!("cargo {}", args.join(" "));
    let stage = Stage { name, command: &command, tools: &[] };
    stages.run_command(&stage, checkout::cargo().args(args).stdout(Stdio::null()))
}

/// Checks format and lints with the compiler version of Cargo.toml. Other versions have other lints.
fn format_and_lints(stages: &mut Stages<'_>) -> Result<()> {
    let metadata = checkout::metadata()?;
    let pinned = metadata["metadata"]["toolchain"].as_str().context("Cargo.toml names no toolchain")?;
    let actual = compiler_version()?;
    if actual != pinned {
        let reason = format!("they need Rust {pinned}, this is {actual}: `cargo +{pinned} xtask test`");
        stages.leave_out("format, lints", &reason);
        return Ok(());
    }
    cargo(stages, "format", &["fmt", "--all", "--check"])?;
    cargo(stages, "lints", &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Checks licences, sources and the direction of dependencies.
fn dependencies(stages: &mut Stages<'_>) -> Result<()> {
    let (checks, interrupt) = (["check", "licenses", "bans", "sources"], stages.interrupt);
    let command = format!("cargo deny {}", checks.join(" "));
    let stage = Stage { name: "dependencies", command: &command, tools: &["cargo-deny"] };
    let check = || {
        let mut deny = Command::new(tools::find("cargo-deny")?);
        deny.args(["--locked", "--log-level", "error"]).args(checks).current_dir(checkout::root());
        // cargo-deny reads the crates of all platforms, also those that no build here has fetched.
        succeed(&mut deny, interrupt)
            .context("if a crate cannot be fetched, run `cargo fetch --locked` online")
    };
    stages.run(&stage, check).map(drop)
}

/// Checks `.github`: the form of workflows, their permissions, and what they execute.
fn workflows(stages: &mut Stages<'_>) -> Result<()> {
    let (checks, interrupt) = (["--offline", "--quiet", "--strict-collection", ".github"], stages.interrupt);
    let command = format!("zizmor {}", checks.join(" "));
    let stage = Stage { name: "workflows", command: &command, tools: &["zizmor"] };
    let check = || {
        let mut zizmor = Command::new(tools::find("zizmor")?);
        succeed(zizmor.args(checks).current_dir(checkout::root()), interrupt)
    };
    stages.run(&stage, check).map(drop)
}

/// Runs the suites of crates and services with cargo, those of tests/ with cargo-nextest.
fn all_tests(stages: &mut Stages<'_>, servers: &mut Servers) -> Result<()> {
    let interrupt = stages.interrupt;
    for (name, selection) in SUITES {
        let args = selection.map(str::to_owned);
        let command = format!("cargo xtask test -- {}", args.join(" "));
        stages.run(&Stage { name, command: &command, tools: &["pgbouncer"] }, || {
            cargo_test(&args, servers, interrupt)
        })?;
    }

    let filter = NEXTEST.map(|package| format!("package({package})")).join(" | ");
    let tests = Stage {
        name: "tests of tests/",
        command: "cargo xtask test -- -p journeys -p trials",
        tools: &["cargo-nextest"],
    };
    let run = || {
        let mut command = nextest()?;
        command.args(["-E", &filter]);
        succeed_with(&mut command, servers, interrupt)
    };
    stages.run(&tests, run).map(drop)
}

/// Runs the suites on rows that Citus distributes, if its extension is installed: no registry has it.
fn tests_on_citus(stages: &mut Stages<'_>, servers: &Servers) -> Result<()> {
    let (name, interrupt, url) = ("tests on Citus", stages.interrupt, servers.postgres_url());
    if !has_citus(&Databases::new(&url)?, &url)? {
        stages.skip(name, "NOT TRIED: PostgreSQL here has no extension citus (docs/operations/citus.md)");
        return Ok(());
    }
    let args = CITUS_SUITE.map(str::to_owned);
    let command = format!("cargo xtask servers --citus, then cargo test {}", args.join(" "));
    let run = || cargo_test(&args, &mut Servers::start_with_citus(interrupt)?, interrupt);
    stages.run(&Stage { name, command: &command, tools: &["pgbouncer"] }, run).map(drop)
}

/// Runs the tests that need no servers: profile `quick` of .config/nextest.toml.
fn tests_on_sqlite(stages: &mut Stages<'_>) -> Result<()> {
    let interrupt = stages.interrupt;
    let command = "cargo nextest run --workspace --profile quick";
    let tests = Stage { name: "tests on SQLite", command, tools: &["cargo-nextest"] };
    let run = || {
        let mut command = nextest()?;
        succeed(command.args(["--profile", "quick"]).envs([environment::temporary_folder()]), interrupt)
    };
    stages.run(&tests, run).map(drop)
}

/// Returns a command that runs tests of the workspace, with the features that all its packages together select.
fn nextest() -> Result<Command> {
    let mut command = checkout::command(tools::find("cargo-nextest")?);
    command.args(["nextest", "run", "--locked", "--workspace"]);
    Ok(command)
}

fn cargo_test(args: &[String], servers: &mut Servers, interrupt: &Interrupt) -> Result<()> {
    let mut command = checkout::cargo();
    command.args(["test", "--locked"]).args(args);
    if env::var_os(THREADS).is_none() {
        let threads = available_parallelism().map_or(MIN_THREADS, |cores| MIN_THREADS.max(cores.get()));
        command.env(THREADS, threads.to_string());
    }
    succeed_with(&mut command, servers, interrupt)
}

/// Runs tests on these servers. Fails if the command does or if a server ends.
fn succeed_with(command: &mut Command, servers: &mut Servers, interrupt: &Interrupt) -> Result<()> {
    command.envs(servers.environment()).envs([environment::temporary_folder()]);
    let status = process::run_while(command, interrupt, || servers.check())?;
    ensure!(status.success(), "tests failed ({status}); their messages are above");
    Ok(())
}

/// Runs the demo on PostgreSQL, Redis and S3, with the programs of the stage `build`.
fn demo_on_servers(stages: &mut Stages<'_>, servers: &Servers) -> Result<()> {
    let interrupt = stages.interrupt;
    let command = "cargo xtask demo --market --database postgres://… --redis redis://… --store s3://…";
    let demo = || {
        let (databases, folder) = (Databases::new(&servers.postgres_url())?, tempfile::tempdir()?);
        let backends = BackendArgs {
            database: Some(databases.create("demo")?),
            redis: Some(servers.redis_url()),
            store: Some(S3::place("demo")),
        };
        let port = ports::find_free_row(u16::try_from(SERVICES.len())?)?;
        let (environment, programs) = (servers.s3_variables(), programs::debug()?);
        let options = DemoOptions { market: true, verbose: false };
        let folder = folder.path();
        demo::run_examples(
            &backends,
            folder,
            port,
            &environment,
            Programs::Existing(&programs),
            options,
            interrupt,
        )
    };
    let needed = [&tools::SERVERS[..], &["curl"]].concat();
    stages.run(&Stage { name: "demo on all servers", command, tools: &needed }, demo).map(drop)
}

/// Runs the short form of some trials with the programs of the stage `build`.
fn trials(stages: &mut Stages<'_>) -> Result<()> {
    let programs = programs::debug()?;
    for trial in TRIALS {
        let command = format!("cargo xtask trials {trial} --short");
        let needed = [&tools::SERVERS, tools::for_trial(trial)].concat();
        let stage = Stage { name: trial, command: &command, tools: &needed };
        let mut run = Command::new(programs.join("trials"));
        run.args([trial, "--short", "--programs"]).arg(&programs);
        stages.run_command(&stage, &mut run)?;
    }
    Ok(())
}
