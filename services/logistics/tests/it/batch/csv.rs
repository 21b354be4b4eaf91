//! CSV dialects and validation of cells and columns.

use super::*;

testkit::on_both! {
    async fn creates_a_load_per_row(backend) {
        let app = app(backend).await;
        let table = "\u{feff}ID;Reference ; deliverydateiso;commodityId;organiserId;organiserName;carrierId;carrierName;weight;\
            weightNet;weightUnit;vehicleRegistration;ticketNumber;pickupPostcode;dropoffPostcode;tags;files;status;\
            createdAtUTC;completedAtUTC;;\r\n\
            x;'=1+1;2026-03-01;1;grain;\"Border \"\"Grain\"\"; Ltd\";haul;Haulage;29.4;28;Tonne; vx21 abc; T-1 ;hr49ar;75008;\
            harvest; wheat ;;a;completed;yesterday;;;\r\n\
            \r\n;;;\r\n\
            ;BG-2;2026-03-01T10:30:00+01:00;2.0;grain;Border Grain\r\n";
        let table = table.replace("harvest; wheat ;", "\"harvest; wheat ;\"");
        let answer = send_file(&app, table).await.ok();
        assert_eq!((&answer["status"], &answer["count"]), (&json!("success"), &json!(2)));
        assert_eq!(answer["message"], "2 loads were created.");
        let mut created = loads(&app, &User::of("grain"), &answer).await;
        for load in &mut created {
            for member in ["id", "createdAtUTC", "revision", "updatedAtUTC", "batchId"] {
                assert!(load.as_object_mut().unwrap().remove(member).is_some(), "{member}");
            }
        }
        assert_eq!(created, [
            json!({
                "reference": "=1+1", "organiser": {"id": "grain", "name": "Border \"Grain\"; Ltd"},
                "carrier": {"id": "haul", "name": "Haulage"}, "commodity": {"id": 1, "name": "Feed Wheat"},
                "deliveryDateISO": "2026-03-01T00:00:00.000Z", "pickupPostcode": "HR4 9AR", "dropoffPostcode": "75008",
                "weight": {"name": "tonne", "conversion": 1000.0, "weight": 29.4},
                "weightNet": {"name": "tonne", "conversion": 1000.0, "weight": 28},
                "vehicleRegistration": "VX21 ABC", "ticketNumber": "T-1", "status": "upcoming", "files": [],
                "tags": ["harvest", "wheat"], "createdBy": {"organisationId": "grain"},
            }),
            json!({
                "reference": "BG-2", "organiser": {"id": "grain", "name": "Border Grain"},
                "commodity": {"id": 2, "name": "Milling Wheat"}, "deliveryDateISO": "2026-03-01T09:30:00.000Z",
                "status": "upcoming", "files": [], "tags": [], "createdBy": {"organisationId": "grain"},
            }),
        ]);
        assert_eq!(count_loads(&app).await, 2, "searches find them");
    }

    async fn accepts_every_delimiter_and_line_ending(backend) {
        let app = app(backend).await;
        for delimiter in [",", ";", "\t"] {
            for end in ["\n", "\r\n", "\r"] {
                let table = VALID_CSV.replace(',', delimiter).replace('\n', end);
                assert_eq!(send_file(&app, table).await.ok()["count"], 2, "{delimiter:?} {end:?}");
            }
        }
        assert_eq!(count_loads(&app).await, 18);
    }

    async fn accepts_the_template_as_header(backend) {
        let app = app(backend).await;
        let template = app.get("/v1/loads/batch/template").by(&User::individual("driver")).send().await;
        assert_eq!(template.status, 200);
        assert_eq!(template.header("content-type"), "text/csv; charset=utf-8");
        let columns = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,commodityName,\
            weight,weightNet,weightUnit,vehicleRegistration,ticketNumber,pickupPostcode,dropoffPostcode,tags\r\n";
        assert_eq!(template.text(), columns);
        assert_eq!(entries(&send_file(&app, template.text()).await), ["file length"]);
        let row = "A,2026-03-01,grain,Grain,,,1,,,,,,,,,\r\n";
        assert_eq!(send_file(&app, template.text() + row).await.ok()["count"], 1);
    }

    async fn reports_every_invalid_cell_with_its_line(backend) {
        let app = app(backend).await;
        let long = "x".repeat(101);
        let first = format!(
            "reference,deliveryDateISO,commodityId,commodityName,organiserId,organiserName,weight,weightNet,weightUnit,tags,\
             vehicleRegistration,files\n\
             BG-1,2026-03-01,1,,grain,Border Grain,,,,,,\n\
             \"two\nlines\",,999999,,,Border Grain,29400,-1,kg,a;{long};b\u{7},{long},\n\
             ,next Tuesday,one,,grain,,heavy,inf,,,,\"a\nb\"\n\
             {long},2026-03-01T10:30:00,1,Milling Wheat,grain,{long}{long},,,,,,,more,,\n",
        );
        let second = "reference;deliveryDateISO;commodityName;carrierId;carrierName\n\n\
            A;2026-03-01;Gold;haul;\nA;2026-03-01;;;Haulage\nA;2026-02-30;Feed Wheat;;\n";
        let reply = send(&app, &without_org_name("grain"), form(&[first.as_bytes(), second.as_bytes()])).await;
        let mut errors = entries(&reply);
        errors.sort();
        assert_eq!(errors, [
            "rows[1].commodityId unknown_reference 3 1.csv",
            "rows[1].deliveryDateISO required 3 1.csv",
            "rows[1].organiserId required 3 1.csv",
            "rows[1].reference format 3 1.csv",
            "rows[1].tags length 3 1.csv",
            "rows[1].vehicleRegistration length 3 1.csv",
            "rows[1].weight range 3 1.csv",
            "rows[1].weightNet range 3 1.csv",
            "rows[1].weightUnit enum 3 1.csv",
            "rows[2].commodityId type 5 1.csv",
            "rows[2].deliveryDateISO format 5 1.csv",
            "rows[2].files format 5 1.csv",
            "rows[2].organiserName required 5 1.csv",
            "rows[2].reference required 5 1.csv",
            "rows[2].weight type 5 1.csv",
            "rows[2].weightNet type 5 1.csv",
            "rows[3] length 7 1.csv",
            "rows[3].commodityName inconsistent 7 1.csv",
            "rows[3].deliveryDateISO format 7 1.csv",
            "rows[3].organiserName length 7 1.csv",
            "rows[3].reference length 7 1.csv",
            "rows[4].carrierName required 3 2.csv",
            "rows[4].commodityName unknown_reference 3 2.csv",
            "rows[5].carrierId required 4 2.csv",
            "rows[5].commodityId required 4 2.csv",
            "rows[6].deliveryDateISO format 5 2.csv",
        ]);
        assert_eq!(reply.json()["body"]["failedRows"], 6);
        assert!(reply.text().contains("kilograms"), "a weight in kilograms gets a hint");
        assert_eq!(count_loads(&app).await, 0);
        let single = send_file(&app, &first).await;
        assert!(entries(&single).contains(&"rows[1].tags length 3".to_owned()), "entries of a single file have no file name");
    }

    async fn reports_unknown_missing_and_duplicate_columns(backend) {
        let app = app(backend).await;
        let reply = send_file(&app, "Reference,REFERENCE, Kundennummer ,organiserId,tags\nA,B,C,D,E\n").await;
        assert_eq!(entries(&reply), [
            "REFERENCE inconsistent 1", "Kundennummer enum 1", "deliveryDateISO required 1", "commodityId required 1",
        ]);
        assert_eq!(reply.json()["validation"][1]["data"]["allowed"].as_array().unwrap().len(), 20);
        assert_eq!(reply.json()["body"]["failedRows"], 0, "rows are not validated");
        let table = "\nreference,deliveryDateISO,commodityId,carrierId,carrierName,else\n,2026-03-01,1,grain,Grain,x\n";
        assert_eq!(entries(&send_file(&app, table).await), ["else enum 2", "rows[0].reference required 3"]);
        let table = table.replace("else\n", "\n");
        assert_eq!(entries(&send_file(&app, table).await), ["rows[0].reference required 3", "rows[0] length 3"]);
        assert_eq!(entries(&send_file(&app, "\n\n").await).len(), 3);
        let two = form(&[b"reference\n", VALID_CSV.as_bytes(), b"reference\n"]);
        let errors = entries(&send(&app, &User::of("grain"), two).await);
        assert_eq!(errors.len(), 5);
        assert_eq!((&*errors[1], &*errors[4]), ("deliveryDateISO required 1 1.csv", "commodityId required 1 3.csv"));
        assert_eq!(errors[0], "file inconsistent 3.csv");
    }
}
