//! Commands about listings, files and places.

use std::path::PathBuf;

use serde_json::Value;

use crate::args::{FilesCommand, ListingsCommand, PlacesCommand, WriteArgs};
use crate::client::{Client, FormFile, Payload, Request, segment};
use crate::error::{Failure, plain};
use crate::loads::{check_destination, limit, listed, save};
use crate::output::{Column, Output, column, whole};
use crate::profile::Service;

const LISTINGS: [Column; 7] = [
    whole("ID", "/id"),
    column("TITLE", "/properties/title"),
    column("TYPE", "/type"),
    column("STATUS", "/status"),
    column("PRICE", "/price/shown"),
    column("SELLER", "/organisationName"),
    column("KM", "/distanceKm"),
];
const PLACES: [Column; 4] = [
    column("TEXT", "/text"),
    column("DESCRIPTION", "/description"),
    whole("TYPE", "/type"),
    whole("ID", "/id"),
];

/// Runs a command about listings.
pub async fn listings(client: &Client, output: Output, command: &ListingsCommand) -> Result<(), Failure> {
    let ListingsCommand::Search { list, commodity_type, breed, status, near, distance, public } = command;
    let path = if *public { "/v1/public/listings" } else { "/v1/listings" };
    let mut request = Request::get(Service::Livestock, path)
        .with("f:commodityType", commodity_type.as_ref())
        .with("f:status", status.as_ref())
        .with("near", near.as_ref())
        .with("distanceKm", *distance);
    for breed in breed {
        request = request.with("f:commodityBreed", Some(breed));
    }
    let mut rows = client.rows(&listed(request, list), limit(list)).await?;
    if !output.json {
        for row in &mut rows {
            row["price"]["shown"] = price(&row["price"]).into();
            if row["properties"]["title"].is_null() {
                row["properties"]["title"] = row["description"].clone();
            }
        }
    }
    output.rows(&rows, &LISTINGS)
}

/// Returns a price as one text.
fn price(price: &Value) -> String {
    let money = |member: &str| {
        let money = &price[member];
        money["amount"].is_number().then(|| format!("{} {}", money["amount"], plain(&money["currency"])))
    };
    let range = || Some(format!("{} to {}", money("minPrice")?, money("maxPrice")?));
    money("pricePerUnit").or_else(range).unwrap_or_else(|| plain(&price["type"]))
}

/// Runs a command about files.
pub async fn files(client: &Client, output: Output, command: &FilesCommand) -> Result<(), Failure> {
    match command {
        FilesCommand::Upload { files, file_type, bucket, name, share_with, write } => {
            let form = upload_form(files, file_type, bucket, name.as_ref(), share_with)?;
            upload(client, output, form, write).await
        }
        FilesCommand::Get { id, output: path, width } => {
            check_destination(path.as_ref(), true)?;
            let request =
                Request::get(Service::System, format!("/v1/files/{}", segment(id)?)).with("width", *width);
            save(client.send(&request).await?, path.as_deref(), id).await
        }
    }
}

fn upload_form(
    files: &[PathBuf],
    file_type: &str,
    bucket: &str,
    name: Option<&String>,
    share_with: &[String],
) -> Result<Payload, Failure> {
    let files = files.iter().map(|path| FormFile::new(path)).collect::<Result<Vec<_>, _>>()?;
    let name = name.or(files.first().map(|file| &file.name)).cloned().unwrap_or_default();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut fields = vec![field("bucket", bucket), field("type", file_type), field("name", &name)];
    if !share_with.is_empty() {
        fields.push(field("organisations", &share_with.join(",")));
    }
    Ok(Payload::Form(fields, files))
}

async fn upload(client: &Client, output: Output, form: Payload, write: &WriteArgs) -> Result<(), Failure> {
    let request = Request::post(Service::System, "/v1/files", form, write.idempotency_key.clone());
    if write.dry_run {
        return request.show(client.url(Service::System)?, output);
    }
    let result = client.json(&request).await?;
    let additional = result["additional"].as_array().into_iter().flatten();
    let ids: Vec<_> = std::iter::once(&result).chain(additional).map(|file| plain(&file["id"])).collect();
    output.action(&result, &ids.join("\n"))
}

/// Runs a command about places.
pub async fn places(client: &Client, output: Output, command: &PlacesCommand) -> Result<(), Failure> {
    let PlacesCommand::Find { query, country, limit } = command;
    // The public operation answers the same, and needs no token.
    let request = Request::get(Service::System, "/v1/public/addresses")
        .with("query", Some(query))
        .with("countryISO", country.as_ref())
        .with("limit", Some(limit));
    let found = client.json(&request).await?;
    output.rows(found["results"].as_array().map(Vec::as_slice).unwrap_or_default(), &PLACES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_price_is_one_text() {
        let money = |amount: u32| json!({"amount": amount, "currency": "GBP"});
        assert_eq!(price(&json!({"type": "fixed", "pricePerUnit": money(1250)})), "1250 GBP");
        assert_eq!(
            price(&json!({"type": "range", "minPrice": money(1), "maxPrice": money(2)})),
            "1 GBP to 2 GBP"
        );
        assert_eq!(price(&json!({"type": "poa"})), "poa");
    }
}
