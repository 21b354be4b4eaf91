//! The clock that replicas share.

use std::time::Duration;

use database::{Error, Timestamp, shared_now};

use crate::support::open;

testkit::on_both! {
    async fn advances_within_a_transaction_and_has_milliseconds(backend) {
        let (db, _test) = open(backend).await;
        let before = Timestamp::now();
        let read = db.write(|c| {
            let first = shared_now(c)?;
            std::thread::sleep(Duration::from_millis(20));
            Ok::<_, Error>((first, shared_now(c)?))
        });
        let (first, second) = read.await.unwrap();
        assert!(first.until(second) >= Duration::from_millis(20), "{first} {second}");
        assert_eq!(Timestamp::parse(&first.to_string()), Some(first));
        // The PostgreSQL server of the test runs on this machine.
        assert!(before <= first && first.until(Timestamp::now()) < Duration::from_secs(60), "{before} {first}");
    }
}

#[test]
fn adds_and_subtracts_durations() {
    let [early, late] =
        ["2026-03-01T09:30:00.000Z", "2026-03-01T09:30:01.500Z"].map(|t| Timestamp::parse(t).unwrap());
    assert_eq!((early.until(late), late.until(early)), (Duration::from_millis(1500), Duration::ZERO));
    assert_eq!(early.after(Duration::from_millis(1500)), late);
    assert_eq!(early.after(Duration::MAX), early, "out of range");
}
