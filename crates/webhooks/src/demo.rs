//! The webhooks that the examples of the OpenAPI document name, for the setting `server.demo_data`.

use common::Error;
use database::{Database, Id};
use serde_json::json;

use crate::delivery;
use crate::event::TEST_EVENT;
use crate::examples::{DELIVERY, WEBHOOK, WEBHOOK_TO_DELETE};
use crate::sending::generate_secret;
use crate::webhook::{self, NewWebhook, Scope};

/// Creates the webhooks that do not exist yet, with a failed delivery. They subscribe to this event.
pub(crate) async fn create_demo_data(db: &Database, event: &'static str) -> Result<(), Error> {
    let new = |id: &str, description: &str| {
        Ok::<_, Error>(NewWebhook {
            id: parse(id)?,
            organisation_id: "penybont-farm".into(),
            scope: Scope::Own,
            url: "https://hooks.example/drover".into(),
            events: vec![event.into()],
            description: Some(description.into()),
            secret: generate_secret().map_err(Error::Internal)?,
        })
    };
    let (kept, to_delete) = (new(WEBHOOK, "Office")?, new(WEBHOOK_TO_DELETE, "Former office")?);
    let delivery = parse(DELIVERY)?;
    let create = move |c: &mut _| {
        for new in [&kept, &to_delete] {
            if webhook::store::is_stored(c, new.id)? {
                continue;
            }
            match webhook::store::create(c, new) {
                Ok(_) if new.id == kept.id => {
                    let data = json!({ "webhookId": new.id });
                    delivery::store::create_test(c, new.id, delivery, (TEST_EVENT, &data))?;
                    delivery::store::fail_pending(c, &new.id.to_string())?;
                }
                // The organisation has as many webhooks as it can have.
                Ok(_) | Err(Error::Conflict(..)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    db.write(create).await
}

fn parse(id: &str) -> Result<Id, Error> {
    Id::parse(id).ok_or_else(|| Error::Internal(anyhow::anyhow!("the id of an example is no UUID")))
}
