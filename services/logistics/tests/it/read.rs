//! Reading one load, several loads by id, and commodities.

use super::*;

testkit::on_both! {
    async fn parties_and_admins_read_loads(backend) {
        let app = app(backend).await;
        let path = format!("/v1/loads/{}", create_load(&app).await);
        for user in [User::of("grain"), User::of("haul"), User::admin()] {
            assert_eq!(app.get(&path).by(&user).send().await.status, 200);
        }
        for user in [User::of("stranger"), User::individual("nobody")] {
            assert_eq!(app.get(&path).by(&user).send().await.error(403), "forbidden");
        }
        assert_eq!(app.get(&path).send().await.error(401), "unauthenticated");
        for id in ["0190f5fe-0000-7000-8000-000000000000", "nonsense", "%00", "{x}"] {
            assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&User::of("grain")).send().await.error(404), "not_found");
        }
    }

    async fn by_ids_returns_the_requested_order(backend) {
        let app = app(backend).await;
        let (first, second) = (create_load(&app).await, create_load(&app).await);
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let path = format!("/v1/loads/by-ids?ids={second},nonsense,{unknown},{first},{second}");
        let reply = app.get(&path).by(&User::of("grain")).send().await;
        assert_eq!(reply.header("x-missing-ids"), unknown);
        let loads = reply.ok();
        let ids: Vec<_> = loads.as_array().unwrap().iter().map(|l| l["id"].as_str().unwrap()).collect();
        assert_eq!(ids, [second.as_str(), first.as_str()]);
        let strange = app.get(&format!("/v1/loads/by-ids?ids={first}")).by(&User::of("stranger")).send().await;
        assert_eq!(strange.header("x-missing-ids"), first);
        assert_eq!(strange.ok(), json!([]));
        assert_eq!(app.get("/v1/loads/by-ids").by(&User::of("grain")).send().await.errors(), ["ids required"]);
        let max_ids = vec![unknown; 100].join(",");
        let reply = app.get(&format!("/v1/loads/by-ids?ids={max_ids}")).by(&User::of("grain")).send().await;
        assert_eq!(reply.header("x-missing-ids"), unknown);
        let too_many_ids = vec![unknown; 101].join(",");
        let reply = app.get(&format!("/v1/loads/by-ids?ids={too_many_ids}")).by(&User::of("grain")).send().await;
        assert_eq!(reply.errors(), ["ids length"]);
    }

    async fn lists_commodities(backend) {
        let app = app(backend).await;
        let list = app.get("/v1/commodities").by(&User::individual("anybody")).send().await.ok();
        assert_eq!(list[0], json!({"id": 1, "name": "Feed Wheat", "category": "cereals"}));
        assert_eq!(list.as_array().unwrap().len(), 210);
    }

    async fn refusals_name_unknown_parameters(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let (haul, other) = (Some(User::of("haul")), Some(User::of("other")));
        for (path, user, status) in [
            (format!("/v1/loads/{id}?sttus=x&limt=5"), &None, 401),
            (format!("/v1/loads/{id}?sttus=x&limt=5"), &other, 403),
            ("/v1/settings?sttus=x&limt=5".into(), &haul, 403),
            ("/v1/loads/0190f5fe-0000-7000-8000-000000000000?sttus=x&limt=5".into(), &haul, 404),
            ("/v1/loads/nonsense?sttus=x&limt=5".into(), &haul, 404),
            (format!("/v1/loads/{id}?sttus=x&limt=5"), &haul, 200),
        ] {
            let call = app.get(&path);
            let reply = match user {
                Some(user) => call.by(user).send().await,
                None => call.send().await,
            };
            assert_eq!((reply.status, reply.header("x-unknown-parameters")), (status, "sttus,limt"), "{path}");
        }
    }
}
