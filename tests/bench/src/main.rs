//! `bench`: measures the services and compares each scenario with limits of the same machine.
//!
//! Scenarios and limits run in alternating rounds, and the report has the medians. CPU time per request is the most
//! reliable figure on a shared machine.

mod datasets;
mod environment;
mod limits;
mod measurement;
mod plot;
mod queries;
mod report;
mod scenarios;
mod wrk;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use clap::builder::PossibleValuesParser;

use self::environment::{BenchEnvironment, Options};
use self::report::Figures;
use self::scenarios::SCENARIOS;
use testkit::processes::interrupt::{Interrupt, Interrupted, run_program};
use testkit::processes::{checkout, tools};

/// Benchmarks release builds of the services and prints Markdown tables.
#[derive(Debug, Parser)]
#[command(name = "bench", max_term_width = 100)]
struct Cli {
    /// Scenarios to run [default: all]
    #[arg(value_name = "SCENARIO", value_parser = PossibleValuesParser::new(SCENARIOS.iter().map(|(name, _)| name)))]
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
    run_program(|stop| run(&cli, stop))
}

/// Runs the selected scenarios and prints the report. A failed scenario does not prevent the next one.
fn run(cli: &Cli, stop: &Interrupt) -> Result<()> {
    let in_checkout =
        |option: &Option<PathBuf>, path: &str| option.clone().unwrap_or_else(|| checkout::root().join(path));
    let figures_file = in_checkout(&cli.figures, "target/bench/figures.json");
    let mut figures = Figures::read(&figures_file)?;
    if cli.targets {
        let folder = in_checkout(&cli.plots, "docs/performance");
        fs::create_dir_all(&folder)?;
        figures.write_plots(&folder)?;
        return print(cli, &figures.markdown());
    }
    tools::require(&["wrk"])?;
    let (mut env, mut failed) = (BenchEnvironment::new(&cli.options, stop)?, Vec::new());
    for (name, scenario) in SCENARIOS {
        if !cli.scenarios.is_empty() && !cli.scenarios.iter().any(|selected| selected == name) {
            continue;
        }
        eprintln!("{name}");
        match scenarios::run(&env, *scenario) {
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                eprintln!("{name} failed: {error:#}");
                env.add_note(&format!("{name} failed: {error:#}"));
                failed.push(*name);
            }
            Ok(()) => {}
        }
    }
    scenarios::stop_services(&mut env);
    let report = env.report.take();
    let mut markdown = report.markdown();
    if !cli.options.short {
        figures.extend(report.figures);
        figures.write(&figures_file)?;
        markdown.extend(["\n", &figures.markdown()]);
    }
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
