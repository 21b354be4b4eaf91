//! Rows that edit loads: `ifExists=update`, and rows that are matched by their reference.

use super::existing::{send_if, table};
use super::*;

fn numbers(answer: &Value) -> [u64; 3] {
    ["count", "updated", "unchanged"].map(|name| answer[name].as_u64().unwrap())
}

testkit::on_both! {
    async fn rows_edit_loads_as_patches_do(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let first = "reference,deliveryDateISO,commodityId,organiserId,organiserName,weight,ticketNumber,carrierId,carrierName\n\
            A,2026-03-01,1,grain,Grain,29,T-1,haul,Haulage\nB,2026-03-01,1,grain,Grain,30,,haul,Haulage\n";
        let ids = send_file(&app, first).await.ok()["ids"].clone();
        let id = |n: usize| ids[n].as_str().unwrap().to_owned();
        let edited = first.replace(",29,T-1,", ",28.5,,") + "C,2026-03-01,1,grain,Grain,31,,,\n";
        let dry = send_with(&app, &[("ifExists", "update"), ("dryRun", "true")], &edited).await.ok();
        assert_eq!(numbers(&dry), [1, 1, 1]);
        assert_eq!(dry["changes"], json!([{"row": 0, "loadId": id(0), "changes": {"weight": {"from": 29, "to": 28.5}}}]));
        let answer = send_if(&app, &grain, "update", &edited).await.ok();
        assert_eq!(numbers(&answer), [1, 1, 1]);
        assert_eq!(answer["message"], "1 load was created, 1 load updated, 1 row unchanged.");
        let load = app.get(&format!("/v1/loads/{}", id(0))).by(&grain).send().await.ok();
        assert_eq!((&load["weight"]["weight"], &load["ticketNumber"]), (&json!(28.5), &json!("T-1")), "blank cells change nothing");
        assert_eq!((revision(&app, &id(0)).await, revision(&app, &id(1)).await), (2, 1));
        let last = events(&app, &id(0)).await.pop().unwrap();
        assert_eq!((&last["type"], &last["changes"]), (&json!("updated"), &json!({"weight": {"from": 29, "to": 28.5}})));
        // Again: nothing changes, and the content may be sent again.
        assert_eq!(numbers(&send_if(&app, &grain, "update", &edited).await.ok()), [0, 0, 3]);
        // The carrier may change what it may patch.
        let by_carrier = format!("id,reference,deliveryDateISO,commodityId,vehicleRegistration\n{},,,,VX21 ABC\n{},,,,VX21 ABD\n", id(0), id(1));
        let answer = send_if(&app, &without_org_name("haul"), "update", &by_carrier).await.ok();
        assert_eq!(numbers(&answer), [0, 2, 0], "blank cells are no reference that occurs again");
        let forbidden = format!("id,reference,deliveryDateISO,commodityId,weight\n{},A,2026-03-01,1,5\n", id(0));
        let reply = send_if(&app, &without_org_name("haul"), "update", &forbidden).await;
        assert_eq!(entries(&reply), ["rows[0].id inconsistent 2"]);
        assert_eq!(reply.json()["validation"][0]["data"]["reason"], "forbidden");
        // A completed load: a row that equals it is unchanged, another one is refused, and then all rows are.
        prove(&app, &grain, &id(1), &proof_form()).await.ok();
        let mixed = edited.replace(",28.5,", ",27,").replace(",30,,", ",33,,");
        let reply = send_if(&app, &grain, "update", &mixed).await;
        assert_eq!(entries(&reply), ["rows[1].reference inconsistent 3"]);
        assert_eq!(reply.json()["validation"][0]["data"]["reason"], "load_completed");
        let with_cell = mixed.clone() + "D,2026-03-01,1,grain,Grain,heavy,,,\n";
        let all = ["rows[3].weight type 5", "rows[1].reference inconsistent 3"];
        assert_eq!(entries(&send_if(&app, &grain, "update", &with_cell).await), all, "with invalid cells");
        assert_eq!(revision(&app, &id(0)).await, 3, "all rows or none");
        let left = send_with(&app, &[("ifExists", "update"), ("invalidRows", "leaveOut")], &mixed).await.ok();
        assert_eq!((numbers(&left), &left["leftOut"]), ([0, 1, 1], &json!(1)));
        // The organiser cannot be edited, and a load occurs once.
        let organiser = format!("id,reference,deliveryDateISO,commodityId,organiserId,organiserName\n{0},A,2026-03-01,1,grain,Other\n{0},,,,,\n", id(0));
        let reply = send_if(&app, &grain, "update", &organiser).await;
        assert_eq!(entries(&reply), ["rows[0].organiserName inconsistent 2"]);
        let twice = format!("id,reference,deliveryDateISO,commodityId\n{0},A,2026-03-01,1\n{0},,,\n", id(0));
        assert_eq!(entries(&send_if(&app, &grain, "update", &twice).await), ["rows[1].reference inconsistent 3"]);
        // A row without a load needs all cells.
        let unknown = format!("id,reference,deliveryDateISO,commodityId,organiserId\n{},Z,,,grain\n", uuid());
        let reply = send_if(&app, &grain, "update", &unknown).await;
        assert_eq!(entries(&reply), ["rows[0].deliveryDateISO required 2", "rows[0].commodityId required 2"]);
    }

    async fn ids_tell_loads_of_one_reference_apart(backend) {
        let app = app(backend).await;
        let table = |rows: [(&str, &str); 2]| {
            let rows = rows.map(|(id, weight)| format!("{id},A,2026-03-01,1,grain,Grain,{weight}\n")).concat();
            format!("id,reference,deliveryDateISO,commodityId,organiserId,organiserName,weight\n{rows}")
        };
        let ids = send_file(&app, table([("", "29"), ("", "30")])).await.ok()["ids"].clone();
        let (first, second) = (ids[0].as_str().unwrap(), ids[1].as_str().unwrap());
        for (match_by, weights) in [("referenceAndDate", ["31", "32"]), ("reference", ["33", "34"])] {
            let fields = [("ifExists", "update"), ("matchBy", match_by)];
            let answer = send_with(&app, &fields, &table([(first, weights[0]), (second, weights[1])])).await.ok();
            assert_eq!(numbers(&answer), [0, 2, 0]);
        }
        let twice = table([(first, "35"), (first, "36")]);
        assert_eq!(entries(&send_with(&app, &[("ifExists", "update")], &twice).await), ["rows[1].reference inconsistent 3"]);
    }

    async fn an_organiser_without_an_id_keeps_its_name(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let row = |reference: &str, organiser: &str| {
            format!("reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId\n{reference},2026-03-01,1,{organiser},haul\n")
        };
        send_file_as(&app, &haul, &row("A", ",Somebody")).await.ok();
        // From now on, the address book has the name.
        send_file_as(&app, &haul, &row("B", "some,Somebody")).await.ok();
        let answer = send_if(&app, &haul, "update", &row("A", ",Somebody")).await.ok();
        assert_eq!(numbers(&answer), [0, 0, 1]);
        for (organiser, column) in [("some,Somebody", "organiserId"), (",Nobody", "organiserName")] {
            let reply = send_if(&app, &haul, "update", &row("A", organiser)).await;
            assert_eq!(entries(&reply), [format!("rows[0].{column} inconsistent 2")]);
        }
        assert_eq!(entries(&send_if(&app, &haul, "update", &row("B", ",Haulage")).await), ["rows[0].organiserName inconsistent 2"]);
    }

    async fn rows_are_matched_by_reference(backend) {
        let app = app(backend).await;
        send_file(&app, table(&[("", "A", "2026-03-01"), ("", "B", "2026-03-01"), ("", "B", "2026-03-02")])).await.ok();
        let moved = table(&[("", "a", "2026-04-01"), ("", "N", "2026-04-01")]);
        let update = [("ifExists", "update"), ("matchBy", "Reference")];
        let answer = send_with(&app, &update, &moved).await.ok();
        assert_eq!(numbers(&answer), [1, 1, 0]);
        let several = table(&[("", "B", "2026-04-01"), ("", "N", "2026-04-01"), ("", "n", "2026-04-02")]);
        for if_exists in ["update", "skip", "refuse"] {
            let reply = send_with(&app, &[("ifExists", if_exists), ("matchBy", "reference")], &several).await;
            assert!(entries(&reply).contains(&"rows[0].reference inconsistent 2".to_owned()), "{if_exists}");
            assert_eq!(reply.json()["validation"][0]["data"]["loadIds"].as_array().unwrap().len(), 2);
        }
        let reply = send_with(&app, &[("matchBy", "reference")], &table(&[("", "N", "2026-04-01"), ("", "n", "2026-04-02")])).await;
        assert_eq!(entries(&reply), ["rows[1].reference inconsistent 3"], "create compares rows only");
        let with_cell = table(&[("", "N", "2026-04-01"), ("", "n", "2026-04-02"), ("", "O", "soon")]);
        let reply = send_with(&app, &[("matchBy", "reference")], &with_cell).await;
        assert_eq!(entries(&reply), ["rows[2].deliveryDateISO format 4", "rows[1].reference inconsistent 3"]);
    }

    async fn dry_runs_name_loads_of_another_date(backend) {
        let app = app(backend).await;
        let ids = send_file(&app, table(&[("", "A", "2026-03-01"), ("", "A", "2026-03-02"), ("", "B", "2026-03-01")])).await.ok()["ids"].clone();
        let rows = table(&[("", "a", "2026-03-05"), ("", "B", "2026-03-01"), ("", "C", "2026-03-01")]);
        let dry = send_with(&app, &[("dryRun", "true")], &rows).await.ok();
        assert_eq!(dry["sameReference"], json!([{"row": 0, "loadId": ids[1], "deliveryDateISO": "2026-03-02T00:00:00.000Z"}]));
        let dry = send_with(&app, &[("dryRun", "true"), ("include", "rows")], &rows).await.ok();
        assert_eq!(dry["rows"], json!([]), "no row has an entry");
        let dry = send_with(&app, &[("dryRun", "true"), ("include", "sameReference")], &rows).await.ok();
        assert_eq!((dry["rows"].as_array().unwrap().len(), &dry["rows"][0]["row"]), (1, &json!(0)), "{dry}");
        assert_eq!(dry["rows"][0]["cells"]["deliveryDateISO"], "2026-03-05");
        let by_reference = send_with(&app, &[("dryRun", "true"), ("matchBy", "reference")], &rows).await.ok();
        assert_eq!(by_reference["sameReference"], dry["sameReference"]);
        let differs = rows.replace("B,2026-03-01,1", "B,2026-03-01,2");
        let answer = send_with(&app, &[("ifExists", "skip")], &differs).await.ok();
        assert_eq!((&answer["skipped"], &answer["differing"]), (&json!(1), &json!([1])));
        assert_eq!(send_with(&app, &[("ifExists", "skip")], &rows).await.ok()["differing"], json!([]));
    }

    async fn large_updates_are_all_or_none(backend) {
        let app = app(backend).await;
        let rows = |weight: &str, count: usize| {
            let row = |n: usize| format!("R-{n},2026-03-01,1,grain,Grain,{weight}\n");
            "reference,deliveryDateISO,commodityId,organiserId,organiserName,weight\n".to_owned() + &(0..count).map(row).collect::<String>()
        };
        send_file(&app, rows("29", 1_500)).await.ok();
        let grain = without_org_name("grain");
        let answer = send_if(&app, &grain, "update", &rows("30", 3_000)).await.ok();
        assert_eq!(numbers(&answer), [1_500, 1_500, 0]);
        let invalid = rows("31", 3_000) + "X,2026-03-01,1,other,Other,1\n";
        assert_eq!(send_if(&app, &grain, "update", &invalid).await.error(403), "forbidden");
        assert_eq!(numbers(&send_if(&app, &grain, "update", &rows("30", 3_000)).await.ok()), [0, 0, 3_000]);
        assert_eq!(count_loads(&app).await, 3_000);
    }
}

fn uuid() -> String {
    "0197e0e4-0000-7000-8000-000000000000".to_owned()
}
