//! The outbox that the replicas of logistics share: each notification is delivered by one of them, once; what a dead
//! one held comes again when its lease is over.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::stage::Stage;
use crate::client::Body;
use crate::listener::Heard;
use crate::load::site::{NEW, load};

/// So many deliveries of one replica run at once (`dispatch.rs`).
const AT_ONCE: usize = 16;
/// Twice the time of a webhook (1.5 s here) and a second: then what a dead one held is anybody's (`dispatch.rs`).
const LEASE: Duration = Duration::from_secs(4);
const BLOCK: usize = 64;

/// The secret of a replica.
pub fn secret(number: usize) -> String {
    format!("whsec_{}", STANDARD.encode(key(number)))
}

fn key(number: usize) -> [u8; 32] {
    Sha256::digest(format!("replica {number}")).into()
}

/// HMAC-SHA256 (RFC 2104), for keys that are no longer than a block.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let pad = |with: u8| {
        let mut block = [with; BLOCK];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// The replica whose signature a message carries.
fn sender(message: &Heard, replicas: usize) -> Option<usize> {
    let signed = format!("{}.{}.", message.header("webhook-id"), message.header("webhook-timestamp"));
    let signed = [signed.as_bytes(), &message.body].concat();
    let by = |number: &usize| {
        message.header("webhook-signature") == format!("v1,{}", STANDARD.encode(hmac(&key(*number), &signed)))
    };
    (0..replicas).find(by)
}

/// Without a failure, and with one killed in the middle.
pub fn run(stage: &mut Stage<'_>) -> Result<()> {
    let count = if stage.trial.short { 240 } else { 900 };
    let sent = send(stage, count)?;
    let of = |sent: &BTreeSet<String>, stage: &Stage<'_>| {
        let mut delivered = stage.receiver.delivered();
        delivered.retain(|id, _| sent.contains(id));
        delivered
    };
    let limit = Duration::from_secs(60);
    stage.trial.wait_for("all notifications are delivered", limit, || Ok(of(&sent, stage).len() == count))?;
    stage.trial.pause(Duration::from_secs(1))?; // a second delivery would come by now
    let times: usize = of(&sent, stage).values().sum();
    let right = times == count && stage.receiver.overlaps() == 0;
    let figure = format!("{times} times, {} at the same time", stage.receiver.overlaps());
    stage.trial.expect(
        right,
        format!("{count} notifications delivered"),
        figure,
        format!("{count} times, 0"),
    )?;
    let replicas = stage.of("logistics").count();
    let messages = stage.receiver.messages();
    let senders: Vec<_> = messages.iter().map(|message| sender(message, replicas)).collect();
    let shares: Vec<_> = (0..replicas)
        .map(|number| senders.iter().filter(|sender| **sender == Some(number)).count())
        .collect();
    let unsigned = senders.iter().filter(|sender| sender.is_none()).count();
    let right = unsigned == 0 && shares.iter().all(|share| *share > 0);
    let figure = format!("{shares:?}, wrongly signed: {unsigned}");
    stage.trial.expect(right, "delivered by each replica, known by its signature", figure, "some each, 0")?;
    killed(stage, count / 2)
}

/// One is killed while it delivers.
fn killed(stage: &mut Stage<'_>, count: usize) -> Result<()> {
    stage.receiver.set_takes(Duration::from_millis(400));
    let before = stage.receiver.delivered().len();
    let sent = send(stage, count)?;
    let delivered = |stage: &Stage<'_>| stage.receiver.delivered().len() - before;
    ensure!(delivered(stage) < count, "all were delivered before one could be killed");
    let victim = stage.range("logistics").end - 1;
    stage.replicas[victim].kill()?;
    let (killed, heard) = (Instant::now(), stage.receiver.messages().len());
    // What it held may be claimed when the lease is over, is looked for every second, and takes its time.
    let most = LEASE + Duration::from_secs(4) + 2 * stage.trial.grace();
    // The receiver counts what it heard of the dead one too, which nobody has recorded.
    let open = "SELECT count(*) FROM notifications WHERE status <> 'delivered';";
    stage.trial.wait_for("the rest is delivered, and recorded", most, || {
        Ok(delivered(stage) == count && stage.say("logistics", open)?.trim() == "0")
    })?;
    let took = killed.elapsed();
    stage.trial.pause(LEASE)?;
    let (times, messages) = (stage.receiver.delivered(), stage.receiver.messages());
    let again: Vec<_> = sent.iter().filter(|id| times.get(*id).is_some_and(|times| *times > 1)).collect();
    // What it sent and nobody answered before it was dead.
    let replicas = stage.of("logistics").count();
    let held: BTreeSet<_> = messages[heard..]
        .iter()
        .filter(|message| sender(message, replicas) == Some(replicas - 1))
        .map(|message| message.header("webhook-id"))
        .collect();
    let lost = held.iter().filter(|id| times.get(**id) != Some(&2)).count();
    let twice = again.iter().all(|id| times.get(*id) == Some(&2));
    let right = !held.is_empty() && lost == 0 && again.len() <= AT_ONCE && twice;
    let figure = format!(
        "all after {:.1} s; {} came again under their id; of {} that it held not: {lost}",
        took.as_secs_f64(),
        again.len(),
        held.len()
    );
    let what = format!("{count} more, one replica killed while it delivers");
    let allowed = format!("{} s (lease {} s); {AT_ONCE}; 0 of some", most.as_secs(), LEASE.as_secs());
    stage.trial.expect(right, what, figure, allowed)?;
    stage.receiver.set_takes(Duration::from_millis(20));
    stage.again(&[victim])
}

/// Notifications of one load, sent through all replicas. Gives their ids.
fn send(stage: &Stage<'_>, count: usize) -> Result<BTreeSet<String>> {
    let replicas: Vec<_> = stage.of("logistics").collect();
    let token = stage.token(Some(NEW));
    let made = replicas[0].send("POST", "/v1/loads/organiser", &token, &load(NEW, "OUT", &json!(null)))?;
    let body = |number: usize| {
        Body::Json(json!({"loadId": made.json["id"], "driverId": format!("driver-{number}")}))
    };
    let each = (0..count).map(|number| {
        let replica = replicas[number % replicas.len()];
        let answer = replica.send("POST", "/v1/loads/send-to-driver", &token, &body(number))?;
        Ok(answer.json["id"].as_str().context("a notification has no id")?.to_owned())
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        // Test case 2.
        let tag = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(tag[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn a_message_is_its_senders() {
        let body = b"{}".to_vec();
        let tag = format!("v1,{}", STANDARD.encode(hmac(&key(1), b"i.5.{}")));
        let headers = [("webhook-id", "i"), ("webhook-timestamp", "5"), ("webhook-signature", &tag)];
        let headers: BTreeMap<_, _> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut message = Heard { headers, body, ..Heard::default() };
        assert_eq!(sender(&message, 3), Some(1));
        message.body = b"[]".to_vec();
        assert_eq!(sender(&message, 3), None);
    }
}
