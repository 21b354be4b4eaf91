//! PostgreSQL keeps one plan for all values of a frequent search. It reads no more than a plan for the values, whatever
//! they are, also where a few organisers and carriers have most loads, and before any statistics exist.

use super::*;

/// Adds 100,000 loads. The organisers and carriers have a Zipf distribution: `org-1` and `haul-1` have about a tenth.
const SKEWED_LOADS: &str = "SELECT setseed(0.5);
    INSERT INTO logistics.loads (id, organiser_id, carrier_id, status, delivery_at, created_at, reference_key,
        commodity_key, search_text, document, created_by)
    SELECT gen_random_uuid(), 'org-' || floor(exp(random() * ln(1000))),
        CASE WHEN random() < 0.9 THEN 'haul-' || floor(exp(random() * ln(200))) END, 'upcoming',
        timestamptz '2024-01-01' + random() * interval '1000 days', timestamptz '2026-01-01' + n * interval '10 s',
        'r' || chr(1) || 'r', 'wheat', 'wheat', json_build_object('id', n), 'org-1'
    FROM generate_series(1, 100000) AS n";
const DATES: &str = "&startDateISO=2025-01-01&endDateISO=2025-04-28&sortBy=deliveryDateISO";

#[test]
fn one_plan_suits_large_and_small_organisations() {
    testkit::block_on(async {
        let app = app(Backend::Postgres).await;
        app.database.execute(SKEWED_LOADS);
        for statistics in ["none", "exact"] {
            if statistics == "exact" {
                app.database.execute("VACUUM ANALYZE logistics.loads");
            }
            for (organiser, carrier) in
                [("org-1", "haul-1"), ("org-1", "haul-190"), ("org-900", "haul-1"), ("org-900", "none")]
            {
                for order in [DATES, "&sortBy=deliveryDateISO", "&sortBy=createdAt&sortDesc=true"] {
                    let query = format!("/v1/loads?f:organiserId={organiser}&f:carrierId={carrier}{order}");
                    check(&app, organiser, &query, &format!("{query}, statistics: {statistics}")).await;
                }
            }
        }
    });
}

async fn check(app: &App, organiser: &str, query: &str, case: &str) {
    let user = User::of(organiser);
    app.record_statements();
    let page = app.get(query).by(&user).send().await.ok();
    let statements = app.take_statements();
    let statement = statements.iter().find(|sql| sql.starts_with("SELECT document")).unwrap();
    let [for_all, for_these] = app.executed_plans::<Logistics>(statement).await;
    assert!(for_all.text.contains("loads_pair") && for_all.text.contains("$1"), "{case}\n{}", for_all.text);
    assert!(!for_all.text.contains("Sort Key"), "{case}\n{}", for_all.text);
    assert!(for_all.pages <= for_these.pages + 20, "{case}\n{for_all:#?}\n{for_these:#?}");
    assert!(for_all.pages < 100, "{case}\n{for_all:#?}");
    // A count is planned for its values, and so is the page beside it.
    let counted = app.get(&format!("{query}&count=true")).by(&user).send().await.ok();
    assert_eq!(page, counted, "{case}");
}

/// Without a key, a load and the deliveries of its event are one statement, which is a transaction by itself.
#[test]
fn a_load_is_created_in_one_round_trip() {
    testkit::block_on(async {
        let app = app(Backend::Postgres).await;
        create_load(&app).await;
        let counts = |app: &App| {
            let statements = app.take_statements();
            let count = |start: &str| statements.iter().filter(|sql| sql.starts_with(start)).count();
            [count("BEGIN"), count("COMMIT"), count("INSERT") + count("WITH stored AS (INSERT")]
        };
        app.record_statements();
        // Work in the background may run meanwhile, but not each time.
        let (mut plain, mut keyed) = (Vec::new(), Vec::new());
        for key in ["1", "2", "3"] {
            create_load(&app).await;
            plain.push(counts(&app));
            let call = app.post("/v1/loads/organiser").by(&User::of("grain")).header("Idempotency-Key", key);
            call.json(&organiser_form()).send().await.ok();
            keyed.push(counts(&app));
        }
        assert_eq!(plain.iter().min(), Some(&[0, 0, 1]), "{plain:?}");
        assert_eq!(keyed.iter().min(), Some(&[1, 1, 2]), "{keyed:?}");
    });
}

