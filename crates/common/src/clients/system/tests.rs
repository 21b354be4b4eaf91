use std::collections::BTreeMap;
use std::sync::Arc;

use database::{AnyConnection, Database, Id, Timestamp};
use testkit::{Backend, TestDatabase};

use super::model::{DueShare, Sharing};
use super::resolve::CallError;
use super::{Shares, SystemClient, store};
use crate::Error;
use crate::telemetry::traces::Traces;

async fn open(test: &TestDatabase) -> Database {
    crate::schema::tests::open(test).await
}

/// Returns a token that is longer than a page of SQLite, like a token with many claims.
fn token_of(tenant: &str) -> String {
    format!("token of {tenant} ").repeat(300)
}

/// Stores a share of this tenant that is due now.
async fn insert_due(db: &Database, tenant: &str) -> Id {
    let share = DueShare {
        id: Id::new(),
        subject: Id::new(),
        tenant: tenant.to_owned(),
        user_id: None,
        files: vec![Id::new(), Id::new()],
        sharing: Sharing::With(vec!["grain".into(), "*".into()]),
        token: token_of(tenant).into(),
        expires_at: Timestamp::now(),
        attempts: 0,
        request_id: "r".into(),
        traceparent: None,
    };
    let id = share.id;
    let stored = db.write(move |c| {
        store::record_share(c, Some(&share))?;
        store::postpone(c, id, 0, std::time::Duration::ZERO)
    });
    stored.await.unwrap();
    id
}

async fn claim(db: &Database, max: usize, last: &str) -> (Vec<DueShare>, String) {
    let last = last.to_owned();
    let claim = move |c: &mut AnyConnection| {
        let mut last = last.clone();
        let claimed = store::claim(c, max, &mut last)?;
        Ok::<_, Error>((claimed, last))
    };
    db.write(claim).await.unwrap()
}

#[test]
fn tokens_of_removed_shares_are_not_in_the_sqlite_file() {
    testkit::block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let db = open(&test).await;
        let path = test.url.strip_prefix("sqlite://").unwrap();
        let has_token = || {
            test.execute("PRAGMA wal_checkpoint");
            String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains("token of user")
        };
        let mut ids = Vec::new();
        for n in 0..20 {
            ids.push(insert_due(&db, &format!("user {n}")).await);
        }
        assert!(has_token());
        while !claim(&db, 8, "").await.0.is_empty() {}
        for id in ids {
            let second = std::time::Duration::from_secs(1);
            db.write(move |c| store::postpone(c, id, 1, second)).await.unwrap();
            assert!(db.write(move |c| store::remove(c, id)).await.unwrap());
        }
        assert!(!has_token());
    });
}

