//! Something of everything, so that what is asked for by an id can be there, and a request that succeeds for each
//! operation that chance seldom succeeds with.

use std::borrow::Cow;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::client::Body;
use crate::multipart::Form;
use crate::service::Service;

/// A file, loads in every state and listings in two, all of this organisation, and a listing of another (whose token
/// is the second). Answers with requests that succeed, by operation.
pub fn fill(
    [system, logistics, livestock]: &[Service; 3],
    org: &str,
    [token, other]: [&str; 2],
) -> Result<Value> {
    let form = || Form {
        fields: [("bucket", "files"), ("type", "misc"), ("name", "Ticket")]
            .map(|(k, v)| (k, v.to_owned()))
            .into(),
        file_name: "ticket.txt",
        media_type: "text/plain",
        content: Cow::Borrowed(b"29.4 t"),
    };
    let made_by = |token: &str, service: &Service, path: &str, body: Value| -> Result<Value> {
        let answer = service.send("POST", path, token, &Body::Json(body))?;
        Ok(Value::from(answer.json["id"].as_str().with_context(|| format!("{path} made nothing"))?))
    };
    let made = |service: &Service, path: &str, body| made_by(token, service, path, body);
    let file = system.send("POST", "/v1/files", token, &Body::Form(form()))?;
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
    let id = made(logistics, "/v1/loads/organiser", organiser.clone())?;
    let proven = made(logistics, "/v1/loads/organiser", organiser.clone())?;
    let ended = made(logistics, "/v1/loads/organiser", organiser.clone())?;
    let open = made(logistics, "/v1/loads/organiser", organiser)?;
    let sent = json!({"loadId": id, "driverId": "dai"});
    logistics.send("POST", "/v1/loads/send-to-driver", token, &Body::Json(sent))?;
    let mut proof = json!({
        "loadId": id, "weightNet": 29.1, "ticketNumber": "7", "vehicleRegistration": "VX21 ABC", "files": null,
    });
    logistics.send("POST", "/v1/loads/proof-of-delivery", token, &Body::Json(proof.clone()))?;
    let listing = |draft: bool, files: Value| {
        json!({
            "type": "selling", "isDraft": draft, "categoryIds": [], "description": "Store heifers", "tags": ["store"],
            "location": {"coordinates": {"lat": 51.9469, "lon": -3.3915}}, "files": files,
            "price": {"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "GBP"}},
            "properties": {"type": "store", "breedType": "cross", "sexes": "heifers", "quantity": 12},
        })
    };
    made(livestock, "/v1/listings/cattle", listing(true, Value::Null))?;
    made(livestock, "/v1/listings/cattle", listing(false, files.clone()))?;
    let foreign = made_by(other, livestock, "/v1/listings/cattle", listing(false, Value::Null))?;
    let found = system.get("/v1/addresses?query=hereford&limit=2", token)?.json;
    let place = found["id"].as_str().context("no place was found")?;
    let spot = system.get(&format!("/v1/locations/address?id={place}"), token)?.json;
    let of_load = format!("/v1/loads/{}/notifications", id.as_str().unwrap_or_default());
    let notice = logistics.get(&of_load, token)?.json[0]["id"].take();
    let archived = system.send("POST", "/v1/files", token, &Body::Form(form()))?.json["id"].take();
    proof["loadId"] = proven;
    let row = format!("A-3,2026-03-03,1,{org},Farm,29.4\n");
    let table = format!("reference,deliveryDateISO,commodityId,carrierId,carrierName,weight\n{row}");
    Ok(json!({
        "accept_load": {"path_parameters": {"id": open}},
        "archive_file": {"path_parameters": {"id": archived}},
        "create_load_batch": {"body": {"file": [table]}, "media_type": "multipart/form-data"},
        "find_file": {"path_parameters": {"id": file.json["id"]}},
        "find_location_by_address": {"query": {"id": place}},
        "find_location_by_address_public": {"query": {"id": place}},
        "find_location_by_words": {"query": {"query": spot["threeWords"]}},
        "find_location_by_words_public": {"query": {"query": spot["threeWords"]}},
        "prove_delivery": {"body": proof, "media_type": "application/json"},
        "prove_delivery_of_load": {
            "path_parameters": {"id": ended}, "media_type": "application/json",
            "body": {"weightNet": 29.1, "ticketNumber": "8", "vehicleRegistration": "VX21 ABC", "files": null},
        },
        "redeliver_notification": {"path_parameters": {"loadId": id, "id": notice}},
        "report_listing": {
            "path_parameters": {"id": foreign}, "media_type": "application/json",
            "body": {"reason": "other", "message": null},
        },
        "resolve_files": {
            "body": {"ids": [file.json["id"]], "shareWith": ["penhow"], "unshareWith": ["cwm-farm"]},
            "media_type": "application/json",
        },
        "search_addresses": {"query": {"query": "hereford"}},
        "search_addresses_public": {"query": {"query": "hereford"}},
        "send_load_to_carrier": {"body": {"loadId": open, "carrierId": "penhow"}, "media_type": "application/json"},
        "send_load_to_driver": {"body": {"loadId": open, "driverId": "dai"}, "media_type": "application/json"},
    }))
}
