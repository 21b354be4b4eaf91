//! A listing has and shows only the amounts that the type of its price uses.

use serde_json::{Value, json};
use testkit::User;

use crate::lifecycle::{events, patch, read};
use crate::sample::{create, plain, search, start, with};

fn gbp(amount: u32) -> Value {
    json!({"amount": amount, "currency": "GBP"})
}

fn priced(price: Value) -> Value {
    with(plain(&json!({})), "/price", price)
}

fn range(from: u32, to: u32) -> Value {
    json!({"type": "range", "minPrice": gbp(from), "maxPrice": gbp(to)})
}

/// Returns code and path of each warning.
fn warnings(answer: &Value) -> Vec<String> {
    let all = answer["warnings"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.iter().map(|warning| format!("{} {}", text(&warning["code"]), text(&warning["path"]))).collect()
}

testkit::on_both! {
    async fn a_change_of_the_type_drops_other_amounts_and_changes_the_order(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let fixed = |amount: u32| priced(json!({"type": "fixed", "pricePerUnit": gbp(amount)}));
        let (a, b, c) = (create(&app, &farm, &fixed(500)).await, create(&app, &farm, &fixed(500)).await, create(&app, &farm, &fixed(600)).await);
        let poa = patch(&app, &farm, &a, &json!({"price": {"type": "poa"}})).await.ok();
        assert_eq!((&poa["price"], warnings(&poa).len()), (&json!({"type": "poa"}), 0));
        let ranged = patch(&app, &farm, &b, &json!({"price": range(700, 900)})).await.ok();
        assert_eq!(ranged["price"], range(700, 900));
        assert_eq!(search(&app, &farm, "sortBy=price").await, [c.clone(), b.clone(), a.clone()]);
        assert_eq!(search(&app, &farm, "sortBy=price&sortDesc=true").await, [b.clone(), c, a.clone()]);
        // The hidden price per unit in GBP is gone.
        let euros = json!({"price": {"minPrice": {"currency": "EUR"}, "maxPrice": {"currency": "EUR"}}});
        assert_eq!(patch(&app, &farm, &b, &euros).await.status, 200);
        let history = events(&app, &a).await;
        assert_eq!(history[1]["changes"]["price"], json!({"from": {"type": "fixed", "pricePerUnit": gbp(500)}, "to": {"type": "poa"}}));
    }

    async fn amounts_of_another_type_are_ignored_with_a_warning(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let price = json!({"type": "range", "pricePerUnit": {"amount": 1, "currency": "QQQ"}, "minPrice": gbp(1), "maxPrice": gbp(2)});
        let created = app.post("/v1/listings/cattle").by(&farm).json(&priced(price)).send().await.ok();
        assert_eq!(warnings(&created), ["ignored price.pricePerUnit"]);
        let id = created["id"].as_str().unwrap();
        assert_eq!(read(&app, &farm, id).await["price"], range(1, 2));
        let edited = patch(&app, &farm, id, &json!({"price": {"pricePerUnit": gbp(9), "maxPrice": gbp(3)}})).await.ok();
        assert_eq!((warnings(&edited), &edited["price"]), (vec!["ignored price.pricePerUnit".to_owned()], &range(1, 3)));
        let nothing = patch(&app, &farm, id, &json!({"price": {"pricePerUnit": {"currency": "x"}}})).await;
        assert_eq!(nothing.header("etag"), "\"2\"");
        assert_eq!(warnings(&nothing.ok()), ["ignored price.pricePerUnit"]);
        let poa = patch(&app, &farm, id, &json!({"price": {"type": "poa", "minPrice": gbp(5)}})).await.ok();
        assert_eq!((warnings(&poa), &poa["price"]), (vec!["ignored price.minPrice".to_owned()], &json!({"type": "poa"})));
        // The warnings are those of a request.
        assert_eq!(warnings(&read(&app, &farm, id).await).len(), 0);
        assert_eq!(patch(&app, &farm, id, &json!({"price": {"type": "fixed"}})).await.errors(), ["price.pricePerUnit required"]);
    }
}
