//! Creating listings and reading them.

use serde_json::{Value, json};
use testkit::User;

use crate::sample::{
    CATTLE, WORKING_DOG, categories, create, create_and_read, full, full_of, plain, search, start,
    start_with, with,
};

testkit::on_both! {
    async fn creates_a_listing_that_everybody_can_read(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let reply = app.post(CATTLE).by(&farm).json(&full()).send().await;
        let location = reply.header("location").to_owned();
        let made = reply.ok();
        let id = made["id"].as_str().unwrap();
        assert_eq!(made["status"], "success");
        assert_eq!(made["message"], "The listing is published.");
        assert_eq!(location, format!("{}/v1/listings/{id}", app.url));

        let read = app.get(&format!("/v1/listings/{id}")).by(&User::individual("anybody")).send().await.ok();
        let mut expected = full();
        let members = expected.as_object_mut().unwrap();
        members.remove("isDraft");
        members.insert("files".into(), json!([]));
        members.insert("id".into(), json!(id));
        members.insert("userId".into(), json!("user-of-farm"));
        members.insert("organisationId".into(), json!("farm"));
        members.insert("organisationName".into(), json!("Organisation farm"));
        members.insert("status".into(), json!("active"));
        members.insert("createdAtUTC".into(), read["createdAtUTC"].clone());
        members.insert("publishedAtUTC".into(), read["createdAtUTC"].clone());
        members.insert("revision".into(), json!(1));
        members.insert("updatedAtUTC".into(), read["createdAtUTC"].clone());
        members.insert("isWishlisted".into(), json!(false));
        assert_eq!(read, expected);
        let created = read["createdAtUTC"].as_str().unwrap();
        assert!(created.len() == 24 && created.ends_with('Z'), "{created}");

        let found = app.get("/v1/listings").by(&User::individual("anybody")).send().await.ok();
        assert_eq!(found, json!([read]));
    }

    async fn stores_all_properties_of_each_category(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (path, _, part, properties) in categories() {
            let sent = full_of(part, properties);
            for (is_draft, status) in [(false, "active"), (true, "draft")] {
                let read =
                    create_and_read(&app, &farm, path, &with(sent.clone(), "/isDraft", json!(is_draft))).await;
                assert_eq!(read["status"], status, "{path}");
                for member in ["categoryIds", "location", "price", "description", "tags", "type", "properties"] {
                    assert_eq!(read.get(member), sent.get(member), "{path} {member}");
                }
            }
        }
    }

    async fn omits_absent_members_except_arrays(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let sent = json!({"breed": " ", "sexes": null, "sex": " ", "colour": "red", "health": {}, "registration": {}});
        for ((path, category, ..), properties) in categories().into_iter().zip([
            Some(json!({"additionalInfo": [], "type": [], "health": {}})),
            Some(json!({"additionalInfo": [], "health": {}})),
            Some(json!({"registration": {}})),
            None,
            None,
        ]) {
            let mut read = create_and_read(&app, &farm, path, &with(plain(&sent), "/vat", json!(true))).await;
            for member in ["id", "userId", "organisationId", "organisationName", "createdAtUTC", "publishedAtUTC", "revision", "updatedAtUTC", "isWishlisted"] {
                read.as_object_mut().unwrap().remove(member).unwrap();
            }
            let expected = json!({
                "type": "selling", "status": "active", "categoryIds": [category], "price": {"type": "poa"},
                "files": [], "description": "", "tags": [],
            });
            let expected = properties.into_iter().fold(expected, |of, p| with(of, "/properties", p));
            assert_eq!(read, expected, "{path}");
        }
    }

    async fn ignores_properties_of_feed_and_bedding(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (path, _, part, _) in &categories()[3..] {
            for properties in [json!(null), json!(5), json!({"breed": 7, "quantity": -1})] {
                let read = create_and_read(&app, &farm, path, &full_of(*part, Some(properties))).await;
                assert_eq!(read.get("properties"), None);
            }
        }
    }

    async fn stores_breeds_and_societies_in_the_spelling_of_the_catalogue(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let [(sheep, ..), (cattle, ..), (dog, ..), ..] = categories();
        for (path, member, sent, stored) in [
            (cattle, "breed", "hereford", "Hereford"),
            (cattle, "breed", "ANGUS", "ANGUS"),
            (cattle, "breed", " Longhorn of  our own ", "Longhorn of our own"),
            (cattle, "breedType", "aberdeen angus", "Aberdeen Angus"),
            (cattle, "breedType", "Cross ", "Cross"),
            (cattle, "breedSociety", "hereford CATTLE society", "Hereford Cattle Society"),
            (sheep, "breed", "texel", "Texel"),
            (sheep, "breed", "hereford", "Hereford"),
            (sheep, "breedSociety", "british texel sheep society", "British Texel Sheep Society"),
            (dog, "breed", "border collie", "Border Collie"),
        ] {
            let read = create_and_read(&app, &farm, path, &plain(&json!({member: sent}))).await;
            assert_eq!(read["properties"][member], stored, "{path} {sent}");
        }
    }

    async fn finds_dogs_by_the_age_from_their_date_of_birth(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let born = |day: &str| plain(&json!({"registration": {"dateOfBirth": day}}));
        let old = create_and_read(&app, &farm, WORKING_DOG, &born("2010-03-01T07:30:00+02:00")).await;
        assert_eq!(old["properties"]["registration"]["dateOfBirth"], "2010-03-01T07:30:00+02:00");
        let today = &old["createdAtUTC"].as_str().unwrap()[..10];
        let pup = create_and_read(&app, &farm, WORKING_DOG, &born(today)).await;
        let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
        assert_eq!(search(&app, &farm, "maxAge=0").await, [id(&pup)]);
        assert_eq!(search(&app, &farm, "minAge=1").await, [id(&old)]);
    }

    async fn stores_exact_amounts_and_upper_case_currencies(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (sent, stored) in [
            ("29.400000000000002", "29.4"), ("0.00005", "0.0001"), ("0", "0"), ("12.0", "12"),
            ("99999999999.9999", "99999999999.9999"), ("0.1", "0.1"), ("1e3", "1000"),
        ] {
            let listing = plain(&json!({})).to_string().replace(
                r#"{"type":"poa"}"#,
                &format!(r#"{{"type":"fixed","pricePerUnit":{{"amount":{sent},"currency":"gbp"}}}}"#),
            );
            let made = app.post(CATTLE).by(&farm).body("application/json", listing).send().await.ok();
            let path = format!("/v1/listings/{}", made["id"].as_str().unwrap());
            let read = app.get(&path).by(&farm).send().await.text();
            let price = format!(r#""pricePerUnit":{{"amount":{stored},"currency":"GBP"}}"#);
            assert!(read.contains(&price), "{sent}: {read}");
        }
    }

    async fn only_its_organisation_and_admins_can_read_a_draft(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (colleague, stranger) = (User::of("farm").with("sub", "colleague"), User::of("other"));
        let reply = app.post(CATTLE).by(&farm).json(&with(full(), "/isDraft", json!(true))).send().await.ok();
        let id = reply["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/listings/{id}");
        for reader in [&farm, &colleague, &User::admin()] {
            assert_eq!(app.get(&path).by(reader).send().await.ok()["status"], "draft");
        }
        for reader in [&stranger, &User::individual("user-of-farm")] {
            assert_eq!(app.get(&path).by(reader).send().await.error(403), "forbidden");
        }
        for everybody in [&farm, &stranger, &User::admin()] {
            assert!(search(&app, everybody, "").await.is_empty());
            assert!(search(&app, everybody, "f:organisationId=farm").await.is_empty());
        }
        assert_eq!(search(&app, &colleague, "f:status=draft").await, [id]);
        for outsider in [&stranger, &User::individual("user-of-farm"), &User::admin()] {
            assert!(search(&app, outsider, "f:status=draft").await.is_empty());
            assert!(search(&app, outsider, "f:status=draft&f:organisationId=farm").await.is_empty());
        }
    }

    async fn only_members_of_an_organisation_can_create_listings(backend) {
        let app = start(backend).await;
        let create = |user: Option<User>| {
            let call = app.post(CATTLE).json(&json!({}));
            async move { if let Some(user) = user { call.by(&user) } else { call }.send().await }
        };
        // 401 and 403 precede errors of the body.
        assert_eq!(create(None).await.error(401), "unauthenticated");
        assert_eq!(create(Some(User::individual("u"))).await.error(403), "forbidden");
        assert_eq!(create(Some(User::admin())).await.error(403), "forbidden");
        assert_eq!(create(Some(User::of("farm"))).await.error(400), "validation_failed");
        for (path, ..) in categories() {
            let reply = app.post(path).by(&User::individual("u")).json(&json!({})).send().await;
            assert_eq!(reply.error(403), "forbidden", "{path}");
        }
        for path in ["/v1/listings", "/v1/listings/018f0000-0000-7000-8000-000000000000"] {
            assert_eq!(app.get(path).send().await.error(401), "unauthenticated");
        }
        for nothing in ["018f0000-0000-7000-8000-000000000000", "nonsense", "1"] {
            let reply = app.get(&format!("/v1/listings/{nothing}")).by(&User::admin()).send().await;
            assert_eq!(reply.error(404), "not_found");
        }
    }


    async fn normalizes_postcodes(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &with(full(), "/location/address/postcode", json!("ld37eg"))).await;
        let read = app.get(&format!("/v1/listings/{id}")).by(&farm).send().await.ok();
        assert_eq!(read["location"]["address"]["postcode"], "LD3 7EG");
    }

    async fn an_organisation_creates_so_many_listings_in_an_hour(backend) {
        let app = start_with(backend, |settings| settings.new_listings_per_hour = 2).await;
        let post = |user: &str, key: &str| {
            app.post(CATTLE).by(&User::of(user)).header("idempotency-key", key).json(&full())
        };
        for key in ["a", "b", "a"] {
            post("farm", key).send().await.ok();
        }
        let refused = post("farm", "c").send().await;
        assert!(refused.header("retry-after").parse::<u64>().unwrap() <= 3600);
        assert_eq!(refused.error(429), "rate_limited");
        post("farm", "a").send().await.ok();
        post("other", "c").send().await.ok();
    }
}
