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

    async fn drivers_are_listed_and_revoked(backend) {
        let app = app(backend).await;
        let (id, haul) = (create_load(&app).await, User::of("haul"));
        let path = format!("/v1/loads/{id}");
        let send = async |driver: &str| {
            let sent = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
        };
        let drivers = async || app.get(&format!("{path}/drivers")).by(&haul).send().await.ok();
        assert_eq!(drivers().await, json!([]));
        for driver in ["dai", "auth0|7/x", "eve"] {
            send(driver).await;
        }
        let listed = drivers().await;
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|driver| driver["driverId"].as_str().unwrap()).collect();
        assert_eq!(ids, ["dai", "auth0|7/x", "eve"]);
        assert!(listed[0]["sentAtUTC"].as_str().unwrap().ends_with('Z'));

        let revoke = async |driver: &str| app.call("DELETE", &format!("{path}/drivers/{driver}")).by(&haul).send().await;
        assert_eq!(revoke("nobody").await.error(404), "not_found");
        assert_eq!(revoke("auth0%7C7%2Fx").await.ok()["status"], "success");
        let dai = User::individual("dai");
        assert_eq!(app.get(&path).by(&dai).send().await.status, 200);
        revoke("dai").await.ok();
        assert_eq!(revoke("dai").await.error(404), "not_found");
        assert_eq!(app.get(&path).by(&dai).send().await.error(403), "forbidden");
        assert_eq!(super::prove(&app, &dai, &id, &proof_form()).await.error(403), "forbidden");
        assert_eq!(app.get(&format!("/v1/loads/by-ids?ids={id}")).by(&dai).send().await.ok(), json!([]));
        assert_eq!(drivers().await.as_array().unwrap().len(), 1);
        send("dai").await;
        assert_eq!(app.get(&path).by(&dai).send().await.status, 200, "sent again");
        // The id in the path takes the form in which ids are stored. Earlier releases stored others.
        send(" Ren\u{e9} ").await;
        let history = async || events(&app, &id).await.pop().unwrap()["changes"].clone();
        assert_eq!(revoke("%20Rene%CC%81%20").await.status, 200);
        assert_eq!(history().await, json!({"driverId": {"from": "Ren\u{e9}"}}));
        let table = if backend == Backend::Sqlite { "" } else { "logistics." };
        app.database.execute(&format!("INSERT INTO {table}load_drivers (load_id, driver_id) SELECT id, ' old ' FROM {table}loads"));
        assert_eq!(revoke("%20old%20").await.status, 200);
        assert_eq!(history().await, json!({"driverId": {"from": " old "}}));
        assert_eq!(revoke("%20old%20").await.error(404), "not_found");
        let unknown = "/v1/loads/0190f5fe-0000-7000-8000-000000000000/drivers/dai";
        assert_eq!(app.call("DELETE", unknown).by(&haul).send().await.error(404), "not_found");
    }

    async fn searches_find_loads_by_driver(backend) {
        let app = app(backend).await;
        let (grain, haul, admin, dai) = (User::of("grain"), User::of("haul"), User::admin(), User::individual("dai"));
        let (sent, other) = (create_load(&app).await, create_load(&app).await);
        let foreign = app.post("/v1/loads/organiser").by(&User::of("mill"))
            .json(&with(organiser_form(), "organiserId", json!("mill"))).send().await.ok();
        for (id, driver, user) in [
            (sent.as_str(), "dai", &haul), (other.as_str(), "eve", &haul), (foreign["id"].as_str().unwrap(), "dai", &User::of("mill")),
        ] {
            let form = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&form).send().await.ok();
        }
        let count = async |user: &User, query: &str| {
            let reply = app.get(&format!("/v1/loads?count=true&{query}")).by(user).send().await;
            let total: usize = reply.header("x-total-count").parse().unwrap();
            let found = reply.ok().as_array().unwrap().len();
            let csv = app.get(&format!("/v1/loads?format=CSV&{query}")).by(user).send().await.text();
            assert_eq!((total, csv.lines().count() - 1), (found, found), "{query}");
            found
        };
        let mut employed = User::of("other");
        employed.claims["sub"] = json!("dai");
        for user in [&dai, &employed] {
            for (query, expected) in [
                ("f:driverId=me", 2), ("f:driverId=me&sortBy=deliveryDateISO", 2), ("f:driverId=me&query=hh-1", 1),
                ("f:driverId=me&f:organiserId=grain", 1), ("f:driverId=me&f:status=completed", 0),
                ("f:driverId=me&startDateISO=2026-03-01", 2), ("f:driverId=dai", 0), ("", 0),
            ] {
                assert_eq!(count(user, query).await, expected, "{query}");
            }
        }
        for (user, dais, eves) in [(&grain, 1, 1), (&haul, 1, 1), (&admin, 2, 1), (&User::of("third"), 0, 0)] {
            assert_eq!(count(user, "f:driverId=dai").await, dais);
            assert_eq!(count(user, "f:driverId=eve&sortBy=reference").await, eves);
            assert_eq!(count(user, "f:driverId=me").await, 0);
        }
        for n in 0..2 {
            let page = app.get(&format!("/v1/loads?f:driverId=me&limit=1&offset={n}")).by(&dai).send().await;
            assert_eq!(page.header("link").contains("rel=\"next\""), n == 0);
        }
    }
}