/// Similar references are found by an index, whatever the number of loads of the organisation.
#[test]
fn similar_references_are_found_by_an_index() {
    testkit::block_on(async {
        let app = app(Backend::Postgres).await;
        app.database.execute(SKEWED_LOADS);
        app.database.execute(
            "UPDATE logistics.loads SET similarity_key = 'r' || (document ->> 'id'),
                document = json_build_object('id', id, 'reference', 'R' || (document ->> 'id'), 'status', 'upcoming',
                    'deliveryDateISO', '2026-03-01T00:00:00.000Z', 'createdAtUTC', '2026-03-01T00:00:00.000Z',
                    'organiser', json_build_object('id', 'org-1', 'name', 'Org'), 'files', json_build_array(),
                    'tags', json_build_array(), 'commodity', json_build_object('id', 1, 'name', 'Feed Wheat'))",
        );
        app.record_statements();
        let row = |n: usize| format!("R-{n},2026-03-01,1,org-1,Org,,\n");
        let header =
            "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";
        let table = header.to_owned() + &(0..50).map(row).collect::<String>();
        let reply = batch::send(&app, &User::of("org-1"), batch::form(&[table.as_bytes()])).await;
        assert_eq!(reply.ok()["warnings"].as_array().unwrap().len(), 49, "the seed begins at 1");
        let statements = app.take_statements();
        let lookup = statements.iter().find(|sql| sql.contains("max(id::text)")).unwrap();
        for plan in app.executed_plans::<Logistics>(lookup).await {
            assert!(plan.text.contains("loads_similar") && plan.pages < 1_000, "{}", plan.text);
        }
    });
}

/// Whether a carrier reads a notification is found in an index, whatever the length of the history of its load.
#[test]
fn notifications_of_carriers_need_no_history() {
    testkit::block_on(async {
        let app = app(Backend::Postgres).await;
        let id = create_load(&app).await;
        app.database.execute(&format!(
            "INSERT INTO logistics.load_events (id, load_id, type, at, changes)
                SELECT gen_random_uuid(), CASE n % 200 WHEN 0 THEN '{id}' ELSE md5((n % 200)::text) END::uuid, 'updated',
                    now(), '{{\"tags\": {{}}}}' FROM generate_series(1, 20000) AS n;
            INSERT INTO logistics.notifications (id, load_id, event, recipient_id, status, attempts, created_at,
                    pending_since, body, organisation_id)
                SELECT gen_random_uuid(), '{id}', 'load.sent_to_driver', 'driver-' || n, 'delivered', 1, now(), now(),
                    '{{}}', 'grain' FROM generate_series(1, 500) AS n;
            ANALYZE logistics.load_events, logistics.notifications"
        ));
        app.record_statements();
        let listed = app.get("/v1/notifications?limit=100").by(&User::of("haul")).send().await.ok();
        assert_eq!(listed.as_array().unwrap().len(), 100);
        let statements = app.take_statements();
        let statement = statements.iter().find(|sql| sql.contains("-> 'carrierId'")).unwrap();
        for plan in app.executed_plans::<Logistics>(statement).await {
            assert!(plan.text.contains("load_events_carrier") && plan.pages < 3_000, "{plan:#?}");
        }
    });
}

/// From when on a carrier reads a load is found in an index, also where one load has all events.
#[test]
fn the_start_of_a_carrier_needs_no_history() {
    testkit::block_on(async {
        let app = app(Backend::Postgres).await;
        let id = create_load(&app).await;
        app.database.execute(&format!(
            "INSERT INTO logistics.load_events (id, load_id, type, at, changes)
                SELECT gen_random_uuid(), '{id}', 'updated', now(), '{{\"tags\": {{}}}}' FROM generate_series(1, 20000) AS n;
            ANALYZE logistics.load_events"
        ));
        let haul = User::of("haul");
        for (list, changes) in
            [("events?limit=1", 0), ("drivers", 0), ("notifications", 0), ("events?limit=1", 1)]
        {
            for _ in 0..changes {
                patch(&app, &User::of("grain"), &id, &json!({"carrierId": "fast"})).await.ok();
                patch(&app, &User::of("grain"), &id, &json!({"carrierId": "haul"})).await.ok();
            }
            app.record_statements();
            app.get(&format!("/v1/loads/{id}/{list}")).by(&haul).send().await.ok();
            let statements = app.take_statements();
            let of_carriers: Vec<_> =
                statements.iter().filter(|sql| sql.contains("-> 'carrierId'")).collect();
            assert_eq!(of_carriers.len(), 1, "{list}: {statements:#?}");
            for plan in app.executed_plans::<Logistics>(of_carriers[0]).await {
                assert!(plan.text.contains("load_events_") && plan.pages < 50, "{list}: {plan:#?}");
            }
        }
    });
}
