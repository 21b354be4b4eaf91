//! 2,000 open streams of events: memory, processor time, and the time until an event has reached all of them.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::environment::BenchEnvironment;
use crate::report::Bound::AtMost;
use testkit::market::{organised_load, random::Random};
use testkit::processes::http::Body;
use testkit::processes::process_stats::cpu_us;
use testkit::processes::service::ServiceProcess;
use testkit::processes::tokens::Identity;

/// The organisations, and the streams of each user and of each organisation that the service allows.
const ORGANISATIONS: usize = 40;
const STREAMS_OF_USER: usize = 5;
const STREAMS_OF_ORGANISATION: usize = 50;
const STREAMS: usize = ORGANISATIONS * STREAMS_OF_ORGANISATION;
/// Events, each for one organisation, and the time in which they are caused.
const EVENTS: u32 = 1_000;
const EVENT_TIME: Duration = Duration::from_secs(5);
const IDLE_TIME: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);
/// Stack of a thread that reads a stream, in bytes.
const THREAD_STACK: usize = 128 << 10;

/// Opens the streams and measures them idle, with an event that is for all of them, and with 200 events a second.
pub fn streams(env: &BenchEnvironment) -> Result<()> {
    let service = env.start("logistics", env.temp_path("logistics"), env.create_database("logistics")?)?;
    let before = service.pss()?;
    let received = Arc::new(AtomicUsize::new(0));
    let open = Arc::new(AtomicUsize::new(0));
    let sockets = (0..STREAMS)
        .map(|number| {
            env.stop.check()?;
            follow(&service, number, &open, &received)
        })
        .collect::<Result<Vec<_>>>()?;
    wait_for(&open, STREAMS)?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let kib = (service.pss()? - before) * 1024.0 / STREAMS as f64;
    env.add_value("feed: memory of a stream", kib, "KiB", Some(AtMost(64.0)));
    let cpu = cpu_of(&service, || {
        thread::sleep(IDLE_TIME);
        Ok(())
    })?;
    env.add_value("feed: 2,000 idle streams", cpu, "% of a core", None);

    let begun = Instant::now();
    let names = (0..ORGANISATIONS).map(organisation);
    names.clone().try_for_each(|name| create(&service, &name, "ALL"))?;
    wait_for(&received, STREAMS)?;
    let ms = begun.elapsed().as_secs_f64() * 1000.0;
    env.add_value("feed: 40 loads until 2,000 streams have their event", ms, "ms", Some(AtMost(1_000.0)));

    received.store(0, Ordering::Relaxed);
    let mut random = Random::of(1);
    let cpu = cpu_of(&service, || {
        let begun = Instant::now();
        for number in 0..EVENTS {
            create(&service, &organisation(random.below(ORGANISATIONS)), &format!("E-{number}"))?;
            thread::sleep(
                (begun + EVENT_TIME * (number + 1) / EVENTS).saturating_duration_since(Instant::now()),
            );
        }
        wait_for(&received, EVENTS as usize * STREAMS_OF_ORGANISATION)
    })?;
    env.add_value("feed: 200 events/s to 50 streams each, creates included", cpu, "% of a core", None);
    env.add_value("feed: highest PSS with 2,000 streams", service.pss()?, "MiB", None);
    // The threads that read end with their connections.
    sockets.iter().try_for_each(|socket| socket.shutdown(Shutdown::Both))?;
    Ok(())
}

fn organisation(number: usize) -> String {
    format!("org-{number}")
}

/// Opens a stream, and counts it and the events that it receives.
fn follow(
    service: &ServiceProcess,
    number: usize,
    open: &Arc<AtomicUsize>,
    received: &Arc<AtomicUsize>,
) -> Result<TcpStream> {
    let organisation = organisation(number / STREAMS_OF_ORGANISATION);
    let user = format!("user-{}", number / STREAMS_OF_USER);
    let identity = Identity { user: &user, ..Identity::of_org(Some(&organisation)) };
    let mut socket = TcpStream::connect(("127.0.0.1", service.port())).context("cannot connect")?;
    let token = service.token_of(&identity);
    write!(
        socket,
        "GET /v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    )?;
    let lines = BufReader::with_capacity(4_096, socket.try_clone()?).lines();
    let (open, received) = (open.clone(), received.clone());
    let count = move || {
        for line in lines.map_while(Result::ok) {
            if line.starts_with(": open") {
                open.fetch_add(1, Ordering::Relaxed);
            } else if line.starts_with("data:") {
                received.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::Builder::new().stack_size(THREAD_STACK).spawn(count).context("cannot start a thread")?;
    Ok(socket)
}

/// Creates a load of an organisation.
fn create(service: &ServiceProcess, organisation: &str, reference: &str) -> Result<()> {
    let load = Body::Json(organised_load(organisation, reference, &Value::Null));
    service.send("POST", "/v1/loads/organiser", &service.token(Some(organisation)), &load).map(drop)
}

/// Waits until a counter has reached a number.
fn wait_for(counter: &AtomicUsize, number: usize) -> Result<()> {
    let begun = Instant::now();
    while counter.load(Ordering::Relaxed) < number {
        ensure!(begun.elapsed() < TIMEOUT, "only {} of {number} arrived", counter.load(Ordering::Relaxed));
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Returns the processor time of a service while `work` runs, in percent of a core.
fn cpu_of(service: &ServiceProcess, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let (begun, before) = (Instant::now(), cpu_us(service.pid())?);
    work()?;
    Ok((cpu_us(service.pid())? - before) / begun.elapsed().as_secs_f64() / 1e4)
}
