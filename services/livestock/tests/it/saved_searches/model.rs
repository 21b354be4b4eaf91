//! Compares the matches of 200 random saved searches with what the searches find among 2,000 listings.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use super::{save, wait_until_matched};
use crate::model::farms;
use crate::model::naive::RandomSearch;
use crate::sample::start;

const SEARCHES: usize = 200;
/// Searches of a user.
const SEARCHES_PER_USER: usize = 50;

/// Returns random parameters: those of a random search that select listings. A wishlist may change after a match.
fn parameters(rng: &mut StdRng) -> Value {
    let query = RandomSearch::new(rng).query();
    let url = url::Url::parse(&format!("http://h/?{query}")).unwrap();
    let mut parameters = json!({});
    for (name, text) in url.query_pairs() {
        if !["sortBy", "sortDesc", "isWishlisted"].contains(&&*name) {
            let text = text.into_owned();
            parameters[&*name] = if rng.random_bool(0.5) { json!(text) } else { json!([text]) };
        }
    }
    parameters
}

/// Returns the ids of the active listings that a search finds.
async fn active(app: &App, user: &User, path: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for page in app.pages(user, &format!("{path}/listings?limit=100")).await {
        let page = page.entries();
        let active = page.iter().filter(|listing| listing["status"] == "active");
        ids.extend(active.map(|listing| listing["id"].as_str().unwrap().to_owned()));
    }
    ids
}

async fn compare(backend: Backend) {
    let app = start(backend).await;
    let mut rng = StdRng::seed_from_u64(20_261_126);
    let mut searches = Vec::new();
    for n in 0..SEARCHES {
        let user = User::of(farms::FARMS[n % 3]).with("sub", &format!("user {}", n / SEARCHES_PER_USER));
        let parameters = parameters(&mut rng);
        searches.push((save(&app, &user, parameters.clone(), true).await, user, parameters));
    }
    farms::fill(&app, &mut rng).await;
    wait_until_matched(&app, backend).await;
    let mut hits = 0;
    for (path, user, parameters) in &searches {
        let found = active(&app, user, path).await;
        hits += usize::from(!found.is_empty());
        let search = path.rsplit('/').next().unwrap().replace('-', "");
        let found_by_search = match backend {
            Backend::Sqlite => format!("instr(searches, X'{search}') > 0"),
            Backend::Postgres => format!("position('\\x{search}'::bytea IN searches) > 0"),
        };
        let matches = |condition: &str| {
            app.database.count(&format!("matched_listings WHERE {found_by_search} {condition}"))
        };
        let expected = i64::try_from(found.len()).unwrap();
        assert_eq!(matches(""), expected, "{parameters}");
        if !found.is_empty() {
            let ids: Vec<_> = found.iter().map(|id| backend.id(id)).collect();
            let among = format!("AND listing_id IN ({})", ids.join(", "));
            assert_eq!(matches(&among), expected, "{parameters}");
        }
    }
    assert!(hits > SEARCHES / 3, "most searches must find listings: {hits}");
}

testkit::on_both! {
    async fn matches_agree_with_the_search(backend) {
        compare(backend).await;
    }
}
