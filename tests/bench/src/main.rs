//! `bench`: measures the services and compares each scenario with baselines on the same machine.
//!
//! Scenarios and baselines run in alternating rounds, and the report has the medians. CPU time per request is the most
//! reliable figure on a shared machine.

mod baselines;
mod benchmark;
mod datasets;
mod documents;
mod environment;
mod get_benchmark;
mod load;
mod measurement;
mod options;
mod pgbench;
mod report;
mod scenarios;
mod wrk;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use clap::builder::PossibleValuesParser;
use testkit::processes::interrupt::{self, Interrupt, Interrupted};
use testkit::processes::{checkout, tools};

use self::environment::BenchEnvironment;
use self::options::Options;
use self::report::Figures;
use self::scenarios::{SCENARIOS, start};

/// Benchmarks release builds of the services and prints Markdown tables.
#[derive(Debug, Parser)]
#[command(name = "bench", max_term_width = 100)]
struct Cli {
    /// Scenarios to run [default: all]
    #[arg(value_name = "SCENARIO", value_parser = PossibleValuesParser::new(SCENARIOS.map(|(name, _)| name)))]
    scenarios: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// Also write the tables to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the targets beside the figures of recent runs and write the plots. Measures nothing
    #[arg(long, conflicts_with = "scenarios")]
    targets: bool,
    /// File with the figures of recent runs [default: target/bench/figures.json]
    #[arg(long, value_name = "FILE")]
    figures: Option<PathBuf>,
    /// Folder of the plots that --targets writes [default: docs/performance]
    #[arg(long, value_name = "DIR", requires = "targets")]
    plots: Option<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::run_program(|stop| run(&cli, stop))
}

/// Runs the selected scenarios and prints the report. A failed scenario does not prevent the next one.
fn run(cli: &Cli, stop: &Interrupt) -> Result<()> {
    let figures_file =
        cli.figures.clone().unwrap_or_else(|| checkout::root().join("target/bench/figures.json"));
    let mut figures = Figures::read(&figures_file)?;
    if cli.targets {
        figures
            .write_plots(&cli.plots.clone().unwrap_or_else(|| checkout::root().join("docs/performance")))?;
        return print(cli, &figures.markdown());
    }
    let selected = |name: &str| cli.scenarios.is_empty() || cli.scenarios.iter().any(|other| other == name);
    tools::require(&["wrk"])?;
    let mut env = BenchEnvironment::new(&cli.options, stop)?;
    let mut failed = Vec::new();
    for (name, scenario) in SCENARIOS.into_iter().filter(|(name, _)| selected(name)) {
        eprintln!("{name}");
        match scenario(&env) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                eprintln!("{name} failed: {error:#}");
                env.add_note(format!("{name} failed: {error:#}"));
                failed.push(name);
            }
            Ok(()) => {}
        }
    }
    start::stop_services(&mut env)?;
    let report = env.report.take();
    let mut markdown = report.markdown();
    if cli.options.short {
        figures = report.figures; // they say nothing about the speed: they are not kept
    } else {
        figures.extend(report.figures);
        figures.write(&figures_file)?;
    }
    markdown.extend(["\n", &figures.markdown()]);
    print(cli, &markdown)?;
    if failed.is_empty() { Ok(()) } else { bail!("failed scenarios, see above: {}", failed.join(", ")) }
}

/// Prints the tables, and writes them to the file of the options.
fn print(cli: &Cli, markdown: &str) -> Result<()> {
    println!("{markdown}");
    if let Some(path) = &cli.out {
        fs::write(path, markdown).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
