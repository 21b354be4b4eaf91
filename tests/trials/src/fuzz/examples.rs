//! Example requests for operations that rarely succeed with generated values, and the stored objects that they need.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use stack::fixtures::{batch, carried_load, organised_load, sheep_listing, upload};
use stack::http::Body;
use stack::service::ServiceProcess;

/// Stores files, loads of each status and listings of an organisation, and a listing of another organisation. Returns
/// a successful request for each operation, by its id.
pub fn create(services: &[ServiceProcess], org: &str, token: &str, other_token: &str) -> Result<Value> {
    let [system, logistics, livestock] = services else { bail!("the stack has other services") };

    let upload = || post(system, "/v1/files", token, &Body::Form(upload("ticket", "29.4 t")));
    let (file, archived_file) = (upload()?, upload()?);
    let files = json!([{"id": file}]);

    let mut carried = carried_load(org, "A-1");
    carried["files"] = files.clone();
    post(logistics, "/v1/loads/carrier", token, &Body::Json(carried))?;
    let mut organised = organised_load(org, "A-2", &Value::Null);
    organised.as_object_mut().context("a load is an object")?.retain(|name, _| !name.starts_with("carrier"));
    let organised = Body::Json(organised);
    let create_load = || post(logistics, "/v1/loads/organiser", token, &organised);
    let [completed_load, load_to_prove, load_to_prove_by_path, open_load, load_to_edit, load_to_cancel] =
        [create_load()?, create_load()?, create_load()?, create_load()?, create_load()?, create_load()?];
    let send = Body::Json(json!({"loadId": completed_load, "driverId": "dai"}));
    let notification = post(logistics, "/v1/loads/send-to-driver", token, &send)?;
    let proof = |ticket: &str| {
        json!({
            "weightNet": 27.1, "ticketNumber": ticket, "vehicleRegistration": "VX21 ABC", "files": null,
        })
    };
    let proof_of = |load: &Value| {
        let mut proof = proof("7");
        proof["loadId"] = load.clone();
        proof
    };
    let proof_of_delivery = Body::Json(proof_of(&completed_load));
    logistics.send("POST", "/v1/loads/proof-of-delivery", token, &proof_of_delivery)?;

    let create_listing = |token, is_draft: bool, files| {
        let mut listing = sheep_listing("store", files);
        listing["isDraft"] = json!(is_draft);
        listing["location"] = json!({"coordinates": {"lat": 51.9469, "lon": -3.3915}});
        listing["price"] = json!({"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "GBP"}});
        post(livestock, "/v1/listings/sheep", token, &Body::Json(listing))
    };
    create_listing(token, true, &Value::Null)?;
    create_listing(token, false, &files)?;
    let other_listing = create_listing(other_token, false, &Value::Null)?;

    let search =
        Body::Json(json!({"name": "stores", "parameters": {"f:commodityType": "store"}, "notify": true}));
    let save = || post(livestock, "/v1/saved-searches", token, &search);
    let (saved, saved_to_delete) = (save()?, save()?);

    let addresses = system.get("/v1/addresses?query=hereford&limit=2", token)?.json;
    let address = addresses["id"].as_str().context("the search found no address")?;
    let location = system.get(&format!("/v1/locations/address?id={address}"), token)?.json;
    let words = &location["threeWords"];

    let batch = batch(org, "A-3", 1);
    let csv = String::from_utf8_lossy(&batch.content);
    Ok(json!({
        "accept_load": {"path_parameters": {"id": open_load}},
        "archive_file": {"path_parameters": {"id": archived_file}},
        "cancel_load": {
            "path_parameters": {"id": load_to_cancel}, "media_type": "application/json", "body": {"reason": "Rain"},
        },
        "correct_proof_of_delivery": {
            "path_parameters": {"id": completed_load}, "media_type": "application/json",
            "body": {"weightNet": 27.2, "reason": "The ticket was misread"},
        },
        "create_load_batch": {"body": {"file": [csv]}, "media_type": "multipart/form-data"},
        "delete_saved_search": {"path_parameters": {"id": saved_to_delete}},
        "find_file": {"path_parameters": {"id": file}},
        "find_location_by_address": {"query": {"id": address}},
        "find_location_by_address_public": {"query": {"id": address}},
        "find_location_by_words": {"query": {"query": words}},
        "find_location_by_words_public": {"query": {"query": words}},
        "find_saved_search": {"path_parameters": {"id": saved}},
        "list_listings_of_saved_search": {"path_parameters": {"id": saved}},
        "list_load_drivers": {"path_parameters": {"id": completed_load}},
        "list_load_events": {"path_parameters": {"id": completed_load}},
        "prove_delivery": {"body": proof_of(&load_to_prove), "media_type": "application/json"},
        "prove_delivery_of_load": {
            "path_parameters": {"id": load_to_prove_by_path}, "media_type": "application/json", "body": proof("8"),
        },
        "redeliver_notification": {"path_parameters": {"loadId": completed_load, "id": notification}},
        "report_listing": {
            "path_parameters": {"id": other_listing}, "media_type": "application/json",
            "body": {"reason": "other", "message": null},
        },
        "resolve_files": {
            "body": {"ids": [file], "shareWith": ["penhow"], "unshareWith": ["cwm-farm"]},
            "media_type": "application/json",
        },
        "revoke_load_driver": {"path_parameters": {"id": completed_load, "driverId": "dai"}},
        "search_addresses": {"query": {"query": "hereford"}},
        "search_addresses_public": {"query": {"query": "hereford"}},
        "send_load_to_carrier": {
            "body": {"loadId": open_load, "carrierId": "penhow"}, "media_type": "application/json",
        },
        "send_load_to_driver": {"body": {"loadId": open_load, "driverId": "dai"}, "media_type": "application/json"},
        "update_load": {
            "path_parameters": {"id": load_to_edit}, "media_type": "application/merge-patch+json",
            "body": {"reference": "A-4", "weight": 28.5},
        },
        "update_saved_search": {
            "path_parameters": {"id": saved}, "media_type": "application/merge-patch+json",
            "body": {"name": "store lambs", "parameters": {"maxAge": "12"}},
        },
    }))
}

/// Creates webhooks in services. Returns the successful requests for their operations by the name of the service.
pub fn create_webhooks(services: &[ServiceProcess], token: &str) -> Result<Value> {
    let mut examples = json!({});
    for service in services {
        let event = if service.name == "livestock" { "listing.closed" } else { "load.created" };
        let form = Body::Json(json!({"url": "https://hooks.invalid/", "events": [event]}));
        let webhook = post(service, "/v1/webhooks", token, &form)?;
        let to_delete = post(service, "/v1/webhooks", token, &form)?;
        let path = format!("/v1/webhooks/{}/test", webhook.as_str().unwrap_or_default());
        let delivery = post(service, &path, token, &Body::Empty)?;
        let by_id = json!({"path_parameters": {"id": webhook}});
        examples[service.name] = json!({
            "create_webhook": {
                "media_type": "application/json", "body": {"url": "https://hooks.invalid/a", "events": [event]},
            },
            "delete_webhook": {"path_parameters": {"id": to_delete}},
            "find_webhook": by_id,
            "list_webhook_deliveries": by_id,
            "redeliver_webhook_delivery": {"path_parameters": {"id": webhook, "deliveryId": delivery}},
            "rotate_webhook_secret": by_id,
            "test_webhook": by_id,
            "update_webhook": {
                "path_parameters": {"id": webhook}, "media_type": "application/merge-patch+json",
                "body": {"description": "office"},
            },
        });
    }
    Ok(examples)
}

/// Returns the requests for a service as JSON: `examples`, and those of its own.
pub fn of_service(service: &ServiceProcess, examples: &Value, own: &Value) -> String {
    let mut all = examples.clone();
    if let (Some(all), Some(own)) = (all.as_object_mut(), own[service.name].as_object()) {
        all.extend(own.clone());
    }
    all.to_string()
}

/// Creates an object and returns its id.
fn post(service: &ServiceProcess, path: &str, token: &str, body: &Body) -> Result<Value> {
    let id = service.send("POST", path, token, body)?.json["id"].take();
    ensure!(id.is_string(), "POST {path} returned no id");
    Ok(id)
}
