//! Search for words: which texts are compared, together with which parameters, and listings of the previous release.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::lifecycle::to;
use crate::sample::{create, full, ids, plain, search, start, with};

async fn facets(app: &App, user: &User, query: &str) -> Value {
    app.get(&format!("/v1/listings?docs=false&{query}")).by(user).send().await.ok()
}

/// Asserts that a search finds these listings, newest first, as JSON, as CSV, as count and as facets.
async fn assert_finds(app: &App, user: &User, query: &str, expected: &[&str]) {
    assert_eq!(search(app, user, query).await, expected, "{query}");
    let counted = app.get(&format!("/v1/listings?count=true&{query}")).by(user).send().await;
    assert_eq!(counted.header("x-total-count"), expected.len().to_string(), "{query}");
    let csv = app.get(&format!("/v1/listings?format=CSV&{query}")).by(user).send().await.text();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
    assert_eq!(rows, expected, "{query}");
    assert_eq!(facets(app, user, query).await["total"], expected.len(), "{query}");
}

testkit::on_both! {
    async fn words_are_found_in_the_named_members_only(backend) {
        let (app, farm) = (start(backend).await, User::of("farm").with("orgName", "Penybont Farm"));
        let id = &*create(&app, &farm, &full()).await;
        create(&app, &User::of("other").with("orgName", "Bank"), &plain(&json!({}))).await;
        for query in [
            "query=store%20HEIFERS", "query=quiet", "query=handle.", "query=hereford", "query=CROSS", "query=cattle%20society",
            "query=penybont", "query=brecon", "query=POWYS", "query=LD3%207EG", "query=ld37eg", "query=7eg", "query=d37e",
            "query=he", "query=%22quiet%22", "query=quiet*", "query=(heifers),", "query=%20%20heifers%20%20quiet%20", "query=eifer%20uie%20ybon%20reco",
        ] {
            assert_finds(&app, &farm, query, &[id]).await;
        }
        // Other members, words that stand in different texts, and wildcards.
        for query in [
            "query=steers", "query=lower", "query=amber", "query=kingdom", "query=restricted", "query=farmquiet", "query=quiet%20loud",
            "query=heife%25s", "query=heife_s", "query=zz", "query=user-of-farm", "query=GB-POW",
        ] {
            assert_finds(&app, &farm, query, &[]).await;
        }
        assert_eq!(search(&app, &farm, "query=").await.len(), 2, "an empty query is no filter");
        assert_eq!(search(&app, &farm, "query=%20").await.len(), 2);
        assert_eq!(search(&app, &farm, "query=%22%20-%20%E2%80%93.").await.len(), 2, "punctuation alone is no filter");
    }

    async fn words_are_compared_folded(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let listing = with(plain(&json!({})), "/description", json!("Cafe\u{301} \u{c4}PFEL 50% a_b 'o\\\" \u{4f60}\u{597d}\u{4e16}\u{754c}"));
        let id = &*create(&app, &farm, &listing).await;
        for query in [
            "query=CAF%C3%89", "query=cafe%CC%81", "query=%C3%A4pfel", "query=50%25", "query=a_b", "query='o%5C%22", "query=%E5%A5%BD%E4%B8%96",
        ] {
            assert_finds(&app, &farm, query, &[id]).await;
        }
        assert_finds(&app, &farm, "query=cafe", &[id]).await;
        let text = "O\u{2019}Brien\u{2019}s flock, Ynys M\u{f4}n, T\u{177} Gwyn, D\u{fa}n Laoghaire, Hay\u{2011}on-Wye, 1,250 ewes, \
                    Stra\u{df}e, \u{d8}rsted & Sons";
        let id = &*create(&app, &farm, &with(plain(&json!({})), "/description", json!(text))).await;
        for words in [
            "obrien", "O'Brien", "O\u{2019}Brien", "o\u{2bc}briens", "ynys mon", "YNYS M\u{d4}N", "ty gwyn", "dun laoghaire", "hay on wye",
            "Hay\u{2013}on\u{2010}Wye", "gwyn, flock", "\u{201c}flock\u{201d}", "1250", "1,250 ewes", "strasse", "STRASSE", "orsted and sons",
            "\u{f8}rsted  &\u{a0}sons",
        ] {
            let encoded = words.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"));
            assert_finds(&app, &farm, &format!("query={encoded}"), &[id]).await;
        }
    }

    async fn words_are_combined_with_all_other_parameters(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let of = |text: &str, lat: f64, breed: &str, draft: bool| {
            let listing = with(full(), "/description", json!(text));
            let listing = with(with(listing, "/location/coordinates/lat", json!(lat)), "/isDraft", json!(draft));
            with(with(listing, "/properties/breed", json!(breed)), "/properties/title", json!("x"))
        };
        let mut made = Vec::new();
        for (text, lat, breed, draft) in [
            ("quiet one", 51.9, "Texel", false), ("quiet two", 53.0, "Texel", false), ("lively", 51.9, "Texel", false),
            ("quiet three", 51.9, "Lleyn", false), ("quiet draft", 51.9, "Texel", true),
        ] {
            made.push(create(&app, &farm, &of(text, lat, breed, draft)).await);
        }
        let [one, two, _, three, draft] = [0, 1, 2, 3, 4].map(|n| made[n].as_str());
        assert_finds(&app, &other, "query=quiet&sortBy=createdAt&sortDesc=true", &[three, two, one]).await;
        assert_finds(&app, &other, "query=quiet&f:commodityBreed=texel", &[two, one]).await;
        assert_finds(&app, &other, "query=quiet&f:commodityType=cattle&f:commodityBreed=lleyn", &[three]).await;
        assert_finds(&app, &other, "query=quiet&f:commodityType=sheep", &[]).await;
        let near = "query=quiet&latitude=51.95&longitude=-3";
        assert_finds(&app, &other, &format!("{near}&distanceKm=20&sortBy=createdAt"), &[one, three]).await;
        assert_finds(&app, &other, near, &[one, three, two]).await;
        assert_finds(&app, &farm, "query=quiet&f:status=draft", &[draft]).await;
        assert_finds(&app, &other, "query=quiet&f:status=draft", &[]).await;
        let found = facets(&app, &other, "query=quiet%20two&f:commodityBreed=texel").await;
        assert_eq!(found["filters"]["f:commodityBreed"], json!([{"value": "Texel", "count": 1}]));

        let first = app.get("/v1/listings?query=quiet&limit=2&sortBy=createdAt").by(&other).send().await;
        let next = first.link("next").unwrap();
        assert!(next.contains("query=quiet"), "{next}");
        assert_eq!(ids(&first.ok()), [one, two]);
        assert_eq!(ids(&app.get(&next).by(&other).send().await.ok()), [three]);

        to(&app, &farm, one, "sold").send().await.ok();
        assert_finds(&app, &other, "query=quiet", &[three, two]).await;
        assert_finds(&app, &other, "query=quiet&f:status=sold", &[one]).await;
        let wish = app.call("PUT", &format!("/v1/listings/{two}/wishlist")).by(&other).send().await;
        assert_eq!(wish.status, 200);
        assert_finds(&app, &other, "query=quiet&isWishlisted=true", &[two]).await;
        assert_finds(&app, &other, "query=three&isWishlisted=true", &[]).await;
        let xlsx = app.get("/v1/listings?query=quiet&format=XLSX").by(&other).send().await;
        assert_eq!(xlsx.status, 200);
    }

    async fn a_query_has_at_most_16_words_and_1000_characters(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = &*create(&app, &farm, &full()).await;
        assert_finds(&app, &farm, &format!("query={}", ["quiet"; 16].join("%20")), &[id]).await;
        for docs in ["true", "false"] {
            let path = format!("/v1/listings?docs={docs}&query={}", ["quiet"; 17].join("%20"));
            let reply = app.get(&path).by(&farm).send().await;
            assert_eq!(reply.json()["validation"][0]["data"], json!({"maximum": 16}));
            assert_eq!(reply.errors(), ["query length"]);
            for (text, error) in [("x".repeat(1_001), "query length"), ("a%00b".into(), "query format")] {
                let reply = app.get(&format!("/v1/listings?docs={docs}&query={text}")).by(&farm).send().await;
                assert_eq!(reply.errors(), [error]);
            }
        }
    }

    /// The memory of the service does not hold the words of such listings: the database compares them.
    async fn facets_count_long_texts_and_texts_without_spaces(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let other = App::start_replica::<Livestock>(&app, Settings::default()).await;
        let words = (0..400).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        let mut made = Vec::new();
        for description in [words, "\u{4f60}\u{597d}".repeat(4_000), "short word399x".into()] {
            made.push(create(&app, &farm, &with(plain(&json!({})), "/description", json!(description))).await);
        }
        let [long, dense, short] = [0, 1, 2].map(|n| made[n].as_str());
        for app in [&app, &other] {
            assert_finds(app, &farm, "query=word399", &[short, long]).await;
            assert_finds(app, &farm, "query=word399%20word7", &[long]).await;
            assert_finds(app, &farm, "query=%E5%A5%BD%E4%BD%A0", &[dense]).await;
            assert_finds(app, &farm, "query=word", &[short, long]).await;
            // One letter matches the beginnings of words.
            assert_finds(app, &farm, "query=r", &[]).await;
            assert_finds(app, &farm, "query=o", &[short, dense, long]).await;
            assert_finds(app, &farm, "query=w", &[short, long]).await;
        }
        to(&app, &farm, long, "cancelled").send().await.ok();
        for app in [&app, &other] {
            assert_finds(app, &farm, "query=word399", &[short]).await;
            assert_finds(app, &farm, "query=word399&f:status=cancelled", &[long]).await;
        }
    }

    async fn listings_of_the_previous_release_are_found_at_once(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        facets(&app, &farm, "").await;
        let mut made = Vec::new();
        for _ in 0..3 {
            made.push(create(&app, &farm, &full()).await);
        }
        made.reverse();
        let expected: Vec<_> = made.iter().map(String::as_str).collect();
        for query in ["query=quiet", "query=he&docs=false"] {
            let clear = if backend == Backend::Sqlite { "DELETE FROM listings_fts;" } else { "" };
            app.database.execute(&format!("{clear} UPDATE listings SET search_text = NULL, derived = 1"));
            app.get(&format!("/v1/listings?{query}")).by(&farm).send().await.ok();
            assert_finds(&app, &farm, "query=quiet", &expected).await;
        }
        assert_finds(&app, &farm, "query=zebra", &[]).await;
    }
}

/// Many different queries do not displace the cached facets of other searches.
#[test]
fn facets_of_words_are_not_cached() {
    testkit::block_on(async {
        let (app, farm) = (start(Backend::Sqlite).await, User::of("farm"));
        create(&app, &farm, &full()).await;
        let counted = facets(&app, &farm, "f:commodityType=cattle").await;
        for n in 0..1_100 {
            assert_eq!(facets(&app, &farm, &format!("query=none{n}")).await["total"], 0);
        }
        assert_eq!(facets(&app, &farm, "f:commodityType=cattle").await, counted);
    });
}
