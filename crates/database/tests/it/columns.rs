//! Both databases return column values as they were stored.

use database::{Amount, Database, Error, Id, Json, Timestamp};
use diesel::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use testkit::Backend;

use crate::support::{Thing, insert, open, things};

/// Inserts a thing and reads it again.
async fn round_trip(db: &Database, thing: &Thing) -> Thing {
    let (written, id) = (thing.clone(), thing.id);
    db.write(move |c| insert(c, &written)).await.unwrap();
    db.read(move |c| Ok::<_, Error>(things::table.find(id).first::<Thing>(c)?)).await.unwrap()
}

testkit::on_both! {
    async fn extreme_values_round_trip(backend) {
        let (db, _test) = open(backend).await;
        let instants = [
            "0001-01-01", "1969-12-31T23:59:59.999Z", "1970-01-01", "9999-12-31T23:59:59.999Z",
            "2016-12-31T23:59:60.5Z", "2026-03-01T09:30:00.001+14:00",
        ];
        let documents = ["null", "{}", r#"{"b":1.10,"a":"ä\u0000😀","b":[1e400]}"#, " [ ] "];
        for (i, at) in instants.iter().enumerate() {
            let at = Timestamp::parse(at).unwrap();
            let document = Json(documents[i % documents.len()].to_owned());
            let amount = [Amount::default(), Amount::MAX, Amount::parse("0.0001").unwrap()][i % 3];
            let thing = Thing { at, document, amount, ..Thing::named(&format!("ä'\"\\ {i}")) };
            let found = round_trip(&db, &thing).await;
            assert_eq!(found, thing);
            assert_eq!(found.at.to_string(), thing.at.to_string());
        }
        for id in ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"] {
            let thing = Thing { id: Id::parse(id).unwrap(), ..Thing::named(id) };
            assert_eq!(round_trip(&db, &thing).await, thing);
        }
    }

    async fn ids_and_timestamps_sort_as_in_rust(backend) {
        let (db, _test) = open(backend).await;
        let mut things: Vec<_> = (0..20).map(|i| {
            let at = Timestamp::from_millis(i64::from(i % 7) * 86_400_000 - 300_000_000).unwrap();
            Thing { at, ..Thing::named(&i.to_string()) }
        }).collect();
        for thing in &things {
            round_trip(&db, thing).await;
        }
        let found = db.read(|c| Ok::<_, Error>(things::table.order((things::at, things::id)).load::<Thing>(c)?));
        things.sort_by_key(|thing| (thing.at, thing.id));
        assert_eq!(found.await.unwrap(), things);
    }
}

#[test]
fn any_value_round_trips_on_sqlite_and_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let both = runtime.block_on(async { [open(Backend::Sqlite).await, open(Backend::Postgres).await] });
    let millis = -62_135_596_800_000_i64..253_402_300_800_000;
    let values = (any::<u128>(), millis, 0..=999_999_999_999_999_i64, "[^\u{0}]{0,40}");
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let property = |(id, millis, scaled, text): (u128, i64, i64, String)| {
        let thing = Thing {
            id: Id(uuid::Uuid::from_u128(id)),
            name: format!("{} {text}", Id::new()),
            at: Timestamp::from_millis(millis).unwrap(),
            document: Json::of(&text).unwrap(),
            amount: Amount::parse(&format!("{}.{:04}", scaled / 10_000, scaled % 10_000)).unwrap(),
        };
        for (db, _) in &both {
            prop_assert_eq!(&runtime.block_on(round_trip(db, &thing)), &thing);
        }
        Ok(())
    };
    TestRunner::new(config).run(&values, property).unwrap();
}
