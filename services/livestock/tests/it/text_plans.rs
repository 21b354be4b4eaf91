//! Query plans of searches for words in 100,000 listings: of rare and frequent words, alone and with other filters.

use livestock::Livestock;
use testkit::{App, Backend, User, wait_until};

use crate::sample::start;

/// Adds 100,000 listings with their events. Half are `quiet`, one in a thousand has `dispersal`, one in ten thousand
/// is a `zedonk`; half of the cattle have `b2-1`. Nothing rebuilds them: they look as if a later release had stored
/// them.
fn fill(app: &App, backend: Backend) {
    let (at, document, modulo) = match backend {
        Backend::Sqlite => ("1767225600000 + n * 10000", "'{\"id\":' || n || '}'", "char(10)"),
        Backend::Postgres => {
            ("timestamptz '2026-01-01' + n * interval '10 s'", "json_build_object('id', n)", "chr(10)")
        }
    };
    // 7,919 is prime: the groups are spread over time.
    app.database.execute(&format!(
        "INSERT INTO listings (id, organisation_id, kind, status, category, created_at, organisation_key, price,
            breed, types, sexes, additional_info, document, derived, search_text)
         SELECT {}, 'org-' || (n % 500), 'selling', 'active', 1 + n % 5, {at}, 'o',
            CASE WHEN n % 7 = 0 THEN NULL ELSE n * 7919 % 4000 * 10000 END,
            CASE WHEN n % 5 = 1 THEN 'b2-' || (n / 10 % 2) END, '', '', '', {document}, 1000,
            'org-' || (n % 500) || {modulo} || 'lot' || n || {modulo}
                || CASE WHEN n * 7919 % 2 = 0 THEN 'quiet ' ELSE 'lively ' END
                || CASE WHEN n * 7919 % 1000 = 1 THEN 'dispersal ' ELSE '' END
                || CASE WHEN n * 7919 % 10000 = 2 THEN 'zedonk ' ELSE '' END || 'sound to handle'
         FROM {};
         INSERT INTO listing_events (listing_id, user_id, to_status, at)
         SELECT id, 'u', status, created_at FROM listings ORDER BY created_at",
        backend.numbered_id(),
        backend.numbers(100_000)
    ));
    if backend == Backend::Postgres {
        app.database.execute("VACUUM ANALYZE listings");
    }
}

/// Waits until the index in memory has the listings. Requests meanwhile wait for at most some seconds.
async fn wait_for_index(app: &App, user: &User) {
    wait_until(async || app.get("/v1/listings?docs=false").by(user).send().await.status == 200).await;
}

const RARE: &str = "INTEGER PRIMARY KEY (rowid=?)";

/// Searches that read nothing: no listing has the word. `x` and `e` begin no word.
const NO_CANDIDATES: [&str; 3] = ["query=zz", "query=x", "query=e"];
/// Searches that read ten listings by their ids.
const TEN_CANDIDATES: [&str; 2] = ["query=do", "query=z"];

/// For each search the index that SQLite reads, and whether it sorts the matches.
const SEARCHES: [(&str, &str, bool); 21] = [
    ("query=zedonk", RARE, true),
    ("query=dispersal", RARE, true),
    ("query=quiet%20zedonk", RARE, true),
    ("query=dispersal%20lot1", RARE, true),
    ("query=zebra", RARE, true),
    ("query=zedonk&f:commodityType=cattle", RARE, true),
    ("query=zedonk&sortBy=price", RARE, true),
    ("query=zedonk&latitude=52&longitude=-3", RARE, true),
    // The words of the listings in memory tell which ones may match.
    (NO_CANDIDATES[0], "listings_status_created (status=?)", false),
    (NO_CANDIDATES[1], "listings_status_created (status=?)", false),
    (NO_CANDIDATES[2], "listings_status_created (status=?)", false),
    (TEN_CANDIDATES[0], "sqlite_autoindex_listings_1 (id=?)", true),
    (TEN_CANDIDATES[1], "sqlite_autoindex_listings_1 (id=?)", true),
    ("query=h", "listings_status_created (status=?)", false),
    ("query=qu", "listings_status_created (status=?)", false),
    ("query=quiet", "listings_status_created (status=?)", false),
    ("query=quiet%20sound", "listings_status_created (status=?)", false),
    (
        "query=quiet&f:commodityType=cattle",
        "listings_category_status_created (category=? AND status=?)",
        false,
    ),
    ("query=quiet&sortBy=price", "listings_status_price (status=? AND price>?)", false),
    ("query=quiet&f:commodityBreed=b2-1", "listings_breed (breed=? AND status=?)", false),
    (
        "query=quiet&f:organisationId=org-7",
        "listings_organisation_status_created (organisation_id=? AND status=?)",
        false,
    ),
];

/// Returns the statements of pages, without those of connections and events.
fn pages(app: &App) -> Vec<String> {
    app.take_statements()
        .into_iter()
        .filter(|sql| sql.starts_with("SELECT") && sql.contains("sort_key"))
        .collect()
}

#[test]
fn sqlite_begins_with_rare_words_or_reads_in_order() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Sqlite).await, User::of("a"));
        fill(&app, Backend::Sqlite);
        wait_for_index(&app, &user).await;
        app.record_statements();
        for (query, index, sorts) in SEARCHES {
            app.get(&format!("/v1/listings?{query}")).by(&user).send().await.ok();
            let statements = pages(&app);
            let plan: String = statements.iter().map(|statement| app.query_plan(statement)).collect();
            assert!(plan.contains(index), "{query}\n{plan}\n{statements:#?}");
            assert_eq!(
                statements.iter().any(|sql| sql.contains("(1=0)")),
                NO_CANDIDATES.contains(&query),
                "{statements:#?}"
            );
            assert!(!plan.contains("SCAN listings\n"), "{query}\n{plan}");
            assert_eq!(plan.contains("TEMP B-TREE FOR ORDER BY"), sorts, "{query}\n{plan}");
        }
        let statement = "SELECT id FROM listings WHERE derived < 4 ORDER BY derived LIMIT 1";
        assert!(
            app.query_plan(statement).contains("listings_derived (derived<?)"),
            "{}",
            app.query_plan(statement)
        );
    });
}

/// PostgreSQL reads a small part of the listings, which take more than 4,000 pages, to answer any of them.
#[test]
fn postgres_reads_few_pages() {
    testkit::block_on(async {
        let (app, user) = (start(Backend::Postgres).await, User::of("a"));
        fill(&app, Backend::Postgres);
        wait_for_index(&app, &user).await;
        app.record_statements();
        for (query, ..) in SEARCHES {
            app.get(&format!("/v1/listings?{query}")).by(&user).send().await.ok();
            // Reads by id need no other index.
            let is_by_id = NO_CANDIDATES.contains(&query) || TEN_CANDIDATES.contains(&query);
            for statement in pages(&app).iter().filter(|_| !is_by_id) {
                let [_, plan] = app.executed_plans::<Livestock>(statement).await;
                assert!(!plan.text.contains("Seq Scan on listings"), "{query}\n{}", plan.text);
                assert!(plan.pages < 1_000, "{query} {}\n{}", plan.pages, plan.text);
            }
        }
    });
}
