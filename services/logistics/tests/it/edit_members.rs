//! Which members of a load each party can edit, and the order of checks of an edit.

use super::*;

/// Returns a new value of each member that the managers of a load can edit, and the member of the load that shows it.
fn editable() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("reference", json!("new"), "/reference"),
        ("deliveryDateISO", json!("2027-05-06T00:00:00.000Z"), "/deliveryDateISO"),
        ("commodityId", json!(2), "/commodity/id"),
        ("weight", json!(12), "/weight/weight"),
        ("weightNet", json!(13), "/weightNet/weight"),
        ("ticketNumber", json!("new"), "/ticketNumber"),
        ("vehicleRegistration", json!("NEW"), "/vehicleRegistration"),
        ("pickupPostcode", json!("SY8 1EG"), "/pickupPostcode"),
        ("dropoffPostcode", json!("SY8 1EG"), "/dropoffPostcode"),
        ("tags", json!(["new"]), "/tags"),
        ("files", json!([]), "/files"),
        ("carrierId", json!("fast"), "/carrier/id"),
    ]
}

const OF_CARRIER: [&str; 4] = ["vehicleRegistration", "ticketNumber", "weightNet", "files"];

/// Returns each member that nobody can edit, with its present value or another one.
fn uneditable(load: &Value) -> Vec<(&'static str, Value)> {
    let mut members = vec![
        ("organiserId", json!("grain")),
        ("organiserName", json!("x")),
        ("organisationId", json!("grain")),
        ("organisationName", json!("x")),
        ("weightGross", json!(1)),
        ("weightTare", json!(1)),
        ("completedAtUTC", json!("2026-03-01")),
        ("warnings", json!([])),
    ];
    for name in [
        "id",
        "organiser",
        "carrier",
        "commodity",
        "status",
        "createdAtUTC",
        "createdBy",
        "revision",
        "updatedAtUTC",
    ] {
        members.push((name, load[name].clone()));
        members.push((name, json!(null)));
    }
    members
}

/// Creates a load with a file, which `creator` enters. `haul` carries it. Returns its id.
async fn create(app: &App, system: &SystemStub, creator: &User) -> String {
    let (path, form) = if creator.claims["org"] == "haul" {
        ("carrier", carrier_form())
    } else {
        ("organiser", organiser_form())
    };
    let file = system.add("t.jpg", creator);
    let form = with(form, "files", json!([{ "id": file }]));
    let load = app.post(&format!("/v1/loads/{path}")).by(creator).json(&form).send().await.ok();
    let id = load["id"].as_str().unwrap().to_owned();
    if path == "organiser" {
        let sent = json!({"loadId": id, "carrierId": "haul"});
        app.post("/v1/loads/send-to-carrier").by(creator).json(&sent).send().await.ok();
    }
    let sent = json!({"loadId": id, "driverId": "dai"});
    app.post("/v1/loads/send-to-driver").by(&User::of("haul")).json(&sent).send().await.ok();
    id
}

