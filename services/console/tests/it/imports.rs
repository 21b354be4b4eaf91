//! The import of sheets, and undoing one.

use rust_xlsxwriter::Workbook;

use super::browser::Reply;
use super::*;

const CHECK: &str = "/import/check";
const RUN: &str = "/import/run";
const HEADER: &str = "Our ref,Delivery date,Haulier,Commodity,Weight (t)\n";

fn sheet(rows: &[&str]) -> String {
    HEADER.to_owned() + &rows.join("\n") + "\n"
}

/// The organiser's browser, with a haulier in the address book, and a sheet.
struct Import {
    office: Office,
    browser: Browser,
    sheet: String,
}

impl Import {
    async fn of(rows: &[&str]) -> Self {
        let office = Office::start().await;
        office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        Self { office, browser, sheet: sheet(rows) }
    }

    /// Sends the sheet with the form of a page.
    async fn send(&self, page: &Reply, to: &str, changes: &[(&str, &str)]) -> Reply {
        let sheets = [("week33.csv", self.sheet.as_bytes())];
        self.browser.send_sheets(page, (CHECK, to), changes, &sheets).await
    }

    async fn check(&self) -> Reply {
        let page = self.browser.get("/import").await;
        self.send(&page, CHECK, &[]).await
    }

    async fn find(&self, query: &str) -> Vec<Value> {
        let found = self.office.logistics.get(&format!("/v1/loads?{query}")).by(&owen()).send().await.ok();
        found.as_array().unwrap().clone()
    }

    async fn batches(&self) -> Vec<Value> {
        let found = self.office.logistics.get("/v1/loads/batches").by(&owen()).send().await.ok();
        found.as_array().unwrap().clone()
    }
}

/// Asserts that a page contains all of these texts.
fn contains(reply: &Reply, texts: &[&str]) {
    for text in texts {
        assert!(reply.text.contains(text), "{text}: {}", reply.text);
    }
}

/// The value of the first button with this name whose text is this.
fn button(page: &Reply, name: &str, text: &str) -> String {
    let end = format!("\">{text}</button>");
    let (before, _) = page.text.split_once(&end).unwrap_or_else(|| panic!("{text}: {}", page.text));
    let (_, value) = before.rsplit_once(&format!("name=\"{name}\" value=\"")).unwrap();
    value.replace("&amp;", "&").replace("&quot;", "\"")
}

#[test]
fn a_sheet_is_checked_mended_and_imported() {
    testkit::block_on(async {
        let import = Import::of(&[
            "WK-1,13/8/2026,Hereford Haulage,Feed Weat,29",
            "WK-2,31/9/2026,Hereford Haulage,Feed Wheat,28.5",
            "WK-3,14/8/2026,Hereford Haulge,Feed Weat,27",
            "WK-4,14/8/2026,,Feed Wheat,26",
        ])
        .await;
        let page = import.check().await;
        assert_eq!(page.status, 200, "{}", page.text);
        contains(
            &page,
            &["Import week33.csv", "dates day first", "<small>New</small><b>1</b>", "To mend first"],
        );
        // The error stands in the cell, and a wrong name once for all its rows.
        contains(&page, &["value=\"31/9/2026\"", "In 2 rows, mended together", "Import the 1 good row"]);
        assert_eq!(import.batches().await.len(), 0, "nothing is stored by a check");
        let wheat = button(&page, "mend", "Feed Wheat");
        let page = import.send(&page, CHECK, &[("mend", &wheat)]).await;
        assert!(!page.text.contains("value=\"Feed Weat\""), "{}", page.text);
        let haulier = button(&page, "mend", "Hereford Haulage");
        let page = import.send(&page, CHECK, &[("mend", &haulier)]).await;
        contains(&page, &["<small>New</small><b>3</b>", "Import the 3 good rows"]);
        let mended = [("cell", "1 deliveryDateISO 31/9/2026"), ("value", "30/9/2026")];
        let page = import.send(&page, CHECK, &mended).await;
        contains(&page, &["<small>New</small><b>4</b>", "Import 4 rows", "-F 'file=@week33.csv'", "$TOKEN"]);
        let done = import.send(&page, RUN, &[]).await;
        contains(&done, &["Imported week33.csv", "4 loads were created", "Undo this import"]);
        // A second click sends the same key: one import.
        let again = import.send(&page, RUN, &[]).await;
        contains(&again, &["4 loads were created"]);
        assert_eq!(import.batches().await.len(), 1);
        let loads = import.find("query=WK&sortBy=reference").await;
        assert_eq!(loads.len(), 4);
        assert_eq!(loads[1]["deliveryDateISO"], "2026-09-30T00:00:00.000Z");
        assert_eq!(
            (&loads[2]["carrier"]["id"], &loads[2]["commodity"]["name"]),
            (&json!("hereford-haulage"), &json!("Feed Wheat"))
        );
        // The mended sheet again: everything is as it is.
        let mut import = import;
        import.sheet =
            import.sheet.replace("Weat", "Wheat").replace("Haulge", "Haulage").replace("31/9", "30/9");
        contains(
            &import.check().await,
            &["There is nothing to import", "<small>As they are</small><b>4</b>"],
        );
        // What differs is updated, and shown before.
        import.sheet = import.sheet.replace("28.5", "28");
        let page = import.check().await;
        contains(
            &page,
            &["<small>Changed</small><b>1</b>", "<del>28.50 t</del>", "<ins>28.00 t</ins>", "WK-2"],
        );
        import.send(&page, RUN, &[]).await.ok();
        assert_eq!(import.find("query=WK").await.len(), 4);
        contains(&import.browser.get("/import").await, &["Imports of the past", "week33.csv", "/undo"]);
    });
}

