//! Hostile input: SQL in parameters, formulas in CSV; and errors that reveal no internals.

use serde_json::json;
use testkit::{Backend, User};

use crate::lifecycle::draft;
use crate::sample::{CATTLE, create, full, start, with};

testkit::on_both! {
    async fn parameters_resist_injection(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        for _ in 0..2 {
            create(&app, &farm, &full()).await;
        }
        // The draft of another organisation is the only hidden listing.
        let foreign = draft(&app, &other).await;
        testkit::assert_parameters_resist_injection(&app, &farm, &foreign).await;
        for (status, user, count) in [("active-selling", &farm, 2), ("draft", &other, 1)] {
            assert_eq!(crate::sample::search(&app, user, &format!("f:status={status}")).await.len(), count, "{status}");
        }
    }

    async fn control_characters_are_refused(backend) {
        testkit::assert_control_characters_are_refused(&start(backend).await).await;
    }

    async fn errors_hide_internals(backend) {
        let broken = match backend {
            Backend::Postgres => "DROP TABLE livestock.listings, livestock.webhooks, livestock.saved_searches CASCADE",
            Backend::Sqlite => "PRAGMA foreign_keys = OFF; DROP TABLE listings; DROP TABLE webhooks; DROP TABLE saved_searches",
        };
        testkit::assert_errors_hide_internals(&start(backend).await, broken).await;
    }

    async fn no_csv_cell_is_a_formula(backend) {
        let app = start(backend).await;
        for begin in ["=", "+", "-", "@", "\r"] {
            // Only descriptions accept line breaks.
            let text = |name: &str| json!(format!("{}1+{name}", if begin < " " { "=" } else { begin }));
            let user = User::of(text("org").as_str().unwrap()).with("orgName", text("name").as_str().unwrap());
            let listing = with(full(), "/description", json!(format!("{begin}=1+description")));
            let listing = with(listing, "/tags", json!([text("tag"), "b"]));
            let listing = with(listing, "/properties/breed", text("breed"));
            let listing = with(listing, "/location/address/city", text("city"));
            let listing = with(listing, "/location/address/region", text("region"));
            let listing = with(listing, "/location/address/postcode", text("postcode"));
            app.post(CATTLE).by(&user).json(&listing).send().await.ok();
            let csv = app.get("/v1/listings?format=CSV&limit=1").by(&user).send().await;
            let mut rows = ::csv::Reader::from_reader(&csv.bytes[..]);
            let row = rows.records().next().unwrap().unwrap();
            assert_eq!(row.iter().filter(|cell| cell.starts_with('\'')).count(), 8, "{row:?}");
            let formula = |cell: &str| cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
            assert!(!row.iter().any(formula), "{row:?}");
        }
    }
}
