//! Compressed responses on a kept connection.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use stack::http::{Body, HttpClient};

use super::Tenants;

/// Requests of each coding, alternating.
const REQUESTS: usize = 41;
/// Additional time of a compressed response. A client delays its acknowledgement of a segment by 40 ms: the response
/// must not wait for it.
const MAX_DELAY: Duration = Duration::from_millis(20);

/// Compares the durations of compressed and uncompressed responses.
pub fn run(tenants: &Tenants<'_>) -> Result<()> {
    let targets = [
        (&tenants.system, "/v1/countries"),
        (&tenants.logistics, "/v1/loads?limit=100"),
        (&tenants.livestock, "/v1/listings?limit=100"),
    ];
    for (target, path) in targets {
        let url = target.service.url(path);
        let mut codings =
            ["identity", "gzip"].map(|coding| (coding, HttpClient::new(super::RESPONSE_TIMEOUT), Vec::new()));
        for _ in 0..REQUESTS {
            for (coding, client, durations) in &mut codings {
                let (headers, begun) = ([("accept-encoding", *coding)], Instant::now());
                let response =
                    client.send_with("GET", &url, Some(&tenants.honest), &headers, &Body::Empty)?;
                ensure!(response.status == 200, "GET {path} returned {}", response.status);
                let is_compressed = response.header("content-encoding") == "gzip";
                ensure!(is_compressed == (*coding == "gzip"), "the response to GET {path} is not {coding}");
                durations.push(begun.elapsed());
            }
        }
        let [uncompressed, compressed] = codings.map(|(.., mut durations)| {
            durations.sort_unstable();
            durations[REQUESTS / 2]
        });
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        target.expect(
            compressed <= uncompressed + MAX_DELAY,
            "p50 of compressed responses on a kept connection",
            format!("{:.1} ms, others {:.1} ms", ms(compressed), ms(uncompressed)),
            format!("{} ms more than others", MAX_DELAY.as_millis()),
        )?;
    }
    Ok(())
}
