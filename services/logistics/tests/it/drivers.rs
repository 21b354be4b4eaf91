//! Access of drivers to loads that were sent to them.

use super::*;

testkit::on_both! {
    async fn drivers_read_and_prove_loads_sent_to_them(backend) {
        let app = app(backend).await;
        let (id, other) = (create_load(&app).await, create_load(&app).await);
        let driver = User::individual("dai");
        let path = format!("/v1/loads/{id}");
        assert_eq!(app.get(&path).by(&driver).send().await.error(403), "forbidden", "not sent yet");
        let sent = json!({"loadId": id, "driverId": "dai"});
        for _ in 0..2 {
            app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&sent).send().await.ok();
        }
        let load = app.get(&path).by(&driver).send().await.ok();
        assert_eq!(load["id"], id.as_str());
        let reply = app.get(&format!("/v1/loads/by-ids?ids={other},{id}")).by(&driver).send().await;
        assert_eq!(reply.header("x-missing-ids"), other);
        assert_eq!(reply.ok(), json!([load]));
        assert_eq!(app.get("/v1/loads").by(&driver).send().await.ok(), json!([]), "searches do not list it");
        assert_eq!(app.get("/v1/loads?count=true").by(&driver).send().await.header("x-total-count"), "0");
        let notifications = app.get(&format!("{path}/notifications")).by(&driver).send().await;
        assert_eq!(notifications.error(403), "forbidden");
        let again = app.post("/v1/loads/send-to-driver").by(&driver).json(&sent).send().await;
        assert_eq!(again.error(403), "forbidden", "drivers cannot send loads");
        assert_eq!(app.get(&path).by(&User::individual("another")).send().await.error(403), "forbidden");

        let proof = json!({"weightNet": 28.6, "ticketNumber": "T-1", "vehicleRegistration": "VX21ABC", "files": null});
        let forbidden = app.post(&format!("{path}/proof-of-delivery")).by(&User::individual("another")).json(&proof);
        assert_eq!(forbidden.send().await.error(403), "forbidden");
        let proven = app.post(&format!("{path}/proof-of-delivery")).by(&driver).json(&proof).send().await.ok();
        assert_eq!(proven["status"], "completed");
        let elsewhere = app.post(&format!("/v1/loads/{other}/proof-of-delivery")).by(&driver).json(&proof);
        assert_eq!(elsewhere.send().await.error(403), "forbidden");
        assert_eq!(app.get(&path).by(&User::admin()).send().await.ok(), proven);
    }
}
