//! Parameters and paging of searches.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;

/// Creates `count` loads of `grain` with references `R000`, `R001` and so on, ten per delivery day.
async fn create_loads(app: &App, count: usize) {
    for n in 0..count {
        let form = with(organiser_form(), "reference", json!(format!("R{n:03}")));
        let form = with(form, "deliveryDateISO", json!(format!("2026-03-{:02}", 1 + n / 10)));
        app.post("/v1/loads/organiser").by(&User::of("grain")).json(&form).send().await.ok();
    }
}

fn references(loads: &Value) -> Vec<String> {
    loads.as_array().unwrap().iter().map(|load| load["reference"].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    /// A cursor of the right sort order with a value of another type would restart the list.
    async fn rejects_cursors_with_values_of_another_type(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let status = async |sort: &str, value: Value| {
            let cursor = URL_SAFE_NO_PAD.encode(json!({"s": sort, "v": value, "i": id}).to_string());
            let path = format!("/v1/loads?sortBy={sort}&cursor={cursor}");
            let reply = app.get(&path).by(&User::of("grain")).send().await;
            if reply.status == 400 {
                assert_eq!(reply.errors(), ["cursor format"], "{sort} {value}");
                return 400;
            }
            reply.status
        };
        let values = [json!(null), json!(5), json!(i64::MAX), json!("x"), json!(true)];
        for (sorts, statuses) in [
            (&["createdAt", "deliveryDateISO"][..], [400, 200, 400, 400, 400]),
            (&["reference", "status", "commodity"], [400, 400, 400, 200, 400]),
            (&["organiser", "carrier"], [200, 400, 400, 200, 400]),
            (&["weight", "weightNet"], [200, 200, 200, 400, 400]),
        ] {
            for sort in sorts {
                for (value, expected) in values.iter().zip(statuses) {
                    assert_eq!(status(sort, value.clone()).await, expected, "{sort} {value}");
                }
            }
        }
    }

    async fn offset_pages_have_links_and_totals(backend) {
        let app = app(backend).await;
        create_loads(&app, 5).await;
        let reply = app.get("/v1/loads?limit=2&offset=2&sortBy=reference&count=true").by(&User::of("grain")).send().await;
        assert_eq!(reply.header("x-total-count"), "5");
        let link = reply.header("link").to_owned();
        for relation in ["first", "prev", "next"] {
            assert!(link.contains(&format!("rel=\"{relation}\"")), "{link}");
        }
        assert_eq!(references(&reply.ok()), ["R002", "R003"]);
        let newest = app.get("/v1/loads").by(&User::of("grain")).send().await;
        assert_eq!(newest.header("x-total-count"), "", "counted on request only");
        assert_eq!(references(&newest.ok()), ["R004", "R003", "R002", "R001", "R000"]);
    }

    async fn parameters_have_several_spellings(backend) {
        let app = app(backend).await;
        create_loads(&app, 11).await;
        let id = create_load(&app).await;
        let count = async |query: &str| {
            let reply = app.get(&format!("/v1/loads?limit=100&{query}")).by(&User::of("grain")).send().await;
            references(&reply.ok()).len()
        };
        assert_eq!(count("f%3AcarrierId=haul").await, 1);
        assert_eq!(count("startDateISO=2026-03-01&endDateISO=2026-03-01").await, 11, "a date is the whole day");
        assert_eq!(count("startDateISO=2026-03-01T00:00:00.001Z").await, 2);
        assert_eq!(count("query=r00%20harvest").await, 10);
        assert_eq!(count("query=a%25b").await, 0, "LIKE wildcards match literally");
        assert_eq!(count("query=%25").await, 12, "a query of punctuation counts as absent");
        assert_eq!(count("query=&f:status=&f:commodityId=").await, 12, "an empty value counts as absent");
        for user in [User::of("stranger"), User::individual("nobody")] {
            assert_eq!(app.get("/v1/loads").by(&user).send().await.ok(), json!([]));
        }
        let path = format!("/v1/loads/{id}");
        assert_eq!(app.get("/v1/loads?f:commodityId=2").by(&User::of("grain")).send().await.ok(), json!([]));
        patch(&app, &User::of("haul"), &id, &json!({"commodityId": 2})).await.ok();
        let edited = app.get(&path).by(&User::of("grain")).send().await.ok();
        assert_eq!(app.get("/v1/loads?f:commodityId=2").by(&User::of("grain")).send().await.ok(), json!([edited]));
        let many = vec!["1"; 51].join(",");
        for (values, errors) in [
            ("1,x,1.5", &["f:commodityId type"][..]),
            ("2147483648", &["f:commodityId range"]),
            (many.as_str(), &["f:commodityId length"]),
        ] {
            let reply = app.get(&format!("/v1/loads?f:commodityId={values}")).by(&User::of("grain")).send().await;
            assert_eq!(reply.errors(), errors, "{values}");
        }
    }

    async fn pages_continue_after_the_longest_name(backend) {
        let app = app(backend).await;
        for reference in ["1", "2"] {
            let form = with(organiser_form(), "organiserName", json!("\u{1f404}".repeat(200)));
            let form = with(form, "reference", json!(reference));
            app.post("/v1/loads/organiser").by(&without_org_name("grain")).json(&form).send().await.ok();
        }
        let first = app.get("/v1/loads?sortBy=organiser&limit=1").by(&User::of("grain")).send().await;
        let path = first.link("next").unwrap();
        assert_eq!(references(&first.ok()), ["1"]);
        assert_eq!(references(&app.get(&path).by(&User::of("grain")).send().await.ok()), ["2"]);
        // {"s":"reference","v":"\u0000","i":"…"}, which the service never returns.
        let forged = "eyJzIjoicmVmZXJlbmNlIiwidiI6Ilx1MDAwMCIsImkiOiIwMTkwZjVmZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDAifQ";
        let reply = app.get(&format!("/v1/loads?sortBy=reference&cursor={forged}")).by(&User::of("grain")).send().await;
        assert_eq!(reply.errors(), ["cursor format"]);
        let words = vec!["a"; 17].join("+");
        let reply = app.get(&format!("/v1/loads?query={words}")).by(&User::of("grain")).send().await;
        assert_eq!(reply.errors(), ["query length"]);
    }

    async fn reports_all_invalid_parameters(backend) {
        let app = app(backend).await;
        let query = "limit=0&offset=x&cursor=nonsense&sortBy=colour&sortDesc=perhaps&startDateISO=soon&query=%00";
        let reply = app.get(&format!("/v1/loads?{query}")).by(&User::of("grain")).send().await;
        assert_eq!(reply.errors(), [
            "cursor format", "limit range", "offset type", "query format", "sortBy enum", "sortDesc type",
            "startDateISO format",
        ]);
        let reply = app.get("/v1/loads?startDateISO=2026-03-02&endDateISO=2026-03-01").by(&User::of("grain")).send();
        assert_eq!(reply.await.errors(), ["startDateISO inconsistent"]);
        assert_eq!(app.get("/v1/loads?limit=0").send().await.error(401), "unauthenticated");
    }
}
