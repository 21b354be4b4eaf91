//! The listings that the examples of the OpenAPI document name, for the setting `server.demo_data`, and the samples of
//! events that test webhooks.

use common::{Error, Organisation};
use database::{Database, Id};
use serde_json::{Value, json};
use webhooks::EventDetails;

use super::category_forms::{CategoryForm, CattleForm};
use super::events::Actor;
use super::members::changes;
use super::model::{Listing, NewListing, Status};
use super::store;
use crate::breeds::Breeds;
use crate::categories::Categories;
use crate::examples::{DRAFT, FOREIGN_LISTING, LISTING, LISTING_TO_CLOSE, SAVED_SEARCH};
use crate::webhook_events::{CLOSED, MATCHED, PUBLISHED, UPDATED};

/// The owner of the listings except [`FOREIGN_LISTING`]: user, organisation and its name.
const OWNER: [&str; 3] = ["carys", "penybont-farm", "Penybont Farm"];
const OTHER_OWNER: [&str; 3] = ["gethin", "cwm-isaf", "Cwm Isaf"];

/// Creates the listings that do not exist yet.
///
/// # Errors
/// Fails if the database is unavailable.
pub(crate) async fn create_demo_data(
    db: &Database,
    categories: &Categories,
    breeds: &Breeds,
) -> Result<(), Error> {
    let mut listings = Vec::new();
    for (id, [user, organisation, name], title, is_draft) in [
        (LISTING, OWNER, "12 Hereford store steers", false),
        (LISTING_TO_CLOSE, OWNER, "4 Hereford bulling heifers", false),
        (DRAFT, OWNER, "6 Hereford cows with calves", true),
        (FOREIGN_LISTING, OTHER_OWNER, "9 Welsh Black steers", false),
    ] {
        let new = new_listing(title, is_draft, categories, breeds)?;
        let owner = Organisation { id: organisation.into(), name: Some(name.into()) };
        let id = Id::parse(id)
            .ok_or_else(|| Error::Internal(anyhow::anyhow!("{id} is not the id of a listing")))?;
        let category = new.category;
        listings.push((Listing { id, ..new.into_listing(user, &owner, Vec::new()) }, category));
    }
    db.write(move |c| {
        for (listing, category) in &listings {
            if !store::exists(c, listing.id)? {
                let actor = Actor { user_name: Some(name_of(&listing.user_id)), ..Actor::creator(listing) };
                store::create(c, listing, *category, actor)?;
            }
        }
        Ok(())
    })
    .await
}

/// Returns `data` of a realistic event of each name.
///
/// # Errors
/// Fails if the catalogues lack the category or the breed of the embedded ones.
pub(crate) fn sample_events(
    categories: &Categories,
    breeds: &Breeds,
) -> Result<Vec<(&'static str, Value)>, Error> {
    let sample = |name| Ok((name, sample_event(name, categories, breeds)?));
    [PUBLISHED, UPDATED, CLOSED, MATCHED].into_iter().map(sample).collect()
}

fn sample_event(name: &str, categories: &Categories, breeds: &Breeds) -> Result<Value, Error> {
    let [user, organisation, organisation_name] = OWNER;
    let owner = Organisation { id: organisation.into(), name: Some(organisation_name.into()) };
    let new = new_listing("12 Hereford store steers", false, categories, breeds)?;
    let before = new.into_listing(user, &owner, Vec::new());
    let mut after = before.clone();
    match name {
        UPDATED => after.description.push_str(" Viewing welcome."),
        CLOSED => after.status = Status::Sold,
        _ => {}
    }
    if after != before {
        after.revise();
    }
    if name == MATCHED {
        let found =
            json!({ "savedSearchId": SAVED_SEARCH, "name": "Hereford cattle near Brecon", "userId": user });
        let mut data = found.clone();
        data["matches"] = json!([found]);
        data["listing"] = serde_json::to_value(&after)?;
        return Ok(data);
    }
    let changes = changes(&before, &after);
    let details = EventDetails {
        user_id: Some(user),
        organisation_id: Some(organisation),
        changes: (!changes.is_empty()).then(|| json!(changes)),
        ..EventDetails::default()
    };
    let mut data = serde_json::to_value(&details)?;
    data["listing"] = serde_json::to_value(&after)?;
    Ok(data)
}

fn new_listing(
    title: &str,
    is_draft: bool,
    categories: &Categories,
    breeds: &Breeds,
) -> Result<NewListing, Error> {
    let form: CattleForm = serde_json::from_value(body(title, is_draft))?;
    form.into_new_listing(categories, breeds)
}

/// Returns the name of a user.
fn name_of(user: &str) -> &'static str {
    if user == OWNER[0] { "Carys" } else { "Gethin" }
}

fn body(title: &str, is_draft: bool) -> Value {
    let breed = if title.contains("Hereford") { "Hereford" } else { "Welsh Black" };
    let quantity = title.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(1_u32);
    json!({
        "type": "selling", "isDraft": is_draft, "categoryIds": [],
        "location": {
            "address": { "city": "Brecon", "region": "Powys", "postcode": "LD3 7HR", "countryISO": "GB" },
            "coordinates": { "lat": 51.9469, "lon": -3.3915 },
        },
        "price": { "type": "fixed", "pricePerUnit": { "amount": 1250, "currency": "GBP" } },
        "files": null, "description": format!("{title}, farm assured."), "tags": ["farm assured"],
        "properties": { "title": title, "breed": breed, "breedType": "pure", "quantity": quantity },
    })
}
