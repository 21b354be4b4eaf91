use actix_web::http::header::HeaderValue;
use actix_web::test::TestRequest;
use database::{Json, Timestamp};
use diesel::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq};
use testkit::TestDatabase;

use super::*;
use crate::schema::idempotency_keys::dsl as k;

fn scope(key: &str) -> Scope {
    Scope { caller: "a".into(), operation: "POST /x".into(), key: key.into() }
}

testkit::on_both! {
    async fn prunes_only_expired_keys(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = crate::schema::tests::open(&test).await;
        let insert = |key: &'static str, age_hours: i64| db.write(move |c| {
            let row = (k::caller.eq("a"), k::operation.eq("POST /x"), k::key.eq(key), k::fingerprint.eq("f"),
                k::answer.eq(Json::of(&JsonResponse::raw("1".into()))?),
                k::created_at.eq(Timestamp::now().plus(-chrono::TimeDelta::hours(age_hours))));
            diesel::insert_into(k::idempotency_keys).values(row).execute(c)?;
            Ok::<_, Error>(())
        });
        insert("new", 0).await.unwrap();
        insert("day", 23).await.unwrap();
        insert("old", 25).await.unwrap();
        let exists = async |key: &str| {
            let scope = scope(key);
            db.read(move |c| store::find(c, &scope)).await.unwrap().is_some()
        };
        assert_eq!([exists("new").await, exists("day").await, exists("old").await], [true, true, false]);
        assert_eq!(db.write(prune).await.unwrap(), 1);
        assert_eq!(db.write(prune).await.unwrap(), 0);
        assert_eq!([exists("new").await, exists("day").await], [true, true]);
    }

    async fn a_replay_has_no_output(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = crate::schema::tests::open(&test).await;
        let locks = Data::new(KeyedLocks::default());
        let with_key = |key: &str| Idempotency(Key::Valid(scope(key), locks.clone()));
        let fingerprint = || Fingerprint("f".into());
        for (idempotency, output) in
            [(with_key("k"), Some(1)), (with_key("k"), None), (Idempotency(Key::Absent), Some(1)), (with_key("l"), Some(1))]
        {
            let effect = |_: &mut AnyConnection| Ok((JsonResponse::raw("5".into()), 1));
            let run = idempotency.run_with_output(&db, fingerprint(), async || Ok(effect)).await.unwrap();
            assert_eq!((run.0.body.as_str(), run.1), ("5", output));
        }
    }
}

#[test]
fn refuses_two_keys() {
    let request = TestRequest::post().append_header((HEADER, "a")).append_header((HEADER, "a"));
    assert!(key_errors(&request.to_http_request()).failed("Idempotency-Key"));
}

proptest::proptest! {
    #[test]
    fn accepts_exactly_1_to_255_ascii_characters(
        any in vec(any::<u8>(), 0..20), ascii in "[ -~]{0,3}[!-~]{0,270}",
    ) {
        for bytes in [any, ascii.into_bytes()] {
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
            let request = TestRequest::post().insert_header((HEADER, value)).to_http_request();
            let is_valid =
                (1..=255).contains(&bytes.len()) && bytes.iter().all(|b| matches!(b, b'\t' | b' '..=b'~'));
            prop_assert_eq!(parse(&request).ok(), is_valid.then(|| std::str::from_utf8(&bytes).ok()));
            prop_assert_eq!(key_errors(&request).failed("Idempotency-Key"), !is_valid);
        }
    }
}

#[test]
fn excludes_other_holders_and_removes_unused_locks() {
    testkit::block_on(async {
        let locks = KeyedLocks::default();
        let scope = Scope { caller: "a".into(), operation: "o".into(), key: "k".into() };
        let first = locks.acquire(&scope).await.unwrap();
        let second = tokio::time::timeout(Duration::from_millis(20), locks.acquire(&scope)).await;
        assert!(second.is_err(), "the lock is held");
        assert_eq!(locks.locks.lock().len(), 1);
        drop(first);
        drop(locks.acquire(&scope).await.unwrap());
        assert!(locks.locks.lock().is_empty());
    });
}

#[test]
fn a_user_stores_responses_up_to_a_limit() {
    let locks = KeyedLocks::default();
    let scope = |caller: &str| Scope { caller: caller.into(), operation: "o".into(), key: "k".into() };
    locks.count_stored(&scope("a"), usize::try_from(MAX_STORED_BYTES).unwrap() - 1);
    locks.check_stored(&scope("a")).unwrap();
    locks.count_stored(&scope("a"), 1);
    assert!(matches!(locks.check_stored(&scope("a")), Err(Error::RateLimited(1..=3600))));
    locks.check_stored(&scope("b")).unwrap();
}
