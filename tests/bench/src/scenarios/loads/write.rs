//! Creation of single loads, and batch imports.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::market::loads::{self, csv_batch};
use testkit::market::organised_load;
use testkit::market::random::{Random, SEED};
use testkit::processes::databases::Databases;
use testkit::processes::service::ServiceProcess;

use crate::baselines::floor::{self, FLOOR};
use crate::baselines::sql;
use crate::benchmark::{Baseline, Benchmark};
use crate::environment::BenchEnvironment;
use crate::load::{self, with_server_cpu_time};
use crate::measurement::Measurement;
use crate::report::Target;
use crate::wrk::Requests;
use crate::{datasets, pgbench};

/// Number of different loads that are created in turn.
const LOAD_COUNT: usize = 100;
/// Rows of a batch.
const BATCH_SIZE: usize = 10_000;

/// Creates single loads from 1, 16 and 64 clients. The first baseline inserts as many rows per transaction.
pub fn create(env: &BenchEnvironment) -> Result<()> {
    let service = env.logistics()?;
    let requests = create_requests(env, service)?;
    for (clients, label) in [(1, "1 client"), (16, "16 clients"), (64, "64 clients")] {
        let loop_or_pgbench = sql::insert(env, service, "loads", clients, env.seconds)?;
        let floor = floor::create(env, service, &requests, clients)?;
        let result = Benchmark {
            name: format!("create-loads, {label}"),
            service,
            run: Box::new(|| load::send(env, service, &requests, clients)),
            baselines: [loop_or_pgbench].into_iter().chain(floor).collect(),
            target: env.by_database(Target::MaxCpuRatio(2.5), Target::MinRateRatio(0.75)),
        }
        .measure(env)?;
        if clients > 1 {
            let name = format!("create at {label}");
            env.record(&format!("{name}, against the bare loop"), result.cpu_ratio(sql::INSERT_IN_LOOP));
            env.record(&format!("{name}, against the floor"), result.cpu_ratio(FLOOR));
            let percent = result.rate_percent(sql::INSERT_IN_PGBENCH);
            env.record(&format!("{name}, part of the rate of pgbench"), percent);
        }
    }
    Ok(())
}

/// Returns requests that create loads, each by its organiser.
pub fn create_requests(env: &BenchEnvironment, service: &ServiceProcess) -> Result<Requests> {
    let mut tokens = HashMap::new();
    let requests = create_bodies().into_iter().map(|body| {
        let organiser = body["organiserId"].as_str().unwrap_or_default().to_owned();
        let token = tokens.entry(organiser).or_insert_with_key(|id| service.token(Some(id)));
        (token.clone(), body)
    });
    post_requests(env, "/v1/loads/organiser", requests)
}

/// Returns loads to create, the same in every run.
pub fn create_bodies() -> Vec<Value> {
    let mut random = Random(SEED);
    (0..LOAD_COUNT)
        .map(|number| {
            let organiser = loads::organiser(&mut random);
            let mut body =
                organised_load(&format!("org-{organiser}"), &format!("NEW-{number}"), &Value::Null);
            body["organiserName"] = json!(format!("Grain {organiser}"));
            body["carrierId"] = json!(format!("haul-{}", loads::carrier(&mut random)));
            body["commodityId"] = json!(loads::commodity(&mut random));
            body["deliveryDateISO"] =
                json!(format!("2026-{:02}-{:02}", 1 + random.below(12), 1 + random.below(28)));
            body["tags"] = json!(["contract"]);
            body
        })
        .collect()
}

/// Writes POST requests, each with its token and its JSON body.
pub fn post_requests(
    env: &BenchEnvironment,
    path: &str,
    requests: impl IntoIterator<Item = (String, Value)>,
) -> Result<Requests> {
    let mut written = Vec::new();
    for (token, body) in requests {
        let file = env.temp_path("body.json");
        fs::write(&file, body.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
        written.push((token, file));
    }
    Requests::post(env.temp_path("requests"), path, &written)
}

/// Imports batches of 10,000 loads. The baseline inserts as many rows in one transaction, or by `\copy`.
pub fn import(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random, mut first) = (env.logistics()?, Random(SEED), 10_000_000);
    let admin = service.token(None);
    let run = Box::new(|| {
        first += BATCH_SIZE; // the service rejects a batch that it has imported before
        let csv = csv_batch(&mut random, first, BATCH_SIZE);
        load::with_cpu_time(env, service, || {
            time_batch(|| datasets::loads::import(service, &admin, csv).map(drop))
        })
    });
    let baseline = match &env.postgres {
        Some(postgres) => copy(env, postgres, service)?,
        None => sql::insert(env, service, "loads", BATCH_SIZE, 0)?,
    };
    let result = Benchmark {
        name: format!("import of {BATCH_SIZE} loads, without the later full-text index"),
        service,
        run,
        baselines: vec![baseline],
        target: env.by_database(Target::MinRate(15_000.0), Target::MinRateRatio(0.5)),
    }
    .measure(env)?;
    env.record("import in one batch of 10,000", Some(result.summary.rate));
    let percent = result.rate_percent(sql::INSERT_IN_LOOP);
    env.record("import in one batch of 10,000, part of the rate of the bare loop", percent);
    Ok(())
}

/// Returns a baseline that copies existing rows with new ids and times from a file.
fn copy<'a>(
    env: &'a BenchEnvironment,
    postgres: &'a Databases,
    service: &'a ServiceProcess,
) -> Result<Baseline<'a>> {
    let (select_list, columns) = pgbench::copy_columns(postgres, service.name, "loads")?;
    let file = env.temp_path("rows.copy");
    let run = move || {
        let file = file.display();
        let rows = format!("SELECT {select_list} FROM loads LIMIT {BATCH_SIZE}");
        postgres.execute_for(service.name, &format!("\\copy ({rows}) TO '{file}'\n"))?;
        let copy = format!("\\copy loads ({columns}) FROM '{file}'\n");
        with_server_cpu_time(env.postgres_pid, || {
            time_batch(|| postgres.execute_for(service.name, &copy).map(drop))
        })
    };
    Ok(Baseline { name: "\\copy", run: Box::new(run) })
}

/// Measures the elapsed time of one batch.
fn time_batch(work: impl FnOnce() -> Result<()>) -> Result<Measurement> {
    let started = Instant::now();
    work()?;
    let elapsed_us = started.elapsed().as_secs_f64() * 1e6;
    #[expect(clippy::cast_precision_loss, reason = "10,000")]
    let requests = BATCH_SIZE as f64;
    Ok(Measurement {
        requests,
        elapsed_us,
        p50_us: elapsed_us,
        p99_us: elapsed_us,
        p999_us: elapsed_us,
        cpu_us: None,
    })
}
