//! Organiser and carrier of loads in batches.

use super::*;

const HEADER: &str =
    "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";

fn table(rows: &[&str]) -> Vec<u8> {
    let rows: Vec<_> = rows.iter().map(|row| format!("A,2026-03-01,1,{row}\n")).collect();
    format!("{HEADER}{}", rows.concat()).into_bytes()
}

testkit::on_both! {
    async fn the_form_supplies_a_missing_organiser(backend) {
        let app = app(backend).await;
        let rows = table(&[",,,", "grain,,,", "grain,Own,,", ",,haul,Haulage", ",Somebody,haul,Haulage"]);
        let own = |form: Form| form.text("organisationId", " grain ").text("organisationName", "Border Grain");
        let answer = send(&app, &User::admin(), own(form(&[&rows]))).await.ok();
        let names: Vec<_> = loads(&app, &User::admin(), &answer).await.iter().map(|l| l["organiser"].clone()).collect();
        let grain = |name: &str| json!({"id": "grain", "name": name});
        assert_eq!(names, [
            grain("Border Grain"), grain("Border Grain"), grain("Own"), grain("Border Grain"), json!({"name": "Somebody"}),
        ]);
        // The file then needs no column for the organiser.
        let bare = b"reference,deliveryDateISO,commodityId\nA,2026-03-01,1\n";
        assert_eq!(send(&app, &User::of("grain"), own(form(&[bare]))).await.ok()["count"], 1);
        let other = own(form(&[&table(&["other,,,"])]));
        assert_eq!(entries(&send(&app, &User::admin(), other).await), ["rows[0].organiserName required 2"]);
    }

    async fn the_address_book_has_the_id_of_a_name_in_the_form(backend) {
        let app = app(backend).await;
        let (haul, admin) = (User::of("haul"), User::admin());
        send(&app, &haul, form(&[&table(&["grain,Border Grain,haul,"])])).await.ok();
        let named = |rows: &[u8], name: &'static str| form(&[rows]).text("organisationName", name);
        let rows = table(&[",,haul,", "other,Other,haul,"]);
        let answer = send(&app, &haul, named(&rows, "BORDER grain")).await.ok();
        let ids: Vec<_> = loads(&app, &admin, &answer).await.iter().map(|load| load["organiser"]["id"].clone()).collect();
        assert_eq!(ids, ["grain", "other"]);
        let answer = send(&app, &haul, named(&table(&[",,haul,"]), "Somebody")).await.ok();
        assert_eq!(loads(&app, &admin, &answer).await[0]["organiser"], json!({"name": "Somebody"}));
        // The file then needs no column for a party.
        let bare = b"reference,deliveryDateISO,commodityId\nA,2026-03-01,1\n";
        assert_eq!(send(&app, &haul, named(bare, "Border Grain")).await.error(403), "forbidden");
        assert_eq!(entries(&send(&app, &haul, named(bare, "Somebody")).await), ["organiserId required 1"]);
    }

    async fn reports_missing_ids_and_names_of_parties(backend) {
        let app = app(backend).await;
        let without_name = form(&[&table(&[",,,", ",,,", "grain,,,"])]).text("organisationId", "grain");
        let grain = without_org_name("grain");
        let errors = entries(&send(&app, &grain, without_name).await);
        assert_eq!(errors, ["rows[2].organiserName required 4", "organisationName required"]);
        let only_name = form(&[&table(&[",,,", ",,haul,Haulage"])]).text("organisationName", "Border Grain");
        assert_eq!(entries(&send(&app, &User::of("haul"), only_name).await), ["rows[0].organiserId required 2"]);
        let invalid = form(&[&table(&[",,,"])]).text("organisationId", "x".repeat(201)).text("dryRun", "yes");
        let reply = send(&app, &grain, invalid.text("repeat", "1")).await;
        assert_eq!(reply.errors(), ["dryRun type", "organisationId length", "organisationName required", "repeat type"]);
        assert_eq!(count_loads(&app).await, 0);
    }

    async fn the_token_supplies_the_name_of_the_callers_organisation(backend) {
        let app = app(backend).await;
        let rows = table(&["grain,,,", "grain,,grain,", "other,Other,grain,", ",,grain,", ",,,"]);
        let own = |rows: &[u8]| form(&[rows]).text("organisationId", "grain");
        let answer = send(&app, &User::of("grain"), own(&rows)).await.ok();
        let grain = json!({"id": "grain", "name": "Organisation grain"});
        let other = json!({"id": "other", "name": "Other"});
        let created = loads(&app, &User::of("grain"), &answer).await;
        let parties: Vec<_> = created.iter().map(|load| [load["organiser"].clone(), load["carrier"].clone()]).collect();
        let none = Value::Null;
        assert_eq!(parties, [
            [grain.clone(), none.clone()], [grain.clone(), grain.clone()], [other, grain.clone()],
            [grain.clone(), grain.clone()], [grain, none],
        ]);
        // Rows must name organisations that are not in the address book.
        let rows = table(&["grain,,haul,", "other,,grain,"]);
        let unnamed = table(&["grain,,haul,", "third,,grain,"]);
        let both = ["rows[0].carrierName required 2", "rows[1].organiserName required 3"];
        assert_eq!(entries(&send(&app, &User::of("grain"), own(&unnamed)).await), both);
        // The address book has the others by now.
        assert_eq!(entries(&send(&app, &without_org_name("grain"), form(&[&rows])).await), ["rows[0].carrierName required 2"]);
    }

    async fn callers_create_loads_of_their_own_organisation_only(backend) {
        let app = app(backend).await;
        let rows = table(&["grain,Grain,,", "grain,Grain,haul,Haulage"]);
        assert_eq!(send(&app, &User::of("haul"), form(&[&rows])).await.error(403), "forbidden");
        assert_eq!(send(&app, &User::of("other"), form(&[&rows])).await.error(403), "forbidden");
        assert_eq!(send(&app, &User::individual("nobody"), form(&[b"x"])).await.error(403), "forbidden");
        assert_eq!(app.post("/v1/loads/batch").form(form(&[b"x"])).send().await.error(401), "unauthenticated");
        assert_eq!(count_loads(&app).await, 0);
        // Validation errors come before 403.
        let invalid = table(&["other,Other,,", "grain,,,"]);
        assert_eq!(entries(&send(&app, &User::of("haul"), form(&[&invalid])).await), ["rows[1].organiserName required 3"]);
        assert_eq!(send(&app, &User::of("grain"), form(&[&rows])).await.ok()["count"], 2);
        let carried = table(&["grain,Grain,haul,Haulage", ",,haul,Haulage"]);
        assert_eq!(send(&app, &User::of("haul"), form(&[&carried])).await.ok()["count"], 2);
        assert_eq!(send(&app, &User::admin(), form(&[&rows])).await.ok()["count"], 2);
    }
}
