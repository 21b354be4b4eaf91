//! The block list: `PUT` and `DELETE /v1/organisations/{id}/block`, and what a blocked organisation cannot do.

use super::*;

/// Blocks an organisation, or with `DELETE` ends the block.
async fn change(app: &App, user: &User, method: &str, id: &str) -> TestResponse {
    app.call(method, &format!("/v1/organisations/{id}/block")).by(user).send().await
}

/// Blocks `haul` as `grain`.
async fn block_haul(app: &App) {
    change(app, &User::of("grain"), "PUT", "haul").await.ok();
}

/// Returns the ids on a user's block list, the last one first.
async fn blocked(app: &App, user: &User) -> Vec<String> {
    let list = app.get("/v1/organisations?f:blocked=true&limit=100").by(user).send().await.ok();
    list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that a request is refused because of a block, without entries.
fn assert_blocked(reply: TestResponse) {
    assert_eq!(reply.json()["body"]["reason"], "blocked", "{}", reply.text());
    assert_eq!(reply.json()["validation"], json!([]));
    assert_eq!(reply.error(403), "forbidden");
}

/// Sends a batch of rows `reference,organiserId,carrierId` with form fields.
async fn send_rows(app: &App, user: &User, rows: &[&str], fields: &[(&str, &str)]) -> TestResponse {
    let row = |row: &&str| {
        let cells: Vec<_> = row.split(',').collect();
        let [reference, organiser, carrier] = cells[..] else { panic!("{row}") };
        format!("{reference},2026-03-01,1,{organiser},{organiser},{carrier},{carrier}\n")
    };
    let header = "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";
    let table = header.to_owned() + &rows.iter().map(row).collect::<String>();
    let mut form = batch::form(&[table.as_bytes()]).text("repeat", "true");
    for (name, value) in fields {
        form = form.text((*name).to_owned(), (*value).to_owned());
    }
    batch::send(app, user, form).await
}

testkit::on_both! {
    async fn an_organisation_keeps_a_list(backend) {
        let app = app(backend).await;
        let (grain, mut admin) = (User::of("grain"), User::admin());
        assert_eq!(blocked(&app, &grain).await, [""; 0]);
        let first = change(&app, &grain, "PUT", "haul").await.ok();
        assert_eq!(first, json!({"status": "success", "message": "The organisation is blocked."}));
        for id in ["%20haul%20", "haul", "Haul", "carter", "100%25", "a%2Fb"] {
            assert_eq!(change(&app, &grain, "PUT", id).await.status, 200, "{id}");
        }
        assert_eq!(blocked(&app, &grain).await, ["a/b", "100%", "carter", "Haul", "haul"]);
        assert_eq!(blocked(&app, &User::of("haul")).await, [""; 0], "a list is its organisation's own");

        let page = app.get("/v1/organisations?f:blocked=true&limit=2&count=true").by(&grain).send().await;
        assert_eq!(page.header("x-total-count"), "5");
        let next = page.header("link").split(['<', '>']).find(|part| part.contains("cursor=")).unwrap().to_owned();
        let next = app.get(&next[next.find("/v1/").unwrap()..]).by(&grain).send().await.ok();
        let row = next[1].as_object().unwrap();
        assert_eq!((next[0]["id"].as_str(), row["id"].as_str()), (Some("carter"), Some("Haul")));
        assert_eq!(row.keys().collect::<Vec<_>>(), ["blockedAtUTC", "id"]);
        let skipped = app.get("/v1/organisations?f:blocked=true&offset=4").by(&grain).send().await.ok();
        assert_eq!(skipped.as_array().unwrap().len(), 1);

        let ended = change(&app, &grain, "DELETE", "haul").await.ok();
        assert_eq!(ended, json!({"status": "success", "message": "The organisation is not blocked."}));
        assert_eq!(change(&app, &grain, "DELETE", "haul").await.status, 200, "what is no block");
        assert_eq!(change(&app, &grain, "DELETE", "grain").await.status, 200, "what is no block");
        assert_eq!(blocked(&app, &grain).await, ["a/b", "100%", "carter", "Haul"]);

        assert_eq!(change(&app, &grain, "PUT", "grain").await.errors(), ["id inconsistent"]);
        for method in ["PUT", "DELETE"] {
            assert_eq!(change(&app, &grain, method, &"x".repeat(201)).await.errors(), ["id length"]);
            assert_eq!(change(&app, &grain, method, "%20").await.errors(), ["id length"]);
            assert_eq!(change(&app, &grain, method, "a%E2%80%8Bb").await.errors(), ["id format"]);
            assert_eq!(change(&app, &grain, method, "a%00b").await.error(404), "not_found");
            for user in [&User::individual("dai"), &User::admin()] {
                assert_eq!(change(&app, user, method, "haul").await.error(403), "forbidden");
            }
        }
        let list = async |query: &str| app.get(&format!("/v1/organisations{query}")).by(&grain).send().await;
        assert_eq!(list("?f:blocked=false").await.errors(), ["f:blocked enum"]);
        assert_eq!(list("?f:blocked=true&f:status=x").await.errors(), ["f:status enum"]);
        admin.claims["org"] = json!("market");
        change(&app, &admin, "PUT", "haul").await.ok();
        assert_eq!(blocked(&app, &admin).await, ["haul"]);
    }

    async fn a_list_has_a_limit(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        change(&app, &grain, "PUT", "first").await.ok();
        let (id, now) = match backend {
            Backend::Sqlite => ("randomblob(16)", "0"),
            Backend::Postgres => ("gen_random_uuid()", "now()"),
        };
        app.database.execute(&format!(
            "INSERT INTO organisation_blocks (organisation_id, blocked_id, id, slot, blocked_at) \
             SELECT 'grain', 'o' || n, {id}, n + 1, {now} FROM {}",
            backend.numbers(998),
        ));
        let (a, b) = tokio::join!(change(&app, &grain, "PUT", "a"), change(&app, &grain, "PUT", "b"));
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "one more than the limit");
        let full = change(&app, &grain, "PUT", "c").await;
        assert_eq!(full.json()["body"]["reason"], "limit_reached");
        assert_eq!(full.error(409), "conflict");
        assert_eq!(change(&app, &grain, "PUT", "first").await.status, 200, "is blocked already");
        assert_eq!(change(&app, &User::of("haul"), "PUT", "c").await.status, 200);
        change(&app, &grain, "DELETE", "first").await.ok();
        assert_eq!(change(&app, &grain, "PUT", "c").await.status, 200);
    }

    async fn a_blocked_organisation_creates_no_loads_for_the_other(backend) {
        let app = app(backend).await;
        let (grain, haul, admin) = (User::of("grain"), without_org_name("haul"), User::admin());
        let load = create_load(&app).await;
        block_haul(&app).await;
        let create = async |user: &User, path: &str, form: &Value| {
            app.post(&format!("/v1/loads/{path}")).by(user).json(form).send().await
        };
        assert_blocked(create(&haul, "carrier", &carrier_form()).await);
        // An administrator creates in the name of the carrier.
        assert_blocked(create(&admin, "carrier", &carrier_form()).await);
        let keyed = app.post("/v1/loads/carrier").by(&haul).header("Idempotency-Key", "k").json(&carrier_form());
        assert_blocked(keyed.send().await);
        // Others, loads of its own and the other direction are not affected.
        let own = without(without(carrier_form(), "organisationId"), "organisationName");
        assert_eq!(create(&haul, "carrier", &own).await.status, 200);
        assert_eq!(create(&haul, "carrier", &with(carrier_form(), "organisationId", json!("other"))).await.status, 200);
        let other = with(carrier_form(), "carrierId", json!("other"));
        assert_eq!(create(&without_org_name("other"), "carrier", &other).await.status, 200);
        let named = with(with(carrier_form(), "organisationId", json!("haul")), "carrierId", json!("grain"));
        assert_eq!(create(&without_org_name("grain"), "carrier", &named).await.status, 200);
        // Loads that exist stay, for both.
        let path = format!("/v1/loads/{load}");
        for user in [&grain, &haul] {
            assert_eq!(app.get(&path).by(user).send().await.status, 200);
        }
        assert_eq!(patch(&app, &haul, &load, &json!({"reference": "HH-2"})).await.status, 200);
        accept(&app, &load).await;
        assert_eq!(prove(&app, &haul, &load, &proof_form()).await.status, 200);
        // The same key works once the block has ended.
        change(&app, &grain, "DELETE", "haul").await.ok();
        let keyed = app.post("/v1/loads/carrier").by(&haul).header("Idempotency-Key", "k").json(&carrier_form());
        assert_eq!(keyed.send().await.status, 200);
    }

    async fn a_blocked_organisation_makes_the_other_no_carrier(backend) {
        let app = app(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let create = async || {
            let form = with(organiser_form(), "organiserId", json!("haul"));
            let load = app.post("/v1/loads/organiser").by(&haul).json(&form).send().await.ok();
            load["id"].as_str().unwrap().to_owned()
        };
        let send = async |user: &User, load: &str, carrier: &str| {
            let form = json!({"loadId": load, "carrierId": carrier});
            app.post("/v1/loads/send-to-carrier").by(user).json(&form).send().await
        };
        let (free, carried) = (create().await, create().await);
        send(&haul, &carried, "grain").await.ok();
        block_haul(&app).await;
        let to_grain = json!({"carrierId": "grain", "carrierName": "Border Grain"});
        for user in [&haul, &admin] {
            assert_blocked(patch(&app, user, &free, &to_grain).await);
            assert_blocked(send(user, &free, "grain").await);
            // Sending again would notify the carrier.
            assert_blocked(send(user, &carried, "grain").await);
        }
        // Repeating an organisation that the load has already is not naming it.
        let same = json!({"carrierId": "grain", "ticketNumber": "T-9"});
        assert_eq!(patch(&app, &haul, &carried, &same).await.ok()["ticketNumber"], "T-9");
        assert_eq!(patch(&app, &haul, &free, &json!({"carrierId": "carter"})).await.status, 200);
        assert_eq!(send(&haul, &free, "carter").await.status, 200);
        assert_eq!(patch(&app, &haul, &free, &json!({"carrierId": null})).await.status, 200);
        let unknown = send(&haul, "018f0000-0000-7000-8000-000000000001", "grain").await;
        assert_eq!(unknown.errors(), ["loadId unknown_reference"]);
        // 400 precedes, 409 and 412 follow.
        let invalid = patch(&app, &haul, &free, &json!({"carrierId": "grain", "weight": -1})).await;
        assert_eq!(invalid.errors(), ["weight range"]);
        let stale = app.call("PATCH", &format!("/v1/loads/{free}")).by(&haul).header("If-Match", "\"99\"");
        assert_blocked(stale.json(&to_grain).send().await);
        assert_eq!(cancel(&app, &haul, &free).await.status, 200);
        assert_blocked(patch(&app, &haul, &free, &to_grain).await);
        assert_blocked(send(&haul, &free, "grain").await);
        assert_eq!(app.get(&format!("/v1/loads/{free}")).by(&haul).send().await.ok().get("carrier"), None);
        // The blocked organisation is still named by the other one.
        let own = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        send(&grain, own["id"].as_str().unwrap(), "haul").await.ok();
    }

    async fn batches_name_each_row_that_is_blocked(backend) {
        let app = app(backend).await;
        let (haul, admin) = (User::of("haul"), User::admin());
        send_rows(&app, &haul, &["KNOWN,grain,haul"], &[]).await.ok();
        block_haul(&app).await;
        change(&app, &User::of("farm"), "PUT", "haul").await.ok();
        let rows =
            ["OWN,haul,", "A,grain,haul", "B,other,haul", "KNOWN,grain,haul", "C,haul,farm", "D,haul,other"];
        let entry = |row: usize, column: &str| {
            json!({
                "path": format!("rows[{row}].{column}"), "code": "forbidden",
                "message": "has blocked the organisation that names it",
                "data": {"line": row + 2, "reason": "blocked"},
            })
        };
        let (skipped, first, last) = (entry(3, "organiserId"), entry(1, "organiserId"), entry(4, "carrierId"));
        let all = json!([first, skipped, last]);
        let new = json!([first, last]);
        for (user, fields, expected) in [
            (&haul, vec![], &all),
            (&haul, vec![("dryRun", "true")], &all),
            (&haul, vec![("ifExists", "skip")], &new),
            (&haul, vec![("ifExists", "skip"), ("dryRun", "true")], &new),
            // The caller's organisation is no party: the organiser acts.
            (&admin, vec![], &json!([last])),
        ] {
            let reply = send_rows(&app, user, &rows, &fields).await;
            assert_eq!(reply.status, 403, "{fields:?} {}", reply.text());
            let body = reply.json();
            assert_eq!((&body["code"], &body["body"]["reason"]), (&json!("forbidden"), &json!("blocked")));
            assert_eq!(&body["validation"], expected, "{fields:?}");
            assert_eq!(body["body"]["failedRows"], expected.as_array().unwrap().len());
        }
        // Errors come first: of cells, of rows that exist, and of rows of others.
        let invalid = send_rows(&app, &haul, &["A,grain,haul", ",haul,"], &[]).await;
        assert_eq!(invalid.errors(), ["rows[1].reference required"]);
        let refused = send_rows(&app, &haul, &["A,farm,haul", "KNOWN,haul,"], &[("ifExists", "refuse")]).await;
        assert_eq!(refused.errors(), ["rows[1].reference inconsistent"]);
        let foreign = send_rows(&app, &haul, &["A,grain,haul", "B,other,"], &[]).await;
        assert_eq!(foreign.json()["body"].get("reason"), None);
        // Nothing was stored, and what names no blocker is.
        let left = ["OWN,haul,", "B,other,haul", "KNOWN,grain,haul", "D,haul,other"];
        let stored = send_rows(&app, &haul, &left, &[("ifExists", "skip")]).await.ok();
        assert_eq!((&stored["count"], &stored["skipped"]), (&json!(3), &json!(1)));
        // An administrator who acts for the carrier.
        let mut own = User::admin();
        own.claims["org"] = json!("haul");
        let reply = send_rows(&app, &own, &["A,grain,haul", "E,grain,other"], &[]).await;
        assert_eq!(reply.json()["validation"], json!([entry(0, "organiserId")]));
        // The response names 1,000 rows and counts all.
        let rows: Vec<_> = (0..1_010).map(|n| format!("R{n},grain,haul")).collect();
        let many = send_rows(&app, &haul, &rows.iter().map(String::as_str).collect::<Vec<_>>(), &[]).await;
        assert_eq!(many.json()["validation"].as_array().unwrap().len(), 1_000);
        assert_eq!(many.json()["body"]["failedRows"], 1_010);
    }

    async fn one_query_finds_the_blocks(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        block_haul(&app).await;
        let names = |n: usize| format!("R{n},o{n},haul");
        let rows: Vec<_> = (0..200).map(names).collect();
        let rows: Vec<_> = rows.iter().map(String::as_str).collect();
        app.record_statements();
        let queries = || -> Vec<_> {
            let statements = app.take_statements().into_iter();
            statements.filter(|sql| sql.starts_with("SELECT") && sql.contains("organisation_blocks")).collect()
        };
        for case in ["create", "batch"] {
            let reply = match case {
                "create" => app.post("/v1/loads/carrier").by(&haul).json(&carrier_form()).send().await,
                _ => send_rows(&app, &haul, &rows, &[]).await,
            };
            assert_eq!(reply.status, if case == "create" { 403 } else { 200 }, "{}", reply.text());
            let found = queries();
            assert_eq!(found.len(), 1, "{case} {found:#?}");
            if backend == Backend::Sqlite {
                let plan = app.query_plan(&found[0]);
                let index = "SEARCH organisation_blocks USING PRIMARY KEY (organisation_id=? AND blocked_id=?)";
                assert!(plan.contains(index), "{case} {plan}");
            }
        }
        // A load of one's own names nobody.
        app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
        assert_eq!(queries(), [""; 0]);
    }
}
