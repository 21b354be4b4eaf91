//! A benchmark and its baselines, measured in alternating rounds.

use anyhow::{Context, Result};
use testkit::processes::service::ServiceProcess;

use crate::environment::BenchEnvironment;
use crate::measurement::{Measurement, Summary};
use crate::report::{BenchmarkResult, Target};

/// One run of a benchmark or of a baseline.
pub type Run<'a> = Box<dyn FnMut() -> Result<Measurement> + 'a>;

/// A limit of the machine, or another measurement, with which a benchmark is compared.
pub struct Baseline<'a> {
    /// Name in the report.
    pub name: &'static str,
    /// Measures the baseline once.
    pub run: Run<'a>,
}

/// One row of the report.
pub struct Benchmark<'a> {
    /// Name in the report.
    pub name: String,
    /// The service whose memory is reported.
    pub service: &'a ServiceProcess,
    /// Measures the service once.
    pub run: Run<'a>,
    /// Baselines. The target is relative to the first one.
    pub baselines: Vec<Baseline<'a>>,
    /// Performance target.
    pub target: Target,
}

impl Benchmark<'_> {
    /// Measures the service and then each baseline, `env.rounds` times. Adds the medians to the report and returns
    /// them.
    pub fn measure(mut self, env: &BenchEnvironment) -> Result<BenchmarkResult> {
        let mut rounds = Vec::new();
        let mut baseline_rounds = vec![Vec::new(); self.baselines.len()];
        for _ in 0..env.rounds {
            env.stop.check()?;
            rounds.push((self.run)().with_context(|| self.name.clone())?);
            env.record_pss(self.service)?;
            for (baseline, rounds) in self.baselines.iter_mut().zip(&mut baseline_rounds) {
                env.stop.check()?;
                rounds.push((baseline.run)().with_context(|| format!("{}, {}", self.name, baseline.name))?);
            }
        }
        let names = self.baselines.iter().map(|baseline| baseline.name);
        let result = BenchmarkResult {
            name: self.name,
            summary: Summary::new(&rounds),
            pss: self.service.pss()?,
            baselines: names.zip(baseline_rounds.iter().map(|rounds| Summary::new(rounds))).collect(),
            target: self.target,
        };
        eprint!("{}", result.markdown());
        env.report.borrow_mut().results.push(result.clone());
        Ok(result)
    }
}
