//! An organisation that sends many expensive batches delays others by one check at most.

use std::time::{Duration, Instant};

use super::xlsx_bombs::{STRINGS, STYLES, book, sheet};
use super::*;

/// A workbook of some 40 KiB that unpacks to six million blank rows.
fn blank_rows() -> Vec<u8> {
    let rows = "<row/>".repeat(6_000_000);
    book(sheet("", &rows), STRINGS.to_vec(), STYLES.to_vec())
}

#[test]
fn an_honest_batch_beside_an_attacker() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let bomb = blank_rows();
        assert!(bomb.len() < 256 << 10, "{} bytes", bomb.len());
        let attacker = User::of("attacker");
        let attack = async || {
            loop {
                send(&app, &attacker, form(&[&bomb])).await;
            }
        };
        let honest = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            for n in 0..3 {
                let begun = Instant::now();
                let one =
                    GOOD.lines().take(2).collect::<Vec<_>>().join("\n").replace("BG-1", &format!("BG-{n}"));
                let reply = send_file(&app, one).await;
                assert_eq!(reply.ok()["count"], 1);
                assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            }
        };
        tokio::select! {
            () = async { tokio::join!(attack(), attack(), attack(), attack()); } => {}
            () = honest => {}
        }
    });
}
