//! Filters and sort orders of the search.

use serde_json::{Value, json};
use testkit::User;

use crate::sample::{create, plain, search, start, with};

testkit::on_both! {
    /// The squares of these differences would underflow.
    async fn finds_listings_at_tiny_distances(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let tiny = json!({"coordinates": {"lat": 1e-200, "lon": 1e-320}});
        let id = create(&app, &a, &with(plain(&json!({})), "/location", tiny)).await;
        for query in ["latitude=0&longitude=0", "latitude=0&longitude=0&distanceKm=0.001", "latitude=1e-200&longitude=0"] {
            assert_eq!(search(&app, &a, query).await, std::slice::from_ref(&id), "{query}");
        }
    }

    /// Each query with the indexes of the listings that it finds, in the order of creation.
    async fn each_filter_finds_exactly_its_listings(backend) {
        let (app, a, b) = (start(backend).await, User::of("a"), User::of("b"));
        let buying = with(plain(&json!({"type": "100%_wool"})), "/type", json!("buying"));
        let listings = [
            (&a, plain(&json!({"type": "Store", "breed": "Hereford", "breedType": "cross", "minAge": 6, "maxAge": 9}))),
            (&a, plain(&json!({"type": "calves", "breed": "Angus", "breedSociety": "Angus Society", "minAge": 6.5}))),
            (&b, plain(&json!({"breedType": "HEREFORD", "sexes": "cows, bulls", "maxAge": 24}))),
            (&b, plain(&json!({"sexes": "bulls", "additionalInfo": ["in-calf", "pedigree"]}))),
            (&b, buying),
        ];
        let mut made = Vec::new();
        for (user, listing) in &listings {
            made.push(create(&app, user, listing).await);
        }
        for (query, indexes) in [
            ("", &[0, 1, 2, 3, 4][..]),
            ("f:status=active-selling", &[0, 1, 2, 3]),
            ("f:status=active-buying", &[4]),
            ("f:status=sold", &[]),
            ("f:status=found", &[]),
            ("f:status=cancelled", &[]),
            ("f:status=draft", &[]),
            ("f:commodityType=cattle", &[0, 1, 2, 3, 4]),
            ("f:commodityType=Cattle&f:status=active-buying", &[4]),
            ("f:commodityType=sheep", &[]),
            ("f:commodityType=working-dog", &[]),
            ("f:commodityType=working%20dog", &[]),
            ("f:commodityType=store", &[0]),
            ("f:commodityType=STORE", &[0]),
            ("f:commodityType=stor", &[]),
            ("f:commodityType=%25", &[]),
            ("f:commodityType=100%25_wool", &[4]),
            ("f:commodityType=100%25xwool", &[]),
            ("f:commodityType=zebra", &[]),
            ("f:commodityBreed=hereford", &[0, 2]),
            ("f:commodityBreed=Hereford,ANGUS", &[0, 1, 2]),
            ("f:commodityBreed=cross&f:commodityBreed=angus", &[0, 1]),
            ("f:commodityBreed=here", &[]),
            ("f:commodityBreedSociety=angus%20society", &[1]),
            ("f:commodityBreedSociety=other,Angus%20Society", &[1]),
            ("f:commoditySexes=bulls", &[2, 3]),
            ("f:commoditySexes=cows", &[2]),
            ("f:commoditySexes=ewes", &[]),
            ("f:commodityAdditionalInfo=pedigree", &[3]),
            ("f:commodityAdditionalInfo=in-calf", &[3]),
            ("f:commodityAdditionalInfo=in-lamb", &[]),
            ("minAge=6", &[0, 1]),
            ("minAge=6.25", &[1]),
            ("maxAge=9", &[0]),
            ("maxAge=1000000000000", &[0, 2]),
            ("minAge=0&maxAge=600", &[0]),
            ("f:organisationId=b", &[2, 3, 4]),
            ("f:organisationId=B", &[]),
            ("f:organisationId=b&f:commoditySexes=bulls&f:commodityBreed=hereford", &[2]),
        ] {
            let expected: Vec<_> = indexes.iter().map(|i: &usize| made[*i].clone()).collect();
            assert_eq!(search(&app, &a, &format!("sortDesc=false&{query}")).await, expected, "{query}");
        }
    }

    async fn each_sort_order_puts_missing_values_last(backend) {
        let app = start(backend).await;
        let price = |amount: i32| json!({"type": "fixed", "pricePerUnit": {"amount": amount, "currency": "GBP"}});
        let range = json!({"type": "range", "minPrice": {"amount": 9.5, "currency": "GBP"},
            "maxPrice": {"amount": 100, "currency": "GBP"}});
        let listings: [(&str, Value, Value); 4] = [
            ("Zulu", price(10), json!({"quantity": 3, "minAge": 5, "maxAge": 50})),
            ("alpha", json!({"type": "poa"}), json!({"quantity": 20})),
            ("Émile", range, json!({"maxAge": 7})),
            ("Bravo", price(100), json!({"minAge": 4, "quantity": 100})),
        ];
        let mut made = Vec::new();
        for (name, price, properties) in &listings {
            let user = User::of("farm").with("orgName", name);
            made.push(create(&app, &user, &with(plain(properties), "/price", price.clone())).await);
        }
        for (query, order) in [
            ("", [3, 2, 1, 0]),
            ("sortDesc=false", [0, 1, 2, 3]),
            ("sortBy=createdAt", [0, 1, 2, 3]),
            ("sortBy=createdAtUTC&sortDesc=true", [3, 2, 1, 0]),
            ("sortBy=price", [2, 0, 3, 1]),
            ("sortBy=price&sortDesc=true", [3, 0, 2, 1]),
            ("sortBy=age", [3, 0, 2, 1]),
            ("sortBy=age&sortDesc=true", [2, 0, 3, 1]),
            ("sortBy=quantity", [0, 1, 3, 2]),
            ("sortBy=quantity&sortDesc=true", [3, 1, 0, 2]),
            ("sortBy=organisationName", [1, 3, 2, 0]),
            ("sortBy=organisationName&sortDesc=true", [0, 2, 3, 1]),
        ] {
            let expected = order.map(|i: usize| made[i].clone());
            assert_eq!(search(&app, &User::individual("u"), query).await, expected, "{query}");
        }
    }
}
