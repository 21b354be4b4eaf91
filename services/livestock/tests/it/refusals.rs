//! Requests that are rejected, and the errors of each field.

use serde_json::{Value, json};
use testkit::User;

use crate::sample::{CATTLE, WORKING_DOG, categories, full, full_of, search, start, with, without};

/// A pointer, a value that is invalid there (`null` where the member is required), and the field error.
type InvalidValue = (&'static str, Value, &'static str);

/// Returns the rules of all categories and of cattle.
fn rules() -> Vec<InvalidValue> {
    let (long, many) = ("x".repeat(201), vec!["t"; 51]);
    vec![
        ("/type", json!("lending"), "type enum"),
        ("/type", json!(5), "type type"),
        ("/isDraft", json!("yes"), "isDraft type"),
        ("/categoryIds", json!([2, 101]), "categoryIds[1] unknown_reference"),
        ("/categoryIds", json!([1]), "categoryIds[0] unknown_reference"),
        ("/categoryIds", json!([2.5]), "categoryIds[0] unknown_reference"),
        ("/categoryIds", json!(["2"]), "categoryIds[0] type"),
        ("/categoryIds", json!(vec![2; 51]), "categoryIds length"),
        ("/location/coordinates", json!({"lat": 1}), "location.coordinates.lon required"),
        ("/location/coordinates", json!({"lon": 1}), "location.coordinates.lat required"),
        ("/location/coordinates/lat", json!(90.0001), "location.coordinates.lat range"),
        ("/location/coordinates/lat", json!("51"), "location.coordinates.lat type"),
        ("/location/coordinates/lon", json!(-180.0001), "location.coordinates.lon range"),
        ("/location/address/line1", json!(long), "location.address.line1 length"),
        ("/location/address/postcode", json!("x".repeat(21)), "location.address.postcode length"),
        ("/location", json!("here"), "location type"),
        ("/price", json!(5), "price type"),
        ("/price", json!({}), "price.type required"),
        ("/price/type", json!("offers"), "price.type enum"),
        ("/price", json!({"type": "fixed"}), "price.pricePerUnit required"),
        ("/price/minPrice", json!(null), "price.minPrice required"),
        ("/price/maxPrice", json!(null), "price.maxPrice required"),
        ("/price/minPrice", json!({"currency": "GBP"}), "price.minPrice.amount required"),
        ("/price/minPrice", json!({"amount": 1}), "price.minPrice.currency required"),
        ("/price/minPrice/amount", json!(1200.01), "price.minPrice.amount inconsistent"),
        ("/price/minPrice/amount", json!(-0.01), "price.minPrice.amount range"),
        ("/price/minPrice/amount", json!(1e11), "price.minPrice.amount range"),
        ("/price/minPrice/amount", json!("1"), "price.minPrice.amount type"),
        ("/price/maxPrice/currency", json!("EUR"), "price.maxPrice.currency inconsistent"),
        ("/price/maxPrice/currency", json!("pounds"), "price.maxPrice.currency enum"),
        ("/price/minPrice/currency", json!(" "), "price.minPrice.currency length"),
        ("/files", json!([{"name": "x"}]), "files[0].id required"),
        ("/files", json!("x"), "files type"),
        ("/files", json!(vec![json!({"id": "x"}); 51]), "files length"),
        ("/description", json!("x".repeat(10_001)), "description length"),
        ("/description", json!("a\u{0}b"), "description format"),
        ("/description", json!(null), "description type"),
        ("/tags", json!(["a;b"]), "tags[0] format"),
        ("/tags", json!([" "]), "tags[0] length"),
        ("/tags", json!(["x".repeat(51)]), "tags[0] length"),
        ("/tags", json!(many), "tags length"),
        ("/properties", json!([]), "properties type"),
        ("/properties/title", json!(long), "properties.title length"),
        ("/properties/breed", json!("a\nb"), "properties.breed format"),
        ("/properties/breed", json!("Hereford, Angus"), "properties.breed format"),
        ("/properties/breed", json!("x".repeat(61)), "properties.breed length"),
        ("/properties/breedType", json!(","), "properties.breedType format"),
        ("/properties/breedType", json!("é".repeat(61)), "properties.breedType length"),
        ("/properties/breedSociety", json!("a,b"), "properties.breedSociety format"),
        ("/properties/breedSociety", json!("x".repeat(61)), "properties.breedSociety length"),
        ("/properties/type", json!(["store"]), "properties.type type"),
        ("/properties/sexes", json!("heifers,goats"), "properties.sexes enum"),
        ("/properties/sexes", json!(["heifers"]), "properties.sexes type"),
        ("/properties/additionalInfo", json!(["organic", "vegan"]), "properties.additionalInfo[1] enum"),
        ("/properties/additionalInfo", json!("organic"), "properties.additionalInfo type"),
        ("/properties/quantity", json!(0), "properties.quantity range"),
        ("/properties/quantity", json!(1.5), "properties.quantity type"),
        ("/properties/quantity", json!(1e15), "properties.quantity range"),
        ("/properties/minAge", json!(19), "properties.minAge inconsistent"),
        ("/properties/minAge", json!(-1), "properties.minAge range"),
        ("/properties/maxAge", json!(600.1), "properties.maxAge range"),
        ("/properties/health", json!("good"), "properties.health type"),
        ("/properties/health/tbStatus", json!(1), "properties.health.tbStatus type"),
        (
            "/properties/performance/averageWeight/weight",
            json!(-1),
            "properties.performance.averageWeight.weight range",
        ),
        (
            "/properties/performance/averageWeight/weight",
            json!(1e300),
            "properties.performance.averageWeight.weight range",
        ),
        (
            "/properties/performance/averageWeight/conversion",
            json!("1"),
            "properties.performance.averageWeight.conversion type",
        ),
    ]
}

