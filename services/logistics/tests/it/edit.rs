//! Editing loads by merge patches.

use super::*;

/// Creates a load of `grain` that `haul` carries. Returns its id.
async fn create(app: &App) -> String {
    let load =
        app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
    let id = load["id"].as_str().unwrap().to_owned();
    let sent = json!({"loadId": id, "carrierId": "haul", "carrierName": "Haulage"});
    app.post("/v1/loads/send-to-carrier").by(&User::of("grain")).json(&sent).send().await.ok();
    id
}

testkit::on_both! {
    async fn a_patch_changes_the_members_that_it_names(backend) {
        let app = app(backend).await;
        let (id, grain) = (create(&app).await, User::of("grain"));
        let path = format!("/v1/loads/{id}");
        let before = app.get(&path).by(&grain).send().await.ok();
        let edited = json!({
            "reference": " BG-2 ", "deliveryDateISO": "2026-04-01", "commodityId": 2, "weight": 31.00004,
            "weightNet": 30, "ticketNumber": "T", "vehicleRegistration": "vx21 abc", "pickupPostcode": "hr49ar",
            "dropoffPostcode": "X 1", "tags": ["a", "b"], "unknown": 1,
        });
        let load = app.call("PATCH", &path).by(&grain)
            .body("application/merge-patch+json", edited.to_string()).send().await.ok();
        let mut expected = revised(before.clone(), &load);
        for (member, value) in [
            ("reference", json!("BG-2")), ("deliveryDateISO", json!("2026-04-01T00:00:00.000Z")),
            ("commodity", load["commodity"].clone()), ("ticketNumber", json!("T")),
            ("weight", tonnes(31.0)),
            ("weightNet", tonnes(30.0)),
            ("vehicleRegistration", json!("VX21 ABC")), ("pickupPostcode", json!("HR4 9AR")),
            ("dropoffPostcode", json!("X 1")), ("tags", json!(["a", "b"])),
        ] {
            expected[member] = value;
        }
        assert_eq!(load["commodity"]["id"], 2);
        assert_eq!(load, expected);
        assert_eq!(app.get(&path).by(&grain).send().await.ok(), load);
        // Columns and texts of searches follow.
        for query in ["query=bg-2", "query=vx21", "startDateISO=2026-04-01&endDateISO=2026-04-01"] {
            let found = app.get(&format!("/v1/loads?{query}")).by(&grain).send().await.ok();
            assert_eq!(found, json!([load]), "{query}");
        }
        let before = "/v1/loads?startDateISO=2026-03-01&endDateISO=2026-03-01";
        assert_eq!(app.get(before).by(&grain).send().await.ok(), json!([]));

        let removed = json!({
            "weight": null, "weightNet": null, "ticketNumber": null, "vehicleRegistration": " ", "pickupPostcode": null,
            "dropoffPostcode": "", "tags": [], "files": null,
        });
        let load = patch(&app, &grain, &id, &removed).await.ok();
        for member in ["weight", "weightNet", "ticketNumber", "vehicleRegistration", "pickupPostcode", "dropoffPostcode"] {
            assert_eq!(load.get(member), None, "{member}");
        }
        assert_eq!((&load["tags"], &load["files"], &load["reference"]), (&json!([]), &json!([]), &json!("BG-2")));
        let changes = &events(&app, &id).await[3]["changes"];
        assert_eq!(changes["tags"], json!({"from": ["a", "b"], "to": []}));
        assert_eq!(changes["weight"], json!({"from": 31}));
        assert_eq!(changes.as_object().unwrap().len(), 7);
    }

    async fn a_patch_that_changes_nothing_leaves_no_trace(backend) {
        let app = app(backend).await;
        let (id, grain) = (create(&app).await, User::of("grain"));
        let before = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        let same = json!({
            "reference": "BG-1", "deliveryDateISO": "2026-03-01T01:00:00+01:00", "commodityId": 1, "weight": 29.4,
            "weightNet": null, "tags": ["harvest"], "files": [], "carrierId": "haul",
        });
        for patched in [json!({}), json!({"unknown": null}), same] {
            assert_eq!(without_warnings(patch(&app, &grain, &id, &patched).await.ok()), before);
        }
        assert_eq!((revision(&app, &id).await, events(&app, &id).await.len()), (2, 2));
    }

    async fn invalid_patches_are_refused_with_all_faults(backend) {
        let app = app(backend).await;
        let (id, grain) = (create(&app).await, User::of("grain"));
        let errors = async |user: &User, members: Value| patch(&app, user, &id, &members).await.errors();
        let faults = json!({
            "status": "upcoming", "createdBy": {"organisationId": "grain"}, "id": id, "organiser": {"name": "x"},
            "weightGross": 1, "weight": 1001, "weightNet": "x", "commodityId": 999_999, "reference": null, "tags": [1],
            "deliveryDateISO": "01/03/2026", "carrierName": "c", "ticketNumber": "x".repeat(101),
        });
        let found = ["carrierId required", "commodityId unknown_reference", "createdBy inconsistent", "deliveryDateISO format",
            "id inconsistent", "organiser inconsistent", "reference required", "status inconsistent", "tags[0] type",
            "ticketNumber length", "weight range", "weightGross inconsistent", "weightNet type"];
        for user in [&grain, &User::of("haul"), &User::of("other")] {
            assert_eq!(errors(user, faults.clone()).await, found, "before 403");
        }
        for (members, error) in [
            (json!({"deliveryDateISO": null}), "deliveryDateISO required"), (json!({"reference": " "}), "reference length"),
            (json!({"commodityId": null}), "commodityId required"), (json!({"tags": null}), "tags required"),
            (json!({"carrierName": null}), "carrierId required"), (json!({"organiserId": "grain"}), "organiserId inconsistent"),
            (json!({"carrierId": null, "carrierName": "x"}), "carrierId required"),
            (json!({"commodity": null}), "commodity inconsistent"), (json!({"files": [{}]}), "files[0].id required"),
        ] {
            assert_eq!(errors(&grain, members).await, [error]);
        }
        let path = format!("/v1/loads/{id}");
        let body = async |media_type: &str, text: &str| {
            app.call("PATCH", &path).by(&grain).body(media_type, text.to_owned()).send().await
        };
        for other in ["[]", "[{}]", "null", "\"a\"", "1"] {
            assert_eq!(body("application/json", other).await.error(400), "validation_failed", "{other}");
        }
        assert_eq!(body("application/json", "{").await.error(400), "malformed_body");
        assert_eq!(body("text/plain", "{}").await.error(415), "unsupported_media_type");
        assert_eq!(revision(&app, &id).await, 2);
    }

    async fn blank_texts_remove_only_texts(backend) {
        let app = app(backend).await;
        let (id, grain) = (create(&app).await, User::of("grain"));
        patch(&app, &grain, &id, &json!({"weightNet": 28, "pickupPostcode": "HR4 9AR", "ticketNumber": "T"})).await.ok();
        let before = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
        for blank in ["", " ", "\u{a0}"] {
            for (member, code) in [
                ("weight", "type"), ("weightNet", "type"), ("files", "type"), ("tags", "type"), ("commodityId", "type"),
                ("carrierId", "length"), ("reference", "length"), ("deliveryDateISO", "length"),
            ] {
                let reply = patch(&app, &grain, &id, &json!({ member: blank, "ticketNumber": "no" })).await;
                assert_eq!(reply.errors(), [format!("{member} {code}")], "{blank:?}");
            }
            let named = json!({"carrierId": blank, "carrierName": "Fast", "weight": blank});
            assert_eq!(patch(&app, &grain, &id, &named).await.errors(), ["carrierId length", "weight type"]);
        }
        assert_eq!(app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok(), before);
        let load = patch(&app, &grain, &id, &json!({"pickupPostcode": "", "ticketNumber": " "})).await.ok();
        assert_eq!((load.get("pickupPostcode"), load.get("ticketNumber")), (None, None));
        let named = patch(&app, &grain, &id, &json!({"carrierId": "haul", "carrierName": ""})).await.ok();
        assert_eq!(named["carrier"], json!({"id": "haul", "name": "Haulage"}), "a blank name is absent");
    }

    async fn a_new_carrier_replaces_the_old_one(backend) {
        let app = app(backend).await;
        let (id, grain, fast) = (create(&app).await, User::of("grain"), without_org_name("fast"));
        let path = format!("/v1/loads/{id}");
        let load = patch(&app, &grain, &id, &json!({"carrierId": "fast", "carrierName": "Fast Haulage"})).await.ok();
        let load = without_warnings(load);
        assert_eq!(load["carrier"], json!({"id": "fast", "name": "Fast Haulage"}));
        assert_eq!(app.get(&path).by(&fast).send().await.ok(), load);
        assert_eq!(app.get(&path).by(&User::of("haul")).send().await.error(403), "forbidden");
        assert_eq!(app.get("/v1/loads?f:carrierId=fast").by(&fast).send().await.ok(), json!([load]));
        assert_eq!(app.get("/v1/loads").by(&User::of("haul")).send().await.ok(), json!([]));
        let changes = json!({"carrierId": {"from": "haul", "to": "fast"}, "carrierName": {"from": "Haulage", "to": "Fast Haulage"}});
        assert_eq!(events(&app, &id).await[2]["changes"], changes);
        let renamed = patch(&app, &grain, &id, &json!({"carrierId": "fast", "carrierName": "F"})).await.ok();
        assert_eq!(renamed["carrier"], json!({"id": "fast", "name": "F"}));
        let unnamed = patch(&app, &grain, &id, &json!({"carrierId": "slow"})).await.ok();
        assert_eq!(unnamed["carrier"], json!({"id": "slow", "name": "slow"}));
        let removed = patch(&app, &grain, &id, &json!({"carrierId": null})).await.ok();
        assert_eq!(removed.get("carrier"), None);

        // The creator reads it. A load keeps one party.
        let entered = create_load(&app).await;
        patch(&app, &User::of("haul"), &entered, &json!({"carrierId": "fast"})).await.ok();
        let read = app.get(&format!("/v1/loads/{entered}")).by(&User::of("haul")).send().await.ok();
        assert_eq!(read["carrier"]["id"], "fast");
        let edited = patch(&app, &User::of("haul"), &entered, &json!({"weight": 6})).await;
        assert_eq!(edited.error(403), "forbidden");
        let form = without(without(carrier_form(), "organisationId"), "organisationName");
        let alone = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        let reply = patch(&app, &User::of("haul"), alone["id"].as_str().unwrap(), &json!({"carrierId": null})).await;
        assert_eq!(reply.errors(), ["carrierId required"]);
    }
}
