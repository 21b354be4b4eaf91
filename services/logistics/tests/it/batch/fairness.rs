//! An organisation that sends many expensive batches delays others by one check at most.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

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

/// Begins to send a batch that never ends.
async fn begin(app: &App, user: &User) -> TcpStream {
    let mut stream = TcpStream::connect(app.url.trim_start_matches("http://")).await.unwrap();
    let head = format!(
        "POST /v1/loads/batch HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-length: 100000\r\n\
         content-type: multipart/form-data; boundary=x\r\n\r\n--x\r\n",
        user.token()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[test]
fn slow_uploads_of_a_tenant_delay_only_its_own() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        let (slow, honest) = (User::of("slow"), User::of("grain"));
        let mut uploads = Vec::new();
        for _ in 0..8 {
            uploads.push(begin(&app, &slow).await);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let own = send(&app, &slow, form(&[GOOD.as_bytes()]));
        tokio::pin!(own);
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut own).await.is_err(), "eight are under way");
        assert_eq!(send(&app, &honest, form(&[GOOD.as_bytes()])).await.ok()["count"], 2);
        drop(uploads.pop());
        let reply = tokio::time::timeout(Duration::from_secs(10), own).await.expect("a turn");
        assert_eq!(reply.error(403), "forbidden", "loads of another organisation");
    });
}
