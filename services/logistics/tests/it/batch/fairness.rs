//! Batches of one organisation delay those of others by at most one validation.

use std::time::{Duration, Instant};

use super::raw_workbook::{STRINGS, STYLES, book, sheet};
use super::*;

/// Returns a workbook of about 40 KiB that unpacks to six million blank rows.
fn blank_rows() -> Vec<u8> {
    let rows = "<row/>".repeat(6_000_000);
    book(sheet("", &rows), STRINGS.to_vec(), STYLES.to_vec())
}

#[test]
fn expensive_batches_do_not_starve_other_organisations() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let workbook = blank_rows();
        assert!(workbook.len() < 256 << 10, "{} bytes", workbook.len());
        let attacker = User::of("attacker");
        let attack = async || {
            loop {
                send(&app, &attacker, form(&[&workbook])).await;
            }
        };
        let honest = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            for n in 0..3 {
                let started = Instant::now();
                let rows = VALID_CSV
                    .lines()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join("\n")
                    .replace("BG-1", &format!("BG-{n}"));
                let reply = send_file(&app, rows).await;
                assert_eq!(reply.ok()["count"], 1);
                assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
            }
        };
        tokio::select! {
            () = async { tokio::join!(attack(), attack(), attack(), attack()); } => {}
            () = honest => {}
        }
    });
}
