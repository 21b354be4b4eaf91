//! Compressed answers on a connection that stays open.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Tenants;
use crate::client::{Body, Client};

/// Of each kind, in turn.
const REQUESTS: usize = 41;
/// A client acknowledges a segment after 40 ms where it waits for the next: an answer must not wait for that.
const MAX_DELAY: Duration = Duration::from_millis(20);

/// Compares compressed answers with others.
pub fn compressed(tenants: &Tenants<'_>) -> Result<()> {
    let victims = [
        (&tenants.system, "/v1/countries"),
        (&tenants.logistics, "/v1/loads?limit=100"),
        (&tenants.livestock, "/v1/listings?limit=100"),
    ];
    for (victim, path) in victims {
        let [plain, packed] = ["identity", "gzip"].map(|coding| (coding, Client::new(super::TIMEOUT)));
        let url = victim.service.url(path);
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..REQUESTS {
            for ((coding, client), took) in [&plain, &packed].into_iter().zip(&mut took) {
                let (headers, begun) = ([("accept-encoding", *coding)], Instant::now());
                let answer = client.send_with("GET", &url, Some(&tenants.honest), &headers, &Body::Empty)?;
                ensure!(answer.status == 200, "GET {path} answered {}", answer.status);
                let packed = answer.header("content-encoding") == "gzip";
                ensure!(packed == (*coding == "gzip"), "GET {path} is not {coding}");
                took.push(begun.elapsed());
            }
        }
        let [plain, packed] = took.map(|mut took| {
            took.sort_unstable();
            took[REQUESTS / 2]
        });
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        tenants.expect(
            packed <= plain + MAX_DELAY,
            victim,
            "p50 of compressed answers on a kept connection",
            format!("{:.1} ms, others {:.1} ms", ms(packed), ms(plain)),
            format!("at most {} ms more than others", MAX_DELAY.as_millis()),
        )?;
    }
    Ok(())
}