testkit::on_both! {
    async fn tenants_take_turns(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = open(&test).await;
        for _ in 0..50 {
            insert_due(&db, "organisation b").await;
        }
        for tenant in ["organisation a", "organisation c", "user a"] {
            insert_due(&db, tenant).await;
        }
        assert_eq!(db.read(store::count_waiting).await.unwrap(), 53);
        let (mut last, mut tenants) = (String::new(), Vec::new());
        for max in [1, 3, 4] {
            let claimed;
            (claimed, last) = claim(&db, max, &last).await;
            tenants.extend(claimed.into_iter().map(|share| share.tenant));
        }
        let letters: Vec<_> = tenants.iter().map(|tenant| tenant.trim_start_matches("organisation ")).collect();
        assert_eq!(letters, ["a", "b", "c", "user a", "b", "b", "b", "b"], "one of each tenant, then the rest");
        let (rest, _) = claim(&db, 100, &last).await;
        assert_eq!(rest.len(), 45, "each share once");
        assert!(claim(&db, 100, "").await.0.is_empty(), "all shares are leased");
        assert_eq!(db.read(store::next_due_in).await.unwrap(), None);
        assert_eq!(db.read(store::count_waiting).await.unwrap(), 0, "all first attempts are running");
    }

    async fn a_claim_returns_the_stored_share_and_its_outcome_is_recorded(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = open(&test).await;
        let id = insert_due(&db, "organisation a").await;
        let (claimed, _) = claim(&db, 8, "zzz").await;
        let [share] = &claimed[..] else { panic!("{}", claimed.len()) };
        assert_eq!((share.id, share.attempts, share.files.len()), (id, 1, 2));
        assert_eq!((share.token(), &share.sharing), (&*token_of("organisation a"), &Sharing::With(vec!["grain".into(), "*".into()])));
        let minute = std::time::Duration::from_secs(60);
        // The result of an attempt changes nothing after its lease has ended and another attempt has begun.
        db.write(move |c| store::postpone(c, id, 0, minute)).await.unwrap();
        assert_eq!(db.read(store::next_due_in).await.unwrap(), None);
        db.write(move |c| store::postpone(c, id, 1, minute)).await.unwrap();
        let wait = db.read(store::next_due_in).await.unwrap().unwrap();
        assert!(wait > minute / 2 && wait <= minute, "{wait:?}");
        assert!(claim(&db, 8, "").await.0.is_empty());
        assert!(db.write(move |c| store::remove(c, id)).await.unwrap());
        assert!(!db.write(move |c| store::remove(c, id)).await.unwrap());
    }

    async fn an_expired_share_is_given_up_without_a_call(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = open(&test).await;
        let id = insert_due(&db, "organisation a").await;
        let client = Arc::new(SystemClient::new("http://127.0.0.1:1").unwrap());
        let (mut first, _) = claim(&db, 1, "").await;
        let result = client.share(&first.remove(0)).await;
        assert!(matches!(result, Err(CallError::Unavailable(_))), "the first attempt is made: {result:?}");
        db.write(move |c| store::postpone(c, id, 1, std::time::Duration::ZERO)).await.unwrap();
        let (mut second, _) = claim(&db, 1, "").await;
        let retry = second.remove(0);
        let result = client.share(&retry).await;
        assert!(matches!(result, Err(CallError::TokenExpired)), "{result:?}");
        Shares::new(&db, &Traces::default(), client).share(Some(retry)).await;
        assert!(!db.write(move |c| store::remove(c, id)).await.unwrap(), "the share is deleted");
    }

    async fn a_share_waits_for_the_attempt_of_one_that_it_contradicts(backend) {
        let test = TestDatabase::empty(backend).await;
        let db = open(&test).await;
        let share = |subject, sharing| DueShare {
            id: Id::new(),
            subject,
            tenant: "organisation a".into(),
            user_id: None,
            files: vec![Id::new()],
            sharing,
            token: token_of("organisation a").into(),
            expires_at: Timestamp::now(),
            attempts: 1,
            request_id: "r".into(),
            traceparent: None,
        };
        let record = async |share: &DueShare| {
            let (id, share) = (share.id, share.clone());
            db.write(move |c| store::record_share(c, Some(&share))).await.unwrap();
            db.read(move |c| store::lease(c, id)).await.unwrap()
        };
        let with = |organisation: &str| Sharing::With(vec![organisation.into()]);
        let without = |organisation: &str| Sharing::Without { unshare_with: vec![organisation.into()] };
        let load = Id::new();
        let first = share(load, with("haul"));
        assert!(record(&first).await.unwrap() > store::LEASE / 2, "the request makes the first attempt");
        let unshare = share(load, without("haul"));
        assert_eq!(record(&unshare).await, None, "an attempt of the first one is running");
        let first_id = first.id;
        assert_eq!(db.read(move |c| store::lease(c, first_id)).await.unwrap(), None, "the first one was replaced");
        assert!(claim(&db, 8, "").await.0.is_empty());
        let wait = db.read(store::next_due_in).await.unwrap().unwrap();
        assert!(wait > store::LEASE && wait <= store::LEASE * 2, "{wait:?}");
        // Others do not wait: of another load, or for another organisation. Neither does one whose predecessor waits.
        assert!(record(&share(Id::new(), without("haul"))).await.is_some());
        assert!(record(&share(load, without("fast"))).await.is_some());
        assert!(record(&share(load, with("haul"))).await.is_some());
        let unshare_id = unshare.id;
        assert!(!db.write(move |c| store::remove(c, unshare_id)).await.unwrap(), "the later share replaced it");
    }

    async fn two_replicas_claim_each_share_once(backend) {
        let test = TestDatabase::empty(backend).await;
        let (one, two) = (open(&test).await, open(&test).await);
        for n in 0..40 {
            insert_due(&one, &format!("user {}", n % 4)).await;
        }
        let mut seen = BTreeMap::<String, usize>::new();
        while seen.len() < 40 {
            let (a, b) = tokio::join!(claim(&one, 8, ""), claim(&two, 8, ""));
            for share in a.0.into_iter().chain(b.0) {
                *seen.entry(share.id.to_string()).or_default() += 1;
            }
        }
        assert!(seen.values().all(|times| *times == 1), "{seen:?}");
    }
}
