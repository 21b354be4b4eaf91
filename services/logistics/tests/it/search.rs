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

/// Returns the URL of the next page from a `Link` header.
pub fn next_url(link: &str) -> Option<String> {
    let url = link.split(", ").find(|part| part.ends_with("rel=\"next\""))?;
    Some(url[1..url.find('>')?].to_owned())
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

    async fn cursor_pages_never_overlap_or_skip(backend) {
        let app = app(backend).await;
        create_loads(&app, 25).await;
        for sort in ["sortBy=deliveryDateISO", "sortBy=deliveryDateISO&sortDesc=true", "sortDesc=false", "sortBy=carrier"] {
            let all = app.get(&format!("/v1/loads?limit=100&{sort}")).by(&User::of("grain")).send().await.ok();
            let mut paged = Vec::new();
            let mut path = format!("/v1/loads?limit=4&{sort}");
            loop {
                let reply = app.get(&path).by(&User::of("grain")).send().await;
                let link = reply.header("link").to_owned();
                paged.extend(references(&reply.ok()));
                match next_url(&link) {
                    Some(url) => url.strip_prefix(&app.url).unwrap().clone_into(&mut path),
                    None => break,
                }
            }
            assert_eq!(paged, references(&all), "{sort}");
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

    async fn filters_by_party_status_range_and_words(backend) {
        let app = app(backend).await;
        create_loads(&app, 30).await;
        let id = create_load(&app).await;
        let count = async |query: &str| {
            let reply = app.get(&format!("/v1/loads?limit=100&{query}")).by(&User::of("grain")).send().await;
            references(&reply.ok()).len()
        };
        assert_eq!(count("").await, 31);
        assert_eq!(count("f:organiserId=grain").await, 31);
        assert_eq!(count("f%3AcarrierId=haul").await, 1);
        assert_eq!(count("f:status=completed").await, 0);
        assert_eq!(count("startDateISO=2026-03-02&endDateISO=2026-03-02").await, 10);
        assert_eq!(count("startDateISO=2026-03-02T00:00:00.001Z").await, 10);
        assert_eq!(count("query=hereford%20WHEAT").await, 1);
        assert_eq!(count("query=r00%20harvest").await, 10);
        assert_eq!(count("query=a%25b").await, 0, "LIKE wildcards match literally");
        assert_eq!(count("query=%25").await, 31, "a query of punctuation counts as absent");
        assert_eq!(count("query=&f:status=").await, 31, "an empty value counts as absent");
        let stranger = app.get("/v1/loads").by(&User::of("stranger")).send().await.ok();
        assert_eq!(stranger, json!([]));
        assert_eq!(app.get("/v1/loads").by(&User::individual("nobody")).send().await.ok(), json!([]));
        let admin = app.get("/v1/loads?f:carrierId=haul").by(&User::admin()).send().await.ok();
        assert_eq!(admin[0]["id"], id.as_str());
    }

    async fn filters_by_commodity(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let mut last = String::new();
        for (reference, id) in [("A", 1), ("B", 2), ("C", 10)] {
            let form = with(with(organiser_form(), "reference", json!(reference)), "commodityId", json!(id));
            let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
            load["id"].as_str().unwrap().clone_into(&mut last);
        }
        let find = async |query: &str| {
            let reply = app.get(&format!("/v1/loads?sortDesc=false&{query}")).by(&grain).send().await;
            references(&reply.ok()).concat()
        };
        for (query, expected) in [
            ("f:commodityId=1", "A"),
            ("f:commodityId=10,%202", "BC"),
            ("f:commodityId=1&f:commodityId=10", "AC"),
            ("f:commodityId%5B%5D=1&f:commodityId%5B%5D=2,2", "AB"),
            ("f:commodityId=0,-1,2147483647", ""),
            ("f:commodityId=", "ABC"),
            ("f:commodityId=2&f:organiserId=grain&f:status=upcoming&startDateISO=2026-01-01&query=b", "B"),
            ("f:commodityId=2&f:status=completed", ""),
        ] {
            assert_eq!(find(query).await, expected, "{query}");
        }
        patch(&app, &grain, &last, &json!({"commodityId": 1})).await.ok();
        assert_eq!(find("f:commodityId=1").await, "AC");
        let many = vec!["1"; 51].join(",");
        for (values, errors) in [
            ("1,x,1.5", &["f:commodityId type"][..]),
            ("2147483648", &["f:commodityId range"]),
            (many.as_str(), &["f:commodityId length"]),
        ] {
            let reply = app.get(&format!("/v1/loads?f:commodityId={values}")).by(&grain).send().await;
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
        let path = next_url(first.header("link")).unwrap().replace(&app.url, "");
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
