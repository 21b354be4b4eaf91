//! Idempotency keys: the same POST with the same key at all replicas at the same time is done once, and all answer
//! alike.

use std::sync::Barrier;
use std::thread::scope;

use anyhow::{Context, Result, anyhow};
use serde_json::json;

use super::stage::Stage;
use crate::client::{Answer, Body};
use crate::load::site::{NEW, load};

/// The keys that were used, and what each was answered with.
pub struct Keys(Vec<(String, Vec<u8>)>);

/// Many keys, each at all replicas at once; then each with another body.
pub fn run(stage: &Stage<'_>) -> Result<Keys> {
    let count = if stage.trial.short { 40 } else { 400 };
    let keys: Vec<_> = (0..count).map(|number| format!("K-{number}")).collect();
    let barrier = Barrier::new(stage.of("logistics").count());
    // By replica, the answer to each key.
    let answers: Vec<Vec<Answer>> = scope(|scope| {
        let (barrier, keys) = (&barrier, &keys);
        let asking: Vec<_> = (0..barrier_size(stage))
            .map(|which| {
                scope.spawn(move || {
                    let each = keys.iter().map(|key| {
                        barrier.wait();
                        post(stage, which, key, key)
                    });
                    // All take part to the end, so that nobody waits for one who has failed.
                    each.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>>>()
                })
            })
            .collect();
        let joined = asking.into_iter().map(|one| one.join().map_err(|_| anyhow!("a client panicked"))?);
        joined.collect::<Result<_>>()
    })?;
    let (mut wrong, mut kept) = (0, Vec::new());
    for (number, key) in keys.iter().enumerate() {
        let same: Vec<_> = answers.iter().map(|answers| &answers[number]).collect();
        let first = same.iter().find(|answer| !is_replay(answer)).context("every answer is a replay")?;
        let replays = same.iter().filter(|answer| is_replay(answer)).count();
        let alike = same.iter().all(|answer| answer.status == 200 && answer.bytes == first.bytes);
        if !alike || replays + 1 != same.len() {
            wrong += 1;
            eprintln!(
                "    {key}: {:?}",
                same.iter().map(|answer| (answer.status, is_replay(answer))).collect::<Vec<_>>()
            );
        }
        kept.push((key.clone(), first.bytes.clone()));
    }
    let replicas = answers.len();
    let what =
        format!("{count} keys, each at {replicas} replicas at the same time: not one effect and one answer");
    stage.trial.expect(wrong == 0, what, wrong.to_string(), "0")?;
    let effects = "SELECT count(*) || ' of ' || count(DISTINCT reference_key) FROM loads WHERE reference_key LIKE 'k-%';";
    let effects = stage.say("logistics", effects)?.trim().to_owned();
    let right = effects == format!("{count} of {count}");
    stage.trial.expect(
        right,
        "loads that they made, of so many different",
        effects,
        format!("{count} of {count}"),
    )?;
    let mut reused = 0;
    for (number, key) in keys.iter().enumerate() {
        let answer = post(stage, number % replicas, key, "another")?;
        reused += usize::from(answer.status == 409 && answer.json["code"] == "idempotency_key_reused");
    }
    let right = reused == count;
    stage.trial.expect(
        right,
        "the same keys with another body: 409",
        reused.to_string(),
        count.to_string(),
    )?;
    Ok(Keys(kept))
}

impl Keys {
    /// They hold after all were started again.
    pub fn hold(&self, stage: &Stage<'_>) -> Result<()> {
        let (mut held, replicas) = (0, barrier_size(stage));
        for (number, (key, first)) in self.0.iter().enumerate() {
            let answer = post(stage, number % replicas, key, key)?;
            held += usize::from(is_replay(&answer) && answer.bytes == *first);
        }
        let right = held == self.0.len();
        stage.trial.expect(
            right,
            "answered as before all restarts",
            held.to_string(),
            self.0.len().to_string(),
        )
    }
}

fn barrier_size(stage: &Stage<'_>) -> usize {
    stage.of("logistics").count()
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotency-replayed") == "true"
}

fn post(stage: &Stage<'_>, which: usize, key: &str, reference: &str) -> Result<Answer> {
    let replica = stage.of("logistics").nth(which).context("no such replica")?;
    let (url, token) = (replica.url("/v1/loads/organiser"), stage.token(Some(NEW)));
    let body: Body = load(NEW, reference, &json!(null));
    stage.client.send_with("POST", &url, Some(&token), &[("idempotency-key", key)], &body)
}