#[test]
fn good_rows_are_imported_and_the_others_are_in_a_sheet_with_their_problems() {
    testkit::block_on(async {
        let import = Import::of(&[
            "GD-1,2026-08-13,,Feed Wheat,29",
            "GD-2,2026-08-13,,Nonsense,29",
            "GD-3,soon,,Feed Wheat,007",
        ])
        .await;
        let page = import.check().await;
        contains(&page, &["Import the 1 good row", "Sheet with a column"]);
        for (format, start) in [("csv", "Problems,Our ref"), ("xlsx", "PK")] {
            let problems = import.send(&page, &format!("/import/problems.{format}"), &[]).await;
            assert!(problems.text.trim_start_matches('\u{feff}').starts_with(start), "{}", problems.text);
            assert!(problems.header("content-disposition").starts_with("attachment"));
            // Each row is in the line of the file, whether it has a problem or not, with its cells as they were.
            let lines = problems.text.lines().skip(1).zip(import.sheet.lines().skip(1));
            for (line, own) in lines.filter(|_| format == "csv") {
                assert!(line.ends_with(&format!(",{own}")), "{own}: {}", problems.text);
            }
        }
        let done = import.send(&page, "/import/run?rows=good", &[]).await;
        contains(&done, &["1 load was created", "value=\"Nonsense\"", "value=\"soon\"", "Undo this import"]);
        assert_eq!(import.find("query=GD").await.len(), 1);
        // The rest is mended on the same page: what is stored stays as it is.
        let mended = [
            ("cell", "1 commodityName Nonsense"),
            ("value", "Feed Wheat"),
            ("cell", "2 deliveryDateISO soon"),
            ("value", "later"),
        ];
        let page = import.send(&done, CHECK, &mended).await;
        contains(
            &page,
            &["value=\"later\"", "<small>As they are</small><b>1</b>", "<small>New</small><b>1</b>"],
        );
        let refused = import.send(&page, RUN, &[]).await;
        assert_eq!((refused.status, import.find("query=GD").await.len()), (400, 1), "{}", refused.text);
    });
}

#[test]
fn unknown_headings_are_assigned_with_samples() {
    testkit::block_on(async {
        let mut import = Import::of(&[]).await;
        let rows = ["wet", "dry", "damp", "late"].into_iter().zip(1..);
        let rows = rows.map(|(remark, n)| format!("HD-{n},2026-08-13,Feed Wheat,29,{remark}\n"));
        import.sheet = format!("Our ref,Day,Crop,Weight (t),Remark\n{}", rows.collect::<String>());
        let page = import.check().await;
        assert_eq!(page.status, 400);
        contains(&page, &["Headings", "to be assigned", ">wet · dry · damp<", "Missing: Delivery date"]);
        let assigned =
            [("heading", "deliveryDateISO Day"), ("heading", "commodityName Crop"), ("heading", "- Remark")];
        let page = import.send(&page, CHECK, &assigned).await;
        contains(&page, &["Import 4 rows", "value=\"commodityName Crop\" selected"]);
        import.send(&page, RUN, &[]).await.ok();
        assert_eq!(import.find("query=HD").await[0]["commodity"]["name"], "Feed Wheat");
    });
}