/// Returns the rules of the other categories, by their index in [`categories`].
fn other_rules() -> [(usize, Vec<InvalidValue>); 4] {
    let (long, many) = ("x".repeat(201), vec!["t"; 51]);
    let sheep = vec![
        ("/categoryIds", json!([103, 206]), "categoryIds[1] unknown_reference"),
        ("/properties", json!("woolly"), "properties type"),
        ("/properties/title", json!(long), "properties.title length"),
        ("/properties/type", json!("store"), "properties.type type"),
        ("/properties/type", json!(["store", 5]), "properties.type[1] type"),
        ("/properties/type", json!([" "]), "properties.type[0] length"),
        ("/properties/type", json!(["a\nb"]), "properties.type[0] format"),
        ("/properties/type", json!(many), "properties.type length"),
        ("/properties/breed", json!(5), "properties.breed type"),
        ("/properties/breed", json!("Texel, Suffolk"), "properties.breed format"),
        ("/properties/breedType", json!("a\u{7}b"), "properties.breedType format"),
        ("/properties/breedSociety", json!(long), "properties.breedSociety length"),
        ("/properties/sexes", json!("ewes,goats"), "properties.sexes enum"),
        ("/properties/additionalInfo", json!(["organic", "vegan"]), "properties.additionalInfo[1] enum"),
        ("/properties/additionalInfo", json!(vec!["organic"; 51]), "properties.additionalInfo length"),
        ("/properties/quantity", json!(0), "properties.quantity range"),
        ("/properties/quantity", json!("40"), "properties.quantity type"),
        ("/properties/minAge", json!(60.1), "properties.minAge inconsistent"),
        ("/properties/maxAge", json!(601), "properties.maxAge range"),
        ("/properties/health", json!(5), "properties.health type"),
        ("/properties/health/data", json!("x".repeat(1001)), "properties.health.data length"),
    ];
    let dog = vec![
        ("/categoryIds", json!([1]), "categoryIds[0] unknown_reference"),
        ("/properties", json!([]), "properties type"),
        ("/properties/breed", json!(long), "properties.breed length"),
        ("/properties/breed", json!("Collie, Kelpie"), "properties.breed format"),
        ("/properties/sex", json!("bitch"), "properties.sex enum"),
        ("/properties/sex", json!(true), "properties.sex type"),
        ("/properties/registration", json!("ISDS"), "properties.registration type"),
        (
            "/properties/registration/dateOfBirth",
            json!("spring"),
            "properties.registration.dateOfBirth format",
        ),
        (
            "/properties/registration/dateOfBirth",
            json!("2021-05-04T10:00:00"),
            "properties.registration.dateOfBirth format",
        ),
        (
            "/properties/registration/dateOfBirth",
            json!("9999-12-31"),
            "properties.registration.dateOfBirth range",
        ),
        (
            "/properties/registration/dateOfBirth",
            json!("1970-01-01"),
            "properties.registration.dateOfBirth range",
        ),
        ("/properties/registration/dateOfBirth", json!(2021), "properties.registration.dateOfBirth type"),
        ("/properties/registration/isRegistered", json!("yes"), "properties.registration.isRegistered type"),
        (
            "/properties/registration/registrationNumber",
            json!(5),
            "properties.registration.registrationNumber type",
        ),
        ("/properties/registration/name", json!(long), "properties.registration.name length"),
    ];
    let goods = |foreign| {
        vec![
            ("/categoryIds", json!([foreign]), "categoryIds[0] unknown_reference"),
            ("/price", json!({"type": "fixed"}), "price.pricePerUnit required"),
            ("/tags", json!(["a;b"]), "tags[0] format"),
        ]
    };
    [(0, sheep), (2, dog), (3, goods(501)), (4, goods(401))]
}

