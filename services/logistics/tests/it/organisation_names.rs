//! The token supplies the name of the caller's own organisation.

use testkit::TestDatabase;

use super::*;

testkit::on_both! {
    async fn in_new_loads(backend) {
        let app = app(backend).await;
        let load = app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
        assert_eq!(load["organiser"], json!({"id": "grain", "name": "Organisation grain"}));
        let loads = app.get("/v1/loads?query=organisation").by(&User::of("grain")).send().await.ok();
        assert_eq!(loads.as_array().unwrap().len(), 1, "searches use that name");
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&carrier_form()).send().await.ok();
        assert_eq!(load["carrier"], json!({"id": "haul", "name": "Organisation haul"}));
        assert_eq!(load["organiser"], json!({"id": "grain", "name": "Organisation grain"}), "grain has called");
        let unknown = with(carrier_form(), "organisationId", json!("mill"));
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&unknown).send().await.ok();
        assert_eq!(load["organiser"], json!({"id": "mill", "name": "Border Grain"}), "the request names others");
        let both = with(carrier_form(), "organisationId", json!("haul"));
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&both).send().await.ok();
        assert_eq!(load["organiser"]["name"], "Organisation haul");
        // A name without an id stays as it is.
        let unknown = without(carrier_form(), "organisationId");
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&unknown).send().await.ok();
        assert_eq!(load["organiser"], json!({"name": "Border Grain"}));
        for (user, name) in [(without_org_name("grain"), "Border Grain"), (User::admin(), "Organisation grain")] {
            let load = app.post("/v1/loads/organiser").by(&user).json(&organiser_form()).send().await.ok();
            assert_eq!(load["organiser"]["name"], name, "without a name in its token, an organisation names itself");
        }
    }

    async fn from_nested_claims(backend) {
        let database = TestDatabase::new::<Logistics>(backend).await;
        let mut config = testkit::config::<Logistics>(&database, Settings::default());
        config.auth.claims.org = "attributes.org".into();
        config.auth.claims.org_name = "attributes.orgName".into();
        let app = App::start_with::<Logistics>(database, config).await;
        let mut user = User::individual("owen");
        assert_eq!(app.post("/v1/loads/organiser").by(&user).json(&organiser_form()).send().await.status, 403);
        user.claims["attributes"] = json!({"org": "grain", "orgName": "Border Grain Merchants"});
        let load = app.post("/v1/loads/organiser").by(&user).json(&organiser_form()).send().await.ok();
        assert_eq!(load["organiser"], json!({"id": "grain", "name": "Border Grain Merchants"}));
        assert_eq!(app.get("/v1/loads").by(&user).send().await.ok().as_array().unwrap().len(), 1);
        user.claims["attributes.org"] = json!("other");
        assert_eq!(app.get("/v1/loads").by(&user).send().await.ok(), json!([]), "the claim of this name wins");
    }

    async fn in_batches(backend) {
        let app = app(backend).await;
        let rows = b"reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n\
            A,2026-03-01,1,grain,Impostor,haul,Haulage\nB,2026-03-01,1,other,Other,grain,Impostor\n";
        let result = batch::send(&app, &User::of("grain"), batch::form(&[rows])).await.ok();
        let loads = batch::loads(&app, &User::of("grain"), &result).await;
        let names: Vec<_> = loads.iter().map(|load| json!([load["organiser"]["name"], load["carrier"]["name"]])).collect();
        assert_eq!(names, [json!(["Organisation grain", "Haulage"]), json!(["Other", "Organisation grain"])]);
        let own = batch::form(&[b"reference,deliveryDateISO,commodityId\nA,2026-03-01,1\n"]);
        let own = own.text("organisationId", "grain").text("organisationName", "Impostor");
        let result = batch::send(&app, &User::of("grain"), own).await.ok();
        let loads = batch::loads(&app, &User::of("grain"), &result).await;
        assert_eq!(loads[0]["organiser"]["name"], "Organisation grain");
    }

    async fn in_loads_that_a_carrier_sends_to_itself(backend) {
        let app = app(backend).await;
        for (user, name) in [(User::of("grain"), "Organisation grain"), (without_org_name("grain"), "Impostor")] {
            let load = app.post("/v1/loads/organiser").by(&user).json(&organiser_form()).send().await.ok();
            let form = json!({"loadId": load["id"], "carrierId": "grain", "carrierName": "Impostor"});
            app.post("/v1/loads/send-to-carrier").by(&user).json(&form).send().await.ok();
            let path = format!("/v1/loads/{}", load["id"].as_str().unwrap());
            let load = app.get(&path).by(&user).send().await.ok();
            assert_eq!(load["carrier"], json!({"id": "grain", "name": name}));
        }
    }
}
