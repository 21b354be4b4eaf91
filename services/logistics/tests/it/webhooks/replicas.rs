//! Delivery by several replicas.

use std::collections::HashSet;
use std::time::Duration;

use super::*;

const LOADS: usize = 100;

#[test]
fn two_replicas_on_postgres_deliver_each_event_once() {
    testkit::block_on(async {
        let receiver = WebhookReceiver::start(respond_with(200).set_delay(Duration::from_millis(20))).await;
        let first = start(Backend::Postgres).await;
        let second = App::start_replica::<Logistics>(&first, settings()).await;
        let webhook = register(&first, "haul", &receiver.url(), &["load.created"]).await;
        let mut creations = tokio::task::JoinSet::new();
        for n in 0..LOADS {
            let app = if n % 2 == 0 { &first } else { &second };
            let request = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send();
            creations.spawn(async { assert_eq!(request.await.status, 200) });
        }
        creations.join_all().await;
        let all = wait_for(&second, &webhook, LOADS, "delivered").await;
        assert!(all.iter().all(|delivery| delivery["attempts"] == 1), "{all:?}");
        let requests = receiver.requests().await;
        let ids: HashSet<_> = requests.iter().map(|request| header(request, "webhook-id")).collect();
        assert_eq!((requests.len(), ids.len()), (LOADS, LOADS));
    });
}
