//! The saved searches that the examples of the OpenAPI document name, for the setting `server.demo_data`.

use common::Error;
use database::{Database, Id};
use serde_json::json;

use super::model::NewSavedSearch;
use super::parameters::Parameters;
use super::store;
use crate::examples::{SAVED_SEARCH, SAVED_SEARCH_TO_DELETE};

/// Creates the saved searches that do not exist yet.
///
/// # Errors
/// If the database fails.
pub(crate) async fn create_demo_data(db: &Database) -> Result<(), Error> {
    let new = |id: &str, name: &str, breed: &str| {
        let id = Id::parse(id);
        Ok::<_, Error>(NewSavedSearch {
            id: id.ok_or_else(|| Error::Internal(anyhow::anyhow!("the id of an example is no UUID")))?,
            user_id: "carys".into(),
            organisation_id: "penybont-farm".into(),
            name: name.into(),
            parameters: Parameters::from_iter([
                ("f:commodityBreed".to_owned(), json!([breed])),
                ("latitude".to_owned(), json!("51.9469")),
                ("longitude".to_owned(), json!("-3.3915")),
                ("distanceKm".to_owned(), json!("50")),
            ]),
            near: None,
            notify: true,
        })
    };
    let all = [
        new(SAVED_SEARCH, "Hereford cattle", "Hereford")?,
        new(SAVED_SEARCH_TO_DELETE, "Welsh Black cattle", "Welsh Black")?,
    ];
    let create = move |c: &mut _| {
        for new in &all {
            if store::is_stored(c, new.id)? {
                continue;
            }
            match store::create(c, new, i64::MAX) {
                // The user has saved as many searches as a user can save.
                Ok(_) | Err(Error::Conflict(..)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    db.write(create).await
}