#[test]
fn the_order_of_dates_is_asked_about_if_no_date_decides() {
    testkit::block_on(async {
        let import =
            Import::of(&["DT-1,3/8/2026,,Feed Wheat,29", "DT-2,4/8/2026,,Feed Wheat,\"1,234\""]).await;
        let page = import.check().await;
        contains(
            &page,
            &["nothing tells day from month", "3/8/2026 is 3 August", "could be a thousand or a decimal"],
        );
        let decided = [("dateOrder", "dmy"), ("decimal", "comma")];
        let page = import.send(&page, CHECK, &decided).await;
        contains(&page, &["Import 2 rows", "value=\"dmy\" selected"]);
        import.send(&page, RUN, &[]).await.ok();
        let loads = import.find("query=DT&sortBy=reference").await;
        assert_eq!(loads[0]["deliveryDateISO"], "2026-08-03T00:00:00.000Z");
        assert_eq!(loads[1]["weight"]["weight"], 1.234);
    });
}

#[test]
fn a_known_reference_with_another_date_is_asked_about() {
    testkit::block_on(async {
        let import = Import::of(&[
            "MV-1,2026-08-13,,Feed Wheat,29",
            "MV-2,2026-08-13,,Feed Wheat,29",
            "MV-3,2026-08-13,,Feed Wheat,29",
        ])
        .await;
        let page = import.check().await;
        import.send(&page, RUN, &[]).await.ok();
        let mut import = import;
        import.sheet = import.sheet.replace("-13", "-20");
        let page = import.check().await;
        // Old and new stand side by side.
        contains(&page, &["Known references with another date", "Thu 13 Aug", "<b>2026-08-20</b>", "MV-2"]);
        let refused = import.send(&page, RUN, &[]).await;
        contains(&refused, &["Decide first"]);
        assert_eq!(import.find("query=MV").await.len(), 3, "nothing is stored before the decision");
        let decisions = page.text.split("<option value=\"").filter_map(|option| {
            let value = option.split('"').next()?;
            ["0 move ", "1 new ", "2 skip "]
                .iter()
                .any(|start| value.starts_with(start))
                .then_some(("same", value))
        });
        let decisions: Vec<_> = decisions.collect();
        assert_eq!(decisions.len(), 3, "{}", page.text);
        let page = import.send(&page, CHECK, &decisions).await;
        assert!(!page.text.contains("Known references"), "{}", page.text);
        contains(&page, &["<small>New</small><b>1</b>", "<small>Changed</small><b>1</b>", "<del>Thu 13 Aug"]);
        import.send(&page, RUN, &[]).await.ok();
        let loads = import.find("query=MV&sortBy=reference").await;
        let dates: Vec<_> = loads
            .iter()
            .map(|load| {
                (load["reference"].as_str().unwrap(), &load["deliveryDateISO"].as_str().unwrap()[8..10])
            })
            .collect();
        assert_eq!(dates.len(), 4, "{dates:?}");
        for expected in [("MV-1", "20"), ("MV-2", "13"), ("MV-2", "20"), ("MV-3", "13")] {
            assert!(dates.contains(&expected), "{expected:?}: {dates:?}");
        }
    });
}

#[test]
fn what_was_not_checked_is_not_imported() {
    testkit::block_on(async {
        let import = Import::of(&["CK-1,13/8/2026,,Feed Weat,29", "CK-2,14/8/2026,,Feed Wheat,28"]).await;
        let page = import.check().await;
        let wheat = button(&page, "mend", "Feed Wheat");
        let page = import.send(&page, CHECK, &[("mend", &wheat)]).await;
        contains(&page, &["Import 2 rows"]);
        let changed = import.send(&page, RUN, &[("ifExists", "create")]).await;
        contains(&changed, &["Nothing is imported yet", "Import 2 rows"]);
        // What was mended is about the rows of that file.
        let mut import = import;
        import.sheet = sheet(&["CK-0,13/8/2026,,Feed Barley,29", "CK-1,13/8/2026,,Feed Weat,29"]);
        let other = import.send(&changed, RUN, &[]).await;
        contains(
            &other,
            &["Nothing is imported yet", "what you mended and decided was dropped", "value=\"Feed Weat\""],
        );
        let pasted = [("pasted", "Our ref\tWeight\nCK-9\t1")];
        let start = import.browser.get("/import").await;
        let both = import.send(&start, CHECK, &pasted).await;
        assert_eq!(both.status, 400, "{}", both.text);
        contains(&both, &["not both", "CK-9\t1"]);
        assert_eq!(import.batches().await.len(), 0);
    });
}

