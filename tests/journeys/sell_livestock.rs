//! Photographs of listings. `deploy/examples` has the whole way of a listing.

use serde_json::{Value, json};

use super::*;

testkit::on_both! {
    async fn buyers_find_a_listing_and_its_photograph(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
        let form = heifers(&photo, false);
        let create = drover.livestock.post("/v1/listings/cattle").by(&seller).json(&form);
        let created = create.send().await.ok();

        let search = "/v1/listings?f:commodityType=cattle&f:status=active-selling";
        let results = drover.livestock.get(search).by(&buyer).send().await.ok();
        let path = format!("/v1/listings/{}", id_of(&created));
        let listing = drover.livestock.get(&path).by(&buyer).send().await.ok();
        assert_eq!(results, json!([listing]));
        drover.livestock.call("PUT", &format!("{path}/wishlist")).by(&buyer).send().await.ok();
        let wishlist = drover.livestock.get("/v1/listings?isWishlisted=true").by(&buyer).send().await.ok();
        let mut wished = listing;
        wished["isWishlisted"] = json!(true);
        assert_eq!(wishlist, json!([wished]));
        // Everybody may see active listings and their photographs.
        assert_eq!(drover.download(&buyer, &photo).await, (200, photograph("heifers")));
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
