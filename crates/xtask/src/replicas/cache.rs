//! The cache that the replicas of system share: what one has kept is there for the other, and what one clears is gone
//! for both, however many answers are under way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::client::{Body, Client};
use crate::service::Service;

const PLACE: &str = "/v1/locations/coordinates?lat=52.05&lon=-2.7";
const KEY: &str = "location:coordinates:grid:photon:52.05,-2.7";
/// So many ask at each replica all the while.
const ASKING: usize = 2;

/// Kept once, cleared in every way, while others ask.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    let [one, other] = &stage.of("system").collect::<Vec<_>>()[..] else {
        return Err(anyhow!("not two systems"));
    };
    let before = stage.places.asked();
    for replica in [one, other, one, other] {
        edition(stage, replica)?;
    }
    let asked = stage.places.asked() - before;
    let what = "a place asked for at two replicas, twice each: asked of its provider";
    stage.trial.expect(asked == 1, what, format!("{asked} times"), "once")?;
    race(stage, [one, other])
}

/// The edition that a place was read from.
fn edition(stage: &Stage<'_>, replica: &Service) -> Result<usize> {
    read(&stage.client, replica)
}

fn read(client: &Client, replica: &Service) -> Result<usize> {
    let answer = client.send("GET", &replica.url(PLACE), None, &Body::Empty)?;
    let name = answer.json["address"]["name"].as_str().unwrap_or_default();
    let number = name.strip_prefix("Edition ").and_then(|number| number.parse().ok());
    number.with_context(|| format!("{} {}", answer.status, answer.json))
}

/// A new edition, a clear at one: whoever asks after that, at either, gets the new one.
fn race(stage: &Stage<'_>, replicas: [&Service; 2]) -> Result<()> {
    let (rounds, done, answers) =
        (if stage.trial.short { 40 } else { 300 }, AtomicBool::new(false), AtomicUsize::new(0));
    let admin = stage.token(None);
    let clears: [Value; 3] =
        [json!({"prefixes": ["location:coordinates:"]}), json!({"keys": [KEY]}), json!({"flush": true})];
    let (mut old, mut cleared) = (0, 0);
    scope(|scope| {
        for asking in 0..2 * ASKING {
            let (replica, done, answers) = (replicas[asking % 2], &done, &answers);
            scope.spawn(move || {
                let client = Client::new(std::time::Duration::from_secs(30));
                while !done.load(Ordering::Relaxed) {
                    if read(&client, replica).is_ok() {
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let rounds = || {
            for round in 1..=rounds {
                stage.trial.check()?;
                stage.places.publish(round);
                let body = Body::Json(clears[round % 3].clone());
                let answer = replicas[round / 3 % 2].send("POST", "/v1/cache", &admin, &body)?;
                let said = answer.json["message"].as_str().unwrap_or_default();
                cleared += usize::from(!said.starts_with("0 "));
                for replica in replicas {
                    old += usize::from(edition(stage, replica)? < round);
                }
            }
            Ok::<_, anyhow::Error>(())
        };
        let result = { rounds }();
        done.store(true, Ordering::Relaxed);
        result
    })?;
    let figure = format!(
        "{old} of {} answers after {rounds} clears ({cleared} found something), {} answers meanwhile",
        2 * rounds,
        answers.load(Ordering::Relaxed)
    );
    stage.trial.expect(
        old == 0 && cleared > 0,
        "by keys, prefixes and all, at either: old answers after a clear",
        figure,
        "0",
    )
}
