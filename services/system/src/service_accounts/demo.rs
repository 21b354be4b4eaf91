//! The service accounts that the examples of the OpenAPI document name, for the setting `server.demo_data`.

use common::{Error, Organisation, Role};
use database::{Database, Id};

use super::model::generate_secret;
use super::store::{self, NewAccount};
use crate::examples::{SERVICE_ACCOUNT, SERVICE_ACCOUNT_TO_DELETE};

/// Creates the accounts that do not exist yet. Nobody knows their secrets, which an example rotates.
///
/// # Errors
/// 503 if the database is unavailable.
pub(crate) async fn create_demo_data(db: &Database) -> Result<(), Error> {
    for (id, name) in [(SERVICE_ACCOUNT, "Weighbridge"), (SERVICE_ACCOUNT_TO_DELETE, "Old weighbridge")] {
        let id = Id::parse(id).ok_or_else(|| Error::Internal(anyhow::anyhow!("{id} is no id")))?;
        let organisation = Organisation { id: "penybont-farm".into(), name: Some("Penybont Farm".into()) };
        let new = NewAccount {
            id,
            organisation,
            name: name.into(),
            roles: vec![Role::Weighbridge],
            expires_at: None,
            secret: generate_secret()?,
        };
        let create = move |c: &mut _| {
            if !store::is_stored(c, id)? {
                store::create(c, &new)?;
            }
            Ok::<_, Error>(())
        };
        db.write(create).await?;
    }
    Ok(())
}
