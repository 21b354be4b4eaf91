//! A farmer lists cattle with a photograph; another farm finds and reads the listing, at once or once it is published.

use serde_json::{Value, json};

use super::*;

testkit::on_both! {
    async fn cattle_from_photograph_to_buyer(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
        let form = heifers(&photo, false);
        let reply = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&form).send().await;
        let location = reply.header("location").to_owned();
        let made = reply.ok();
        assert_eq!(location, format!("{}/v1/listings/{}", drover.livestock.url, id_of(&made)));

        let search = "/v1/listings?f:commodityType=cattle&f:status=active-selling";
        let found = drover.livestock.get(search).by(&buyer).send().await.ok();
        let path = format!("/v1/listings/{}", id_of(&made));
        let listing = drover.livestock.get(&path).by(&buyer).send().await.ok();
        assert_eq!(found, json!([listing]));
        assert_eq!(listing["files"][0]["name"], "heifers");
        assert_eq!(listing["properties"]["quantity"], 12);
        // A listing is for everybody to see, and so are its photographs.
        assert_eq!(drover.download(&buyer, &photo).await, (200, photograph("heifers")));
    }

    async fn cattle_from_draft_to_sold(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        let create = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&heifers(&photo, true));
        let path = format!("/v1/listings/{}", id_of(&create.send().await.ok()));
        let read = async || drover.livestock.get(&path).by(&buyer).send().await;
        assert_eq!(read().await.error(403), "forbidden");
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);

        drover.livestock.post(&format!("{path}/publish")).by(&seller).send().await.ok();
        assert_eq!(read().await.ok()["status"], "active");
        assert_eq!(drover.download(&buyer, &photo).await, (200, photograph("heifers")));

        drover.livestock.call("PUT", &format!("{path}/wishlist")).by(&buyer).send().await.ok();
        let report = json!({"reason": "suspicious", "message": null});
        drover.livestock.post(&format!("{path}/report")).by(&buyer).json(&report).send().await.ok();
        let close = drover.livestock.post(&format!("{path}/close")).by(&seller);
        close.json(&json!({"status": "sold"})).send().await.ok();
        let wished = drover.livestock.get("/v1/listings?isWishlisted=true").by(&buyer).send().await.ok();
        assert_eq!(wished, json!([read().await.ok()]));
        assert_eq!(wished[0]["status"], "sold");
        let told = async |what: &str| {
            drover.livestock.get(&format!("{path}/{what}")).by(&User::admin()).send().await.ok()
        };
        assert_eq!(told("reports").await[0]["userId"], "user-of-wye-valley");
        let statuses: Vec<_> = told("events").await.as_array().unwrap().iter().map(|e| e["to"].clone()).collect();
        assert_eq!(statuses, ["draft", "active", "sold"]);
    }

    async fn a_cancelled_drafts_photograph_stays_with_its_farm(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        let create = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&heifers(&photo, true));
        let path = format!("/v1/listings/{}/close", id_of(&create.send().await.ok()));
        drover.livestock.post(&path).by(&seller).json(&json!({"status": "cancelled"})).send().await.ok();
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
    }
}

/// Twelve heifers with this photograph.
fn heifers(photo: &str, is_draft: bool) -> Value {
    json!({
        "type": "selling", "isDraft": is_draft, "categoryIds": [2], "description": "Twelve strong heifers",
        "location": {"coordinates": {"lat": 52.2, "lon": -3.1}, "address": {"region": "Powys", "countryISO": "GB"}},
        "price": {"type": "fixed", "pricePerUnit": {"amount": 1450, "currency": "GBP"}},
        "files": [{"id": photo}], "tags": [],
        "properties": {"type": "store", "breedType": "cross", "sexes": "heifers", "quantity": 12, "minAge": 14,
            "maxAge": 18, "health": {"tbStatus": "clear"}},
    })
}
