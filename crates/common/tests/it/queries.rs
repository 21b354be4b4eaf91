//! Query parameters.

use serde_json::{Value, json};

use crate::echo::start;

#[test]
fn converts_texts_to_the_types_of_parameters() {
    testkit::block_on(async {
        let app = start().await;
        let hear = async |query: &str| app.get(&format!("/v1/hear?{query}")).send().await.ok();
        let all = hear(
            "must=ab&whole=-5&real=1e1&flag=true&many=a,b&many=c&f%3Aname=x%20y&day=2026-03-01&colour=red&unknown=1",
        );
        assert_eq!(
            all.await,
            json!({"must": "ab", "whole": -5, "real": 10.0, "flag": true, "many": ["a", "b", "c"],
                "f:name": "x y", "day": "2026-03-01", "colour": "red"})
        );
        let empty = hear("must=ab&whole=&real=&flag=&many=&f:name=&day=&colour=").await;
        let absent = json!({"must": "ab", "whole": null, "real": null, "flag": null, "many": [], "f:name": null,
            "day": null, "colour": null});
        assert_eq!(empty, absent);
        assert_eq!(hear("must=ab&whole=%20&real=%0A&flag=+&f:name=%20").await, absent);
        let padded = hear("must=ab&whole=%205&real=1%20&flag=true%20&f:name=%EF%BF%BD").await;
        assert_eq!(
            padded,
            json!({"must": "ab", "whole": 5, "real": 1.0, "flag": true, "many": [], "f:name": "\u{fffd}",
            "day": null, "colour": null})
        );
        assert_eq!(hear("must=ab&whole=1&whole=2").await["whole"], 2);
        assert_eq!(hear("must=ab&f:name=%F0%9F%90%84&must=cd").await["f:name"], "🐄");
    });
}

#[test]
fn reports_every_invalid_parameter() {
    testkit::block_on(async {
        let app = start().await;
        let hear = |query: &str| app.get(&format!("/v1/hear?{query}"));
        let all_invalid =
            hear("whole=1.5&real=NaN&flag=yes&many=a,b,c,d&f:name=inconsistent&day=tomorrow&colour=blue");
        let expected = [
            "colour enum",
            "day format",
            "f:name inconsistent",
            "flag type",
            "many length",
            "must required",
            "real type",
            "whole type",
        ];
        assert_eq!(all_invalid.send().await.errors(), expected);
        let bounds = hear("must=a&whole=6&real=-90.5").send().await.errors();
        assert_eq!(bounds, ["must length", "real range", "whole range"]);
        for number in ["inf", "-inf", "1e400", "0x10", "1,5"] {
            let errors = hear(&format!("must=ab&real={number}")).send().await.errors();
            assert_eq!(errors, ["real type"], "{number}");
        }
        let whole = hear("must=ab&whole=99999999999999999999").send().await.errors();
        assert_eq!(whole, ["whole range"]);
        assert_eq!(hear("must=ab&f:name=a%00b").send().await.errors(), ["f:name format"]);
        assert_eq!(hear("must=%20%20%20").send().await.errors(), ["must required"]);
        assert_eq!(
            hear("must=ab&f:name=a%FFb&whole=x").send().await.errors(),
            ["f:name format", "whole type"]
        );
        let body: Value = hear("must=ab&colour=blue").send().await.json();
        assert_eq!(body["validation"][0]["data"], json!({"allowed": ["red", "green"]}));
    });
}

#[test]
fn reports_query_errors_before_an_unknown_path() {
    testkit::block_on(async {
        let app = start().await;
        assert_eq!(app.get("/v1/hear/nonsense?ms=x").send().await.errors(), ["ms type"]);
        assert_eq!(app.get("/v1/hear/nonsense").send().await.error(404), "not_found");
        let id = "0192F0C1-0000-7000-8000-00000000ABCD";
        let heard = app.get(&format!("/v1/hear/{id}")).send().await.ok();
        assert_eq!(heard, id.to_lowercase());
        for other in ["0192f0c1000070008000000000000000", "%7B0192f0c1-0000-7000-8000-000000000000%7D"] {
            assert_eq!(app.get(&format!("/v1/hear/{other}")).send().await.status, 404);
        }
    });
}