#[test]
fn rows_are_pasted_and_forms_without_a_file_are_kept() {
    testkit::block_on(async {
        let import = Import::of(&[]).await;
        let page = import.browser.get("/import").await;
        contains(&page, &["Empty sheet to fill in", "Blank cells leave a load as it is"]);
        assert!(import.browser.get("/import/template.xlsx").await.text.starts_with("PK"));
        let nothing = import.browser.send_sheets(&page, (CHECK, CHECK), &[], &[("", b"")]).await;
        assert_eq!(nothing.status, 400);
        contains(&nothing, &["Choose a file, or paste rows"]);
        let (one, other) =
            (sheet(&["PA-2,2026-08-13,Feed Wheat,29"]), sheet(&["PA-3,2026-08-13,Feed Wheat,29"]));
        let sheets = [("one.csv", one.as_bytes()), ("other.csv", other.as_bytes())];
        let several = import.browser.send_sheets(&page, (CHECK, CHECK), &[], &sheets).await;
        contains(&several, &["choose one file at a time"]);
        let pasted = "Our ref\tDelivery date\tCommodity\tWeight (t)\nPA-1\t2026-08-13\tFeed Weat\t29";
        let page = import.browser.send_sheets(&page, (CHECK, CHECK), &[("pasted", pasted)], &[]).await;
        contains(&page, &["pasted rows", "PA-1\t2026-08-13"]);
        let wheat = button(&page, "mend", "Feed Wheat");
        let page = import.browser.send_sheets(&page, (CHECK, CHECK), &[("mend", &wheat)], &[]).await;
        contains(&page, &["Import 1 row"]);

        // Without a log-in, what was mended stays in the form, and nobody else can send it.
        let cookies = import.browser.cookies();
        import.browser.set_cookies("");
        let ended = import.browser.send_sheets(&page, (CHECK, RUN), &[], &[("a.csv", b"x")]).await;
        assert!(ended.status == 401 && ended.text.contains("Nothing is lost"), "{}", ended.text);
        import.browser.set_cookies(&import.office.browser("carys").await.cookies());
        let foreign = import.browser.send_sheets(&page, (CHECK, RUN), &[], &[("a.csv", b"x")]).await;
        assert_eq!(foreign.status, 403);
        assert_eq!(import.batches().await.len(), 0);
        import.browser.set_cookies(&cookies);
        let done = import.browser.send_form(&ended, RUN, &[]).await;
        contains(&done, &["1 load was created"]);
    });
}

#[test]
fn undoing_an_import_says_first_what_is_cancelled_and_what_stays() {
    testkit::block_on(async {
        let import = Import::of(&[
            "UN-1,2026-08-13,Hereford Haulage,Feed Wheat,29",
            "UN-2,2026-08-13,Hereford Haulage,Feed Wheat,29",
        ])
        .await;
        let page = import.check().await;
        import.send(&page, RUN, &[]).await.ok();
        let id = import.batches().await[0]["id"].as_str().unwrap().to_owned();
        let first = import.find("query=UN-1").await[0]["id"].as_str().unwrap().to_owned();
        let collection = import.office.logistics.post(&format!("/v1/loads/{first}/collection")).by(&ruth());
        collection.json(&json!({})).send().await.ok();
        let undo = format!("/import/batches/{id}/undo");
        let form = import.browser.get(&undo).await;
        contains(
            &form,
            &["1 load of it that is still upcoming", "1 load: collected", "week33.csv", "Cancel 1 load"],
        );
        assert_eq!(import.find("query=UN&f:status=cancelled").await.len(), 0);
        let done = import.browser.send_form(&form, &undo, &[("reason", "Wrong week")]).await;
        contains(&done, &["1 load cancelled", "1 load stayed as it is"]);
        assert_eq!(import.find("query=UN&f:status=cancelled").await.len(), 1);
        contains(&import.browser.get(&undo).await, &["no load of it is upcoming any more"]);
        assert_eq!(import.office.browser("silas").await.get(&undo).await.status, 404);
    });
}

