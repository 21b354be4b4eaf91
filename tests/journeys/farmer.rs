//! A farmer lists cattle with a photograph; another farm finds and reads the listing.

use serde_json::json;

use super::*;

testkit::on_both! {
    async fn cattle_from_photograph_to_buyer(backend) {
        let drover = Drover::start(backend).await;
        let (seller, buyer) = (User::of("penybont"), User::of("wye-valley"));
        let photo = drover.upload(&seller, "misc", "heifers").await;
        assert_eq!(drover.download(&buyer, &photo).await.0, 403);
        let form = json!({
            "type": "selling", "isDraft": false, "categoryIds": [2], "description": "Twelve strong heifers",
            "location": {"coordinates": {"lat": 52.2, "lon": -3.1}, "address": {"region": "Powys", "countryISO": "GB"}},
            "price": {"type": "fixed", "pricePerUnit": {"amount": 1450, "currency": "GBP"}},
            "files": [{"id": photo}], "tags": [],
            "properties": {"type": "store", "breedType": "cross", "sexes": "heifers", "quantity": 12, "minAge": 14,
                "maxAge": 18, "health": {"tbStatus": "clear"}},
        });
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
}