testkit::on_both! {
    async fn an_entry_of_the_wrong_type_does_not_hide_errors_of_others(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let listing = with(full(), "/categoryIds", json!(["2", 101, 206]));
        let call = app.post(CATTLE).by(&farm).header("idempotency-key", "").json(&listing);
        let expected = ["Idempotency-Key length", "categoryIds[0] type", "categoryIds[1] unknown_reference"];
        assert_eq!(call.send().await.errors(), expected);
    }

    async fn reports_every_violation_by_path_and_code(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (pointer, value, field_error) in rules() {
            let listing = with(full(), pointer, value.clone());
            let reply = app.post(CATTLE).by(&farm).json(&listing).send().await;
            assert_eq!(reply.errors(), [field_error], "{pointer} {value}");
        }
        for (category, rules) in other_rules() {
            let (path, _, part, properties) = categories()[category].clone();
            for (pointer, value, field_error) in rules {
                let listing = with(full_of(part, properties.clone()), pointer, value.clone());
                let reply = app.post(path).by(&farm).json(&listing).send().await;
                assert_eq!(reply.errors(), [field_error], "{path} {pointer} {value}");
            }
        }
        for (path, _, part, properties) in categories() {
            let full = full_of(part, properties);
            for member in full.as_object().unwrap().keys() {
                let reply = app.post(path).by(&farm).json(&without(full.clone(), &format!("/{member}"))).send().await;
                assert_eq!(reply.errors(), [format!("{member} required")], "{path}");
            }
        }
        assert!(search(&app, &farm, "").await.is_empty(), "rejected listings are not stored");
    }

    async fn reports_all_failed_fields_at_once(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let listing = with(full(), "/price/minPrice/amount", json!("cheap"));
        let listing = with(listing, "/properties/sexes", json!("unicorns"));
        let listing = with(listing, "/location/coordinates/lat", json!(91));
        let listing = with(listing, "/categoryIds", json!([9]));
        let reply = app.post(CATTLE).by(&farm).json(&without(listing, "/tags")).send().await;
        let expected = [
            "categoryIds[0] unknown_reference",
            "location.coordinates.lat range",
            "price.minPrice.amount type",
            "properties.sexes enum",
            "tags required",
        ];
        assert_eq!(reply.errors(), expected);

        let dog = json!({"sex": "bitch", "registration": {"dateOfBirth": "9999-12-31", "name": 5}});
        let reply = app.post(WORKING_DOG).by(&farm).json(&full_of(4, Some(dog))).send().await;
        let expected = [
            "categoryIds[0] unknown_reference",
            "properties.registration.dateOfBirth range",
            "properties.registration.name type",
            "properties.sex enum",
        ];
        assert_eq!(reply.errors(), expected);
    }

    async fn rejects_malformed_bodies(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let post = |kind: &str, body: &str| app.post(CATTLE).by(&farm).body(kind, body.to_owned()).send();
        assert_eq!(post("application/json", "{").await.error(400), "malformed_body");
        assert_eq!(post("text/csv", "{}").await.error(415), "unsupported_media_type");
        assert_eq!(post("application/json", "5").await.errors(), [" type"]);
        assert_eq!(post("application/json", "[]").await.errors(), [" type"]);
    }

    async fn rejects_invalid_search_parameters(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (query, errors) in [
            ("limit=0", &["limit range"][..]),
            ("limit=101&offset=-1", &["limit range", "offset range"]),
            ("sortBy=colour", &["sortBy enum"]),
            ("sortDesc=perhaps", &["sortDesc type"]),
            ("f:status=active", &["f:status enum"]),
            ("f:commoditySexes=mares", &["f:commoditySexes enum"]),
            ("f:commodityAdditionalInfo=vegan&minAge=old", &["f:commodityAdditionalInfo enum", "minAge type"]),
            ("minAge=-1", &["minAge range"]),
            ("cursor=nonsense", &["cursor format"]),
            ("latitude=52", &["longitude required"]),
            ("distanceKm=0", &["distanceKm range", "latitude required", "longitude required"]),
            ("distanceKm=20000.1&latitude=90.1&longitude=0", &["distanceKm range", "latitude range"]),
            ("sortBy=distance&longitude=1", &["latitude required"]),
            ("isWishlisted=1&docs=no&format=XML", &["docs type", "format enum", "isWishlisted type"]),
        ] {
            let reply = app.get(&format!("/v1/listings?{query}")).by(&farm).send().await;
            assert_eq!(reply.errors(), errors, "{query}");
        }
        for nothing in ["", "limit=&sortBy=&f:status=&f:commodityBreed=&minAge=", "unknown=1"] {
            assert!(search(&app, &farm, nothing).await.is_empty());
        }
    }
}