#[test]
fn sheets_and_headings_of_a_workbook_are_named_and_chosen() {
    testkit::block_on(async {
        let import = Import::of(&["E-1,13/08/2026,<b>x</b>,\"\"\"><script>alert(1)</script>\",29"]).await;
        let mut import = import;
        import.sheet = format!("A title\n\n{}", import.sheet);
        let page = import.check().await;
        contains(&page, &["headings in line 3", "&lt;script&gt;"]);
        assert!(!page.text.contains("<script>alert") && !page.text.contains("<b>x</b>"), "{}", page.text);

        // The other filled sheet of a workbook is offered, and read once it is chosen.
        let mut workbook = Workbook::new();
        for (name, reference) in [("Week 33", "E-33"), ("Week 34", "E-34")] {
            let rows =
                [&["Reference", "Delivery date", "Commodity"], &[reference, "2026-08-13", "Feed Wheat"]];
            let sheet = workbook.add_worksheet().set_name(name).unwrap();
            sheet.write_row_matrix(0, 0, rows.map(|row| row.iter().copied())).unwrap();
        }
        let bytes = workbook.save_to_buffer().unwrap();
        let sheets = [("weeks.xlsx", &*bytes)];
        let page = import.browser.get("/import").await;
        let page = import.browser.send_sheets(&page, (CHECK, CHECK), &[], &sheets).await;
        contains(&page, &["value=\"Week 33\" selected", "value=\"Week 34\"", "Import 1 row"]);
        let chosen = [("sheet", "Week 34")];
        let page = import.browser.send_sheets(&page, (CHECK, CHECK), &chosen, &sheets).await;
        contains(&page, &["value=\"Week 34\" selected", "Import 1 row"]);
        import.browser.send_sheets(&page, (CHECK, RUN), &[], &sheets).await.ok();
        assert_eq!((import.find("query=E-33").await.len(), import.find("query=E-34").await.len()), (0, 1));
    });
}

#[test]
fn a_haulier_that_nobody_knows_is_a_new_one() {
    testkit::block_on(async {
        let import = Import::of(&["NW-1,2026-08-13,Teme Valley Tippers,Feed Wheat,29"]).await;
        let page = import.check().await;
        let (_, new) = page.text.split_once("It is a new one").unwrap_or_else(|| panic!("{}", page.text));
        let cell = new.split("name=\"cell\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let page = import.send(&page, CHECK, &[("cell", cell), ("value", "teme-valley")]).await;
        contains(&page, &["Import 1 row"]);
        import.send(&page, RUN, &[]).await.ok();
        let carrier = json!({"id": "teme-valley", "name": "Teme Valley Tippers"});
        assert_eq!(import.find("query=NW-1").await[0]["carrier"], carrier);
    });
}

#[test]
fn an_import_that_takes_long_is_found_again() {
    use wiremock::matchers::method;
    use wiremock::{Mock, MockServer, ResponseTemplate};
    testkit::block_on(async {
        let import = Import::of(&["WK-1,13/8/2026,Hereford Haulage,Feed Wheat,29"]).await;
        let page = import.check().await;
        import.send(&page, RUN, &[]).await.ok();
        let stored = import.batches().await[0]["id"].as_str().unwrap().to_owned();
        let later = (chrono::Utc::now().timestamp() + 600).to_string();
        let wait = format!("/import/wait?file=week33.csv&until={later}");
        contains(&import.browser.get(&wait).await, &["Imported week33.csv", "data-import-done"]);
        // An import of before is not the awaited one.
        let known = format!("&known={stored}");
        contains(&import.browser.get(&(wait + &known)).await, &["The import is running", "data-again"]);
        let late = format!("/import/wait?file=week33.csv&until=1{known}");
        contains(&import.browser.get(&late).await, &["The import has not arrived"]);

        // A second click, while the first is still running.
        let busy = MockServer::start().await;
        let running = json!({"code": "idempotency_in_progress", "message": "It is still running."});
        for (verb, answer) in [
            ("GET", ResponseTemplate::new(200).set_body_json(json!([]))),
            ("POST", ResponseTemplate::new(409).set_body_json(running)),
        ] {
            Mock::given(method(verb)).respond_with(answer).mount(&busy).await;
        }
        let keys = vec![base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [7; 32]).into()];
        let settings = Settings { session_keys: keys, ..development() };
        let start = async |logistics: &str| {
            RunningConsole::start(Settings { logistics_url: logistics.to_owned(), ..settings.clone() }).await
        };
        let (console, other) = (start(&import.office.logistics.url).await, start(&busy.uri()).await);
        let browser = Browser::new(&console.url);
        browser.post("/login/person", &[("person", "owen"), ("to", "/")]).await;
        let mut import = Import { browser, sheet: sheet(&["WK-2,13/8/2026,,Feed Wheat,29"]), ..import };
        let page = import.check().await;
        contains(&page, &["Import 1 row"]);
        let cookies = import.browser.cookies();
        import.browser = Browser::new(&other.url);
        import.browser.set_cookies(&cookies);
        let again = import.send(&page, RUN, &[]).await;
        contains(&again, &["The import is running", "data-again"]);
        assert!(again.status == 200 && !again.text.contains("role=\"alert\""), "{}", again.text);
    });
}
