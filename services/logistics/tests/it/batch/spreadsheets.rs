//! The options for what spreadsheet applications write: dates, decimals and encodings.

use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};

use super::*;

const HEADER: &str = "reference;deliveryDateISO;commodityName;organiserId;organiserName;weight;weightNet\n";

/// Returns `reference date weight organiser` of each load of a response.
async fn summaries(app: &App, reply: TestResponse) -> Vec<String> {
    let loads = loads(app, &User::of("grain"), &reply.ok()).await;
    let summary = |load: &Value| {
        let date = load["deliveryDateISO"].as_str().unwrap().trim_end_matches("T00:00:00.000Z").to_owned();
        let texts = [&load["reference"], &load["organiser"]["name"]].map(|text| text.as_str().unwrap());
        format!("{} {date} {} {}", texts[0], load["weight"]["weight"], texts[1])
    };
    loads.iter().map(summary).collect()
}

testkit::on_both! {
    async fn dates_have_the_order_of_the_form(backend) {
        let app = app(backend).await;
        let dates = ["13/02/2026", "1.3.2026", "01-03-2026", "2026-03-04", "2026-03-05T09:30:00Z"];
        let row = |date: &&str| format!("{date};{date};Feed Wheat;grain;Grain;1;\n");
        let table = HEADER.to_owned() + &dates.iter().map(row).collect::<String>();
        let found = summaries(&app, send_with(&app, &[("dateOrder", "dmy")], &table).await).await;
        assert_eq!(found, [
            "13/02/2026 2026-02-13 1 Grain", "1.3.2026 2026-03-01 1 Grain", "01-03-2026 2026-03-01 1 Grain",
            "2026-03-04 2026-03-04 1 Grain", "2026-03-05T09:30:00Z 2026-03-05T09:30:00.000Z 1 Grain",
        ]);
        let american = table.replace("13/02/2026;", "02/13/2026;");
        let found = summaries(&app, send_with(&app, &[("dateOrder", "MDY")], &american).await).await;
        assert_eq!(found[..2], ["02/13/2026 2026-02-13 1 Grain", "1.3.2026 2026-01-03 1 Grain"]);
        // Refused dates name the form of the order.
        for (order, date, hint) in [
            ("dmy", "31/02/2026", "such as 01/03/2026 (day, month, year) or 2026-03-01"),
            ("dmy", "1/3/26", "day, month, year"),
            ("mdy", "13/12/2026", "such as 03/01/2026 (month, day, year) or 2026-03-01"),
            ("iso", "13/12/2026", "a date such as 2026-03-01 or a date-time with offset"),
        ] {
            let reply = send_with(&app, &[("dateOrder", order)], HEADER.to_owned() + &row(&date)).await;
            assert!(reply.text().contains(hint), "{order} {date}: {}", reply.text());
            assert_eq!(entries(&reply), ["rows[0].deliveryDateISO format 2"], "{order} {date}");
        }
        assert_eq!(send_with(&app, &[("dateOrder", "ymd")], &table).await.errors()[0], "dateOrder enum");
    }

    async fn numbers_have_the_decimal_separator_of_the_form(backend) {
        let app = app(backend).await;
        let table = |weight: &str, net: &str| {
            format!("{HEADER}A;2026-03-01;Feed Wheat;grain;Grain;{weight};{net}\n")
        };
        let comma = [("decimal", "comma")];
        let found = summaries(&app, send_with(&app, &comma, table("29,4", "28")).await).await;
        assert_eq!(found, ["A 2026-03-01 29.4 Grain"]);
        let reply = send_with(&app, &comma, table("29.4", "1.000,5")).await;
        assert!(reply.text().contains("29,4"), "{}", reply.text());
        assert_eq!(entries(&reply), ["rows[0].weight format 2", "rows[0].weightNet format 2"]);
        let reply = send_with(&app, &comma, table("1,2,3", "heavy")).await;
        assert_eq!(entries(&reply), ["rows[0].weight type 2", "rows[0].weightNet type 2"]);
        let reply = send_with(&app, &[], table("29,4", "28,5")).await;
        assert_eq!(entries(&reply), ["rows[0].weight type 2", "rows[0].weightNet type 2"]);
        assert_eq!(send_with(&app, &[("decimal", "point")], table("29.4", "")).await.ok()["count"], 1);
        assert_eq!(send_with(&app, &[("decimal", ",")], table("1", "")).await.errors(), ["decimal enum"]);
    }

    async fn csv_has_the_encoding_of_the_form(backend) {
        let app = app(backend).await;
        let windows = |text: &str| -> Vec<u8> {
            text.chars().map(|c| if c == '€' { 0x80 } else { u8::try_from(u32::from(c)).unwrap() }).collect()
        };
        let table = format!("{HEADER}Ä-1;2026-03-01;Feed Wheat;grain;Börder & Söhne €;1;\n");
        let encoded = windows(&table);
        let reply = send_with(&app, &[], &encoded).await;
        assert!(reply.text().contains("encoding=windows-1252"), "{}", reply.text());
        assert_eq!(reply.error(400), "malformed_body");
        let expected = ["Ä-1 2026-03-01 1 Börder & Söhne €"];
        let reply = send_with(&app, &[("encoding", "Windows-1252")], &encoded).await;
        assert_eq!(summaries(&app, reply).await, expected);
        let marked = format!("\u{feff}{table}");
        let reply = send_with(&app, &[("encoding", "windows-1252")], &marked).await;
        assert_eq!(summaries(&app, reply).await, expected, "a byte order mark takes precedence");
        let reply = send_with(&app, &[("encoding", "utf-8"), ("repeat", "true")], &marked).await;
        assert_eq!(summaries(&app, reply).await, expected);
        assert_eq!(send_with(&app, &[("encoding", "latin1")], &table).await.errors(), ["encoding enum"]);
    }

    async fn typed_cells_of_workbooks_ignore_the_options(backend) {
        let app = app(backend).await;
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        for (column, name) in (0..).zip(HEADER.trim_end().split(';')) {
            sheet.write(0, column, name).unwrap();
        }
        let day = Format::new().set_num_format("dd/mm/yyyy");
        for row in 1..=2 {
            for (column, text) in [(2, "Feed Wheat"), (3, "grain"), (4, "Grain")] {
                sheet.write(row, column, text).unwrap();
            }
        }
        sheet.write(1, 0, 1001.5).unwrap();
        sheet.write_datetime_with_format(1, 1, ExcelDateTime::from_ymd(2026, 3, 12).unwrap(), &day).unwrap();
        sheet.write(1, 5, 29.4).unwrap();
        for (column, text) in [(0, "B"), (1, "12/03/2026"), (5, "29,4")] {
            sheet.write(2, column, text).unwrap();
        }
        let book = book.save_to_buffer().unwrap();
        let reply = send_with(&app, &[("decimal", "comma"), ("dateOrder", "dmy")], &book).await;
        assert_eq!(summaries(&app, reply).await, ["1001.5 2026-03-12 29.4 Grain", "B 2026-03-12 29.4 Grain"]);
    }

    async fn all_invalid_options_are_reported_with_the_rows(backend) {
        let app = app(backend).await;
        let fields = [("ifExists", "x"), ("dateOrder", "x"), ("decimal", "x"), ("encoding", "x"), ("repeat", "x")];
        let mut errors = send_with(&app, &fields, HEADER.to_owned() + ";2026-03-01;Feed Wheat;grain;Grain;1;\n").await.errors();
        errors.sort();
        assert_eq!(errors, [
            "dateOrder enum", "decimal enum", "encoding enum", "ifExists enum", "repeat type", "rows[0].reference required",
        ]);
        let blank = [("ifExists", ""), ("dateOrder", " "), ("decimal", ""), ("encoding", "")];
        let valid = HEADER.to_owned() + "A;2026-03-01;Feed Wheat;grain;Grain;1;\n";
        assert_eq!(send_with(&app, &blank, valid).await.ok()["count"], 1);
    }

    async fn unknown_commodities_get_near_names(backend) {
        let app = app(backend).await;
        let row = |name: &str| format!("A;2026-03-01;{name};grain;Grain;1;\n");
        let table = HEADER.to_owned() + &["feed whaet", "Wheat", "xyzzy"].map(row).concat();
        let reply = send_with(&app, &[], table).await;
        let suggestions = |n: usize| reply.json()["validation"][n]["data"]["suggestions"].clone();
        assert_eq!(suggestions(0)[0], "Feed Wheat");
        assert_eq!((suggestions(1)[0].clone(), suggestions(1).as_array().unwrap().len()), (json!("Feed Wheat"), 3));
        assert_eq!(suggestions(2), json!([]));
        assert_eq!(entries(&reply)[1], "rows[1].commodityName unknown_reference 3");
    }
}