testkit::on_both! {
    async fn each_party_edits_its_members(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let (dai, mill) = (User::individual("dai"), User::of("mill"));
        let (by_organiser, by_carrier) = (create(&app, &system, &grain).await, create(&app, &system, &haul).await);
        // The creator that is the carrier only reads the load when another one carries it.
        let left = create(&app, &system, &haul).await;
        patch(&app, &haul, &left, &json!({"carrierId": "slow"})).await.ok();
        for (id, user, may_all, may_some) in [
            (&by_organiser, &grain, true, true), (&by_organiser, &admin, true, true), (&by_organiser, &haul, false, true),
            (&by_organiser, &dai, false, false), (&by_organiser, &mill, false, false),
            (&by_carrier, &grain, true, true), (&by_carrier, &haul, true, true), (&by_carrier, &mill, false, false),
            (&left, &haul, false, false), (&left, &User::of("slow"), false, true),
        ] {
            let path = format!("/v1/loads/{id}");
            for (member, value, pointer) in editable() {
                let before = app.get(&path).by(&admin).send().await.ok();
                let reply = patch(&app, user, id, &json!({ member: value })).await;
                if !(may_all || may_some && OF_CARRIER.contains(&member)) {
                    assert_eq!(reply.error(403), "forbidden", "{member} {user:?}");
                    // Nor together with a member that the caller may edit.
                    let both = json!({ member: value, "ticketNumber": "mixed" });
                    assert_eq!(patch(&app, user, id, &both).await.error(403), "forbidden", "{member} {user:?}");
                    assert_eq!(app.get(&path).by(&admin).send().await.ok(), before);
                    continue;
                }
                let load = without_warnings(reply.ok());
                assert_eq!(load.pointer(pointer), Some(&value), "{member} {user:?}");
                assert_eq!(app.get(&path).by(&admin).send().await.ok(), load);
                // The present values again.
                let mut previous = json!({
                    "reference": before["reference"], "deliveryDateISO": before["deliveryDateISO"],
                    "commodityId": before["commodity"]["id"], "tags": before["tags"], "weight": before["weight"]["weight"],
                    "carrierId": before["carrier"]["id"], "carrierName": before["carrier"]["name"],
                });
                for name in ["weightNet", "ticketNumber", "vehicleRegistration", "pickupPostcode", "dropoffPostcode"] {
                    let shown = &before[name];
                    previous[name] = shown.get("weight").unwrap_or(shown).clone();
                }
                patch(&app, &admin, id, &previous).await.ok();
            }
        }
    }

    async fn members_that_nobody_edits_come_first(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let id = create(&app, &system, &grain).await;
        let path = format!("/v1/loads/{id}");
        let load = app.get(&path).by(&admin).send().await.ok();
        let revision = revision(&app, &id).await;
        for user in [&grain, &haul, &admin, &User::individual("dai"), &User::of("mill")] {
            for (member, value) in uneditable(&load) {
                let reply = patch(&app, user, &id, &json!({ member: value, "reference": "new" })).await;
                assert_eq!(reply.errors(), [format!("{member} inconsistent")], "{user:?}");
            }
        }
        assert_eq!((app.get(&path).by(&admin).send().await.ok(), super::revision(&app, &id).await), (load, revision));
    }

    async fn checks_have_their_order(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, mill) = (User::of("grain"), User::of("haul"), User::of("mill"));
        let (upcoming, proven) = (create(&app, &system, &grain).await, create(&app, &system, &grain).await);
        prove(&app, &grain, &proven, &proof_form()).await.ok();
        let nowhere = "0190f5fe-0000-7000-8000-000000000000";
        let (invalid, foreign) = (json!({"status": "x", "reference": 1}), json!({"reference": "new"}));
        let unknown_file = json!({"files": [{ "id": nowhere }]});
        // Each row fails every check from its status on.
        for (token, media_type, body, user, id, expected) in [
            (false, "text/plain", &invalid, &mill, nowhere, 401),
            (true, "text/plain", &invalid, &mill, nowhere, 415),
            (true, "application/json", &invalid, &mill, nowhere, 400),
            (true, "application/json", &unknown_file, &mill, nowhere, 400),
            (true, "application/json", &unknown_file, &mill, &*proven, 400),
            (true, "application/json", &unknown_file, &haul, &*proven, 400),
            (true, "application/json", &foreign, &mill, &*proven, 403),
            (true, "application/json", &foreign, &haul, &*proven, 403),
            (true, "application/json", &foreign, &mill, nowhere, 404),
            (true, "application/json", &foreign, &grain, &*proven, 409),
            (true, "application/json", &foreign, &grain, &*upcoming, 412),
        ] {
            let call = app.call("PATCH", &format!("/v1/loads/{id}")).header("if-match", "\"99\"");
            let call = call.body(media_type, body.to_string());
            let reply = if token { call.by(user) } else { call }.send().await;
            assert_eq!(reply.status, expected, "{body} {}", reply.text());
        }
        let cancel = async |user: &User, id: &str, form: &Value| {
            let call = app.post(&format!("/v1/loads/{id}/cancel")).by(user).header("if-match", "\"99\"");
            call.json(form).send().await.status
        };
        let (empty, blank) = (json!({}), json!({"reason": "x".repeat(1001)}));
        assert_eq!(cancel(&mill, nowhere, &blank).await, 400);
        assert_eq!(cancel(&mill, nowhere, &empty).await, 404);
        assert_eq!(cancel(&haul, &proven, &empty).await, 403);
        assert_eq!(cancel(&grain, &proven, &empty).await, 409);
        assert_eq!(cancel(&grain, &upcoming, &empty).await, 412);
    }
}
