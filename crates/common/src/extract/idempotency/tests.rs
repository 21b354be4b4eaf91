use database::{Json, Timestamp};
use diesel::prelude::*;
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
