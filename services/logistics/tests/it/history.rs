//! The history of loads.

use super::*;

testkit::on_both! {
    async fn histories_are_paged(backend) {
        let app = app(backend).await;
        let (id, grain) = (create_load(&app).await, User::of("grain"));
        for n in 1..=5 {
            patch(&app, &grain, &id, &json!({"weight": n})).await.ok();
        }
        let all = events(&app, &id).await;
        assert_eq!(all.len(), 6);
        for limit in 1..=7_usize {
            for offset in 0..=7_usize {
                let url = format!("/v1/loads/{id}/events?limit={limit}&offset={offset}&count=true");
                let reply = app.get(&url).by(&grain).send().await;
                assert_eq!(reply.header("x-total-count"), "6");
                let has_next = reply.header("link").contains("rel=\"next\"");
                let page = &all[offset.min(6)..(offset + limit).min(6)];
                assert_eq!((reply.ok(), has_next), (json!(page), offset + limit < 6), "{limit} {offset}");
            }
            let pages = app.pages(&grain, &format!("/v1/loads/{id}/events?limit={limit}")).await;
            assert_eq!(pages.into_iter().flat_map(TestResponse::entries).collect::<Vec<_>>(), all);
        }
        let errors = app.get(&format!("/v1/loads/{id}/events?limit=101&cursor=x")).by(&grain).send().await.errors();
        assert_eq!(errors, ["cursor format", "limit range"]);
        assert_eq!(app.get("/v1/loads/nonsense/events").by(&grain).send().await.error(404), "not_found");
    }

    async fn batches_record_the_creator_of_each_load(backend) {
        let app = app(backend).await;
        let result = batch::send_file(&app, batch::VALID_CSV.to_owned()).await.ok();
        for id in result["ids"].as_array().unwrap() {
            let history = events(&app, id.as_str().unwrap()).await;
            assert_eq!((history.len(), &history[0]["type"]), (1, &json!("created")));
            assert!(history[0]["userId"].is_string() && history[0]["userName"].is_string(), "{history:?}");
        }
    }

    async fn readers_of_a_load_do_not_all_read_its_history(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let id = create_load(&app).await;
        patch(&app, &haul, &id, &json!({"carrierId": "fast"})).await.ok();
        // The creator is no party any more.
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&haul).send().await.status, 200);
        for path in ["events", "drivers"] {
            let reply = app.get(&format!("/v1/loads/{id}/{path}")).by(&haul).send().await;
            assert_eq!(reply.error(403), "forbidden");
        }
    }
}
