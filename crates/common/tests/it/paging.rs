//! Paging and links.

use serde_json::Value;
use testkit::{App, TestResponse, User};

use crate::echo::{Echo, thing};

fn names(reply: &TestResponse) -> Vec<String> {
    let name = |thing: &Value| thing["name"].as_str().unwrap().to_owned();
    reply.json().as_array().unwrap().iter().map(name).collect()
}

testkit::on_both! {
    async fn pages_neither_overlap_nor_skip_rows(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let user = User::of("a");
        let mut all = Vec::new();
        for i in 0..7 {
            // Equal names test ties.
            let name = format!("thing {}", i / 2);
            app.post("/v1/things").by(&user).json(&thing(&name)).send().await.ok();
            all.push(name);
        }
        let get = |path: &str| app.get(path).by(&user);
        let mut listed = Vec::new();
        let mut next = Some("/v1/things?limit=3&x=%C3%A4".to_owned());
        let mut pages = 0;
        while let Some(path) = next {
            let page = get(&path).send().await;
            assert_eq!(page.status, 200, "{}", page.text());
            assert!(page.link("prev").is_none());
            listed.extend(names(&page));
            assert_eq!(page.header("x-total-count"), "");
            next = page.link("next");
            assert!(next.as_ref().is_none_or(|n| n.contains("x=%C3%A4") && n.contains("limit=3")));
            pages += 1;
        }
        assert_eq!((listed, pages), (all.clone(), 3));
        let second = get("/v1/things?limit=3&offset=3&count=true").send().await;
        assert_eq!(names(&second), all[3..6]);
        assert_eq!(second.header("x-total-count"), "7");
        let first = get(&second.link("prev").unwrap()).send().await;
        assert_eq!(names(&first), all[..3]);
        let after = get(&second.link("next").unwrap()).send().await;
        assert_eq!(names(&after), all[6..]);
        assert_eq!(names(&get(&after.link("first").unwrap()).send().await), all[..3]);
        let bad = get("/v1/things?limit=0&offset=-1&cursor=nonsense").send().await;
        assert_eq!(bad.errors(), ["cursor format", "limit range", "offset range"]);
        assert_eq!(get("/v1/things?limit=101").send().await.errors(), ["limit range"]);
        assert_eq!(get("/v1/things?offset=1000000").send().await.ok(), serde_json::json!([]));
        let csv = get("/v1/things?format=CSV").header("accept", "text/csv").send().await;
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    }
}
