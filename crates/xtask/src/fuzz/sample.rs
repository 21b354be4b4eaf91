//! Something of everything, so that what is asked for by an id can be there.

use std::borrow::Cow;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::client::Body;
use crate::multipart::Form;
use crate::service::Service;

/// A file, loads in every state and listings in two, all of this organisation.
pub fn fill([system, logistics, livestock]: &[Service; 3], org: &str, token: &str) -> Result<()> {
    let form = Form {
        fields: [("bucket", "files"), ("type", "misc"), ("name", "Ticket")]
            .map(|(k, v)| (k, v.to_owned()))
            .into(),
        file_name: "ticket.txt",
        media_type: "text/plain",
        content: Cow::Borrowed(b"29.4 t"),
    };
    let made = |service: &Service, path: &str, body: Value| -> Result<Value> {
        Ok(service.send("POST", path, token, &Body::Json(body))?.json["id"].take())
    };
    let file = system.send("POST", "/v1/files", token, &Body::Form(form))?;
    let files = json!([{"id": file.json["id"]}]);
    let carrier = json!({
        "carrierId": org, "carrierName": "Farm", "commodityId": 1, "reference": "A-1", "deliveryDateISO": "2026-03-01",
        "weight": 29.4, "tags": ["barley"], "files": files,
    });
    made(logistics, "/v1/loads/carrier", carrier)?;
    let organiser = json!({
        "organiserId": org, "organiserName": "Farm", "commodityId": 2, "reference": "A-2", "weight": null,
        "deliveryDateISO": "2026-03-02T09:30:00Z", "weightNet": null, "files": null, "tags": [],
    });
    let id = made(logistics, "/v1/loads/organiser", organiser)?;
    made(logistics, "/v1/loads/send-to-driver", json!({"loadId": id, "driverId": "dai"}))?;
    let proof = json!({
        "loadId": id, "weightNet": 29.1, "ticketNumber": "7", "vehicleRegistration": "VX21 ABC", "files": null,
    });
    made(logistics, "/v1/loads/proof-of-delivery", proof)?;
    for (draft, files) in [(false, files), (true, Value::Null)] {
        let listing = json!({
            "type": "selling", "isDraft": draft, "categoryIds": [], "description": "Store heifers", "tags": ["store"],
            "location": {"coordinates": {"lat": 51.9469, "lon": -3.3915}}, "files": files,
            "price": {"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "GBP"}},
            "properties": {"type": "store", "breedType": "cross", "sexes": "heifers", "quantity": 12},
        });
        made(livestock, "/v1/listings/cattle", listing)?.as_str().context("the listing has no id")?;
    }
    Ok(())
}
