//! A farmer lists cattle with a photograph. Another farm finds and reads the listing, at once or after its publication.

use serde_json::{Value, json};

use super::*;

testkit::on_both! {
    async fn buyers_find_a_listing_and_its_photograph(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
        let form = heifers(&photo, false);
        let reply = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&form).send().await;
        let location = reply.header("location").to_owned();
        let created = reply.ok();
        assert_eq!(location, format!("{}/v1/listings/{}", drover.livestock.url, id_of(&created)));

        let search = "/v1/listings?f:commodityType=cattle&f:status=active-selling";
        let results = drover.livestock.get(search).by(&buyer).send().await.ok();
        let path = format!("/v1/listings/{}", id_of(&created));
        let listing = drover.livestock.get(&path).by(&buyer).send().await.ok();
        assert_eq!(results, json!([listing]));
        assert_eq!(listing["files"][0]["name"], "heifers");
        assert_eq!(listing["properties"]["quantity"], 12);
        // Everybody may see active listings and their photographs.
        assert_eq!(drover.download(&buyer, &photo).await, (200, photograph("heifers")));
    }

    async fn a_draft_is_published_wishlisted_reported_and_sold(backend) {
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
        let wishlist = drover.livestock.get("/v1/listings?isWishlisted=true").by(&buyer).send().await.ok();
        assert_eq!(wishlist, json!([read().await.ok()]));
        assert_eq!(wishlist[0]["status"], "sold");
        let admin_view = async |part: &str| {
            drover.livestock.get(&format!("{path}/{part}")).by(&User::admin()).send().await.ok()
        };
        assert_eq!(admin_view("reports").await[0]["userId"], "user-of-wye-valley");
        let statuses: Vec<_> = admin_view("events").await.as_array().unwrap().iter().map(|e| e["to"].clone()).collect();
        assert_eq!(statuses, ["draft", "active", "sold"]);
    }

    async fn photographs_of_cancelled_drafts_stay_private(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        let create = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&heifers(&photo, true));
        let path = format!("/v1/listings/{}/close", id_of(&create.send().await.ok()));
        drover.livestock.post(&path).by(&seller).json(&json!({"status": "cancelled"})).send().await.ok();
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
    }
}

/// Returns the request body of a listing of twelve heifers with this photograph.
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
