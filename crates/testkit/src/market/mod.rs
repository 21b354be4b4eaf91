//! The data of trials, bench and demo: single requests here, generated data sets in `listings` and `loads`, and in
//! `seed` the sample market with its people, which `up --demo` creates.

pub mod listings;
pub mod loads;
pub mod random;
pub mod seed;

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::processes::http::Form;

/// A load that an organisation organises, with files by `[{"id": …}]` or `null`.
pub fn organised_load(organiser: &str, reference: &str, files: &Value) -> Value {
    json!({
        "organiserId": organiser, "organiserName": "Grain", "carrierId": "haul", "carrierName": "Haulage",
        "commodityId": 1, "reference": reference, "deliveryDateISO": "2026-08-01", "weight": 28, "weightNet": null,
        "files": files, "tags": [],
    })
}

/// A load that an organisation carries.
pub fn carried_load(carrier: &str, reference: &str) -> Value {
    json!({
        "carrierId": carrier, "carrierName": "Haulage", "commodityId": 1, "reference": reference,
        "deliveryDateISO": "2026-03-01", "weight": 29.4, "tags": [],
    })
}

/// A published listing of sheep with one tag, with files by `[{"id": …}]` or `null`.
pub fn sheep_listing(tag: &str, files: &Value) -> Value {
    json!({
        "type": "selling", "isDraft": false, "categoryIds": [1], "location": null, "price": {"type": "poa"},
        "files": files, "description": "Sound.", "tags": [tag],
        "properties": {"breed": "Texel", "type": ["store"], "quantity": 3, "sexes": "ewes", "additionalInfo": []},
    })
}

/// The upload of a file with this name and content.
pub fn upload(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Form {
    Form {
        fields: vec![("bucket", "files".into()), ("type", "misc".into()), ("name", name.into())],
        file_name: "ticket.csv",
        media_type: "text/csv",
        content: content.into().into(),
    }
}

/// A batch of loads that an organisation carries: `<prefix>-0`, `<prefix>-1`, …
pub fn batch(carrier: &str, prefix: &str, count: usize) -> Form {
    let mut csv = "reference,deliveryDateISO,commodityId,carrierId,carrierName,weight\n".to_owned();
    for number in 0..count {
        let (day, weight) = (number % 28 + 1, number % 40);
        let _ = writeln!(csv, "{prefix}-{number},2026-03-{day:02},1,{carrier},Haulage,{weight}");
    }
    batch_csv(csv)
}

/// A batch of loads in a CSV file.
pub fn batch_csv(csv: impl Into<Vec<u8>>) -> Form {
    Form {
        fields: Vec::new(),
        file_name: "loads.csv",
        media_type: "text/csv",
        content: Cow::Owned(csv.into()),
    }
}
