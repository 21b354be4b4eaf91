use actix_web::http::header::HeaderValue;
use actix_web::test::TestRequest;
use database::{Json, Timestamp};
use diesel::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq};
use testkit::TestDatabase;

use super::*;
use crate::schema::idempotency_keys::dsl as k;

testkit::on_both! {
    async fn expired_keys_are_forgotten_and_others_kept(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = crate::service::tests::open(&test).await;
        let write = |key: &'static str, hours: i64| db.write(move |c| {
            let row = (k::caller.eq("a"), k::operation.eq("POST /x"), k::key.eq(key), k::fingerprint.eq("f"),
                k::answer.eq(Json::of(&JsonResponse::raw("1".into()))?),
                k::created_at.eq(Timestamp::now().plus(-chrono::TimeDelta::hours(hours))));
            diesel::insert_into(k::idempotency_keys).values(row).execute(c)?;
            Ok::<_, Error>(())
        });
        write("new", 0).await.unwrap();
        write("day", 23).await.unwrap();
        write("old", 25).await.unwrap();
        let find = async |key: &str| {
            let scope = Scope { caller: "a".into(), operation: "POST /x".into(), key: key.into() };
            db.read(move |c| store::find(c, &scope)).await.unwrap().is_some()
        };
        assert_eq!([find("new").await, find("day").await, find("old").await], [true, true, false]);
        assert_eq!(db.write(prune).await.unwrap(), 1);
        assert_eq!(db.write(prune).await.unwrap(), 0);
        assert_eq!([find("new").await, find("day").await], [true, true]);
    }

    async fn a_replay_tells_nothing(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = crate::service::tests::open(&test).await;
        let locks = Data::new(KeyedLocks::default());
        let idempotency = |key: &str| {
            let scope = Scope { caller: "a".into(), operation: "o".into(), key: key.into() };
            Idempotency(Ok(Some((scope, locks.clone()))))
        };
        let fingerprint = || Fingerprint("f".into());
        for (idempotency, told) in [(idempotency("k"), Some(1)), (idempotency("k"), None), (Idempotency(Ok(None)), Some(1)), (idempotency("l"), Some(1))] {
            let effect = |_: &mut AnyConnection| Ok((JsonResponse::raw("5".into()), 1));
            let run = idempotency.run_with_output(&db, fingerprint(), async || Ok(effect)).await.unwrap();
            assert_eq!((run.0.body.as_str(), run.1), ("5", told));
        }
    }
}

#[test]
fn a_turn_that_is_over_is_forgotten() {
    testkit::block_on(async {
        let locks = KeyedLocks::default();
        let scope = Scope { caller: "a".into(), operation: "o".into(), key: "k".into() };
        let first = locks.wait(&scope).await.unwrap();
        let second = tokio::time::timeout(Duration::from_millis(20), locks.wait(&scope)).await;
        assert!(second.is_err(), "two at idempotency");
        assert_eq!(locks.map().len(), 1);
        drop(first);
        drop(locks.wait(&scope).await.unwrap());
        assert!(locks.map().is_empty());
    });
}

proptest::proptest! {
    #[test]
    fn a_key_is_taken_exactly_if_it_is_1_to_255_ascii_characters(
        any in vec(any::<u8>(), 0..20), good in "[ -~]{0,3}[!-~]{0,270}",
    ) {
        for bytes in [any, good.into_bytes()] {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
            let request = TestRequest::post().insert_header((HEADER, value)).to_http_request();
            let right = (1..=255).contains(&bytes.len()) && bytes.iter().all(|b| matches!(b, b'\t' | b' '..=b'~'));
            prop_assert_eq!(key(&request).ok(), right.then(|| std::str::from_utf8(&bytes).ok()));
            prop_assert_eq!(errors(&request).failed("Idempotency-Key"), !right);
        }
    }
}
