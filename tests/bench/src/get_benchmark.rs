//! Benchmarks of GET requests, and their baselines.

use anyhow::{Context, Result, ensure};
use testkit::processes::service::ServiceProcess;

use crate::baselines::{constant, floor, sql};
use crate::benchmark::{Baseline, Benchmark, Run};
use crate::documents::{COMPARED, ids};
use crate::environment::BenchEnvironment;
use crate::load::{self, CLIENTS};
use crate::measurement::Measurement;
use crate::report::{BenchmarkResult, Target};
use crate::wrk::Requests;

/// Number of different requests of a scenario.
pub const QUERY_COUNT: usize = 300;
/// Headers that browsers send.
const BROWSER: [(&str, &str); 5] = [
    ("Accept", "application/json, text/plain, */*"),
    ("Accept-Encoding", "gzip"),
    ("Accept-Language", "en-GB,en;q=0.9"),
    ("Sec-Fetch-Mode", "cors"),
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
];

/// GET requests of one user.
pub struct GetBenchmark<'a> {
    /// Name in the report.
    pub name: String,
    /// The service.
    pub service: &'a ServiceProcess,
    /// Token of the user.
    pub token: String,
    /// Paths, requested in turn.
    pub paths: Vec<String>,
    /// Performance target.
    pub target: Target,
}

impl<'a> GetBenchmark<'a> {
    /// Returns a benchmark of requests as an organisation sends them.
    pub fn new(
        service: &'a ServiceProcess,
        organisation: &str,
        name: &str,
        paths: Vec<String>,
        target: Target,
    ) -> Self {
        let token = service.token(Some(organisation));
        Self { name: name.to_owned(), service, token, paths, target }
    }

    /// Compares the requests with one SQL statement for each path, with a constant response, and on SQLite with the
    /// floor.
    ///
    /// # Errors
    /// A statement or the floor finds other documents than the service.
    pub fn against_sql(&self, env: &BenchEnvironment, statements: &[String]) -> Result<BenchmarkResult> {
        self.compare_documents(env, statements)?;
        let requests = self.requests(env, &[])?;
        let sql = sql::select(env, self.service, statements, CLIENTS)?;
        let constant = self.constant(env, &requests)?;
        let floor = floor::get(env, self.service, &self.token, &self.paths, &requests)?;
        self.measure(env, &requests, CLIENTS, [sql, constant].into_iter().chain(floor).collect())
    }

    /// Compares the requests with a constant response.
    pub fn against_constant(&self, env: &BenchEnvironment) -> Result<BenchmarkResult> {
        let requests = self.requests(env, &[])?;
        let constant = self.constant(env, &requests)?;
        self.measure(env, &requests, CLIENTS, vec![constant])
    }

    /// Compares the requests with a constant response, and on SQLite with the floor.
    pub fn against_floor(&self, env: &BenchEnvironment) -> Result<BenchmarkResult> {
        let requests = self.requests(env, &[])?;
        let constant = self.constant(env, &requests)?;
        let floor = floor::get(env, self.service, &self.token, &self.paths, &requests)?;
        self.measure(env, &requests, CLIENTS, [constant].into_iter().chain(floor).collect())
    }

    /// Compares compressed with uncompressed responses on one persistent connection, where a response that ends in a
    /// second packet waits for the acknowledgement of the first.
    pub fn gzip_against_identity(&self, env: &BenchEnvironment) -> Result<BenchmarkResult> {
        let gzip = self.requests(env, &[("Accept-Encoding", "gzip")])?;
        let identity = self.requests(env, &[])?;
        let baseline = Baseline { name: "uncompressed", run: self.run(env, &identity, 1) };
        self.measure(env, &gzip, 1, vec![baseline])
    }

    /// Compares requests with the headers of a browser, whose responses are compressed, with requests without them.
    pub fn as_browser(&self, env: &BenchEnvironment) -> Result<BenchmarkResult> {
        let browser = self.requests(env, &BROWSER)?;
        let plain = self.requests(env, &[])?;
        let baseline = Baseline { name: "without headers", run: self.run(env, &plain, CLIENTS) };
        self.measure(env, &browser, CLIENTS, vec![baseline])
    }

    /// Compares the requests with another measurement.
    pub fn against(
        &self,
        env: &BenchEnvironment,
        name: &'static str,
        run: impl FnMut() -> Result<Measurement>,
    ) -> Result<BenchmarkResult> {
        self.measure(env, &self.requests(env, &[])?, CLIENTS, vec![Baseline { name, run: Box::new(run) }])
    }

    /// Measures the requests from `clients` clients without a baseline. Checks each request first.
    pub fn alone(&self, env: &BenchEnvironment, clients: usize) -> Result<BenchmarkResult> {
        for path in &self.paths {
            self.service.get(path, &self.token)?;
        }
        self.measure(env, &self.requests(env, &[])?, clients, Vec::new())
    }

    /// Writes the requests to a file.
    pub fn requests(&self, env: &BenchEnvironment, headers: &[(&str, &str)]) -> Result<Requests> {
        Requests::get(env.temp_path("requests"), &self.token, headers, &self.paths)
    }

    /// Returns a run of the requests.
    pub fn run<'r>(&'r self, env: &'r BenchEnvironment, requests: &'r Requests, clients: usize) -> Run<'r> {
        Box::new(move || load::send(env, self.service, requests, clients))
    }

    fn constant<'r>(&self, env: &BenchEnvironment, requests: &'r Requests) -> Result<Baseline<'r>> {
        let bytes = response_bytes(self.service, &self.token, &self.paths)?;
        constant::response(env, bytes, requests, CLIENTS)
    }

    fn measure(
        &self,
        env: &BenchEnvironment,
        requests: &Requests,
        clients: usize,
        baselines: Vec<Baseline>,
    ) -> Result<BenchmarkResult> {
        let run = self.run(env, requests, clients);
        let Self { name, service, target, .. } = self;
        Benchmark { name: name.clone(), service, run, baselines, target: *target }.measure(env)
    }

    /// Checks that the service and the SQL find the same documents in the same order.
    fn compare_documents(&self, env: &BenchEnvironment, statements: &[String]) -> Result<()> {
        let count = COMPARED.min(self.paths.len());
        let documents = sql::documents(env, self.service, &statements[..count])?;
        ensure!(documents.len() == count, "{} of {count} statements returned a result", documents.len());
        let mut rows = 0;
        for ((path, statement), documents) in self.paths.iter().zip(statements).zip(&documents) {
            let response = self.service.get(path, &self.token)?;
            let page = response.json.as_array().with_context(|| format!("{path}: not an array"))?;
            let (actual, expected) = (ids(page), ids(documents));
            ensure!(
                actual == expected,
                "the SQL of this scenario finds other documents than the service\n{path}: {actual:?}\n\
                 {statement}: {expected:?}"
            );
            rows += actual.len();
        }
        ensure!(rows > count, "the {count} searches found only {rows} documents");
        Ok(())
    }
}

/// Returns the average size of the first responses in bytes.
pub fn response_bytes(service: &ServiceProcess, token: &str, paths: &[String]) -> Result<usize> {
    let mut total = 0;
    let count = COMPARED.min(paths.len());
    for path in &paths[..count] {
        total += service.get(path, token)?.bytes.len();
    }
    Ok(total / count.max(1))
}
