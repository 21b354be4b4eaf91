//! Commands about loads, except imports.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use reqwest::Response;
use serde_json::{Value, json};
use tempfile::TempPath;

use crate::args::{CreateArgs, ExportArgs, Format, ListArgs, ProveArgs, Role, WriteArgs};
use crate::client::{Client, Payload, Request, segment};
use crate::error::{Failure, of_file, plain, stdin};
use crate::output::{self, Column, Output, Progress, column, whole};
use crate::profile::Service;

const COLUMNS: [Column; 8] = [
    whole("ID", "/id"),
    whole("DELIVERY", "/deliveryDateISO"),
    column("REFERENCE", "/reference"),
    column("STATUS", "/status"),
    column("COMMODITY", "/commodity/name"),
    column("TONNES", "/weight/weight"),
    column("ORGANISER", "/organiser/name"),
    column("CARRIER", "/carrier/name"),
];

/// Adds words, order and further parameters to a request of a list.
pub fn listed(request: Request, list: &ListArgs) -> Request {
    let mut request = request
        .with("query", list.query.as_ref())
        .with("sortBy", list.sort.as_ref())
        .with("sortDesc", list.desc.then_some(true));
    request.query.extend(list.parameters.iter().cloned());
    request
}

/// Returns how many rows of a list are wanted.
pub fn limit(list: &ListArgs) -> usize {
    if list.all { usize::MAX } else { list.limit as usize }
}

/// Lists loads. `statuses` are those that are searched for.
pub async fn list(client: &Client, output: Output, list: &ListArgs, filters: Request) -> Result<(), Failure> {
    let rows = client.rows(&listed(filters, list), limit(list)).await?;
    output.rows(&rows, &COLUMNS)
}

/// Shows a load.
pub async fn show(client: &Client, output: Output, id: &str) -> Result<(), Failure> {
    let load = client.json(&Request::get(Service::Logistics, format!("/v1/loads/{}", segment(id)?))).await?;
    output.document(&load)
}

/// Creates a load.
pub async fn create(client: &Client, output: Output, args: &CreateArgs) -> Result<(), Failure> {
    let has_organiser = args.organiser_id.is_some() || args.organiser_name.is_some();
    if args.role == Role::Organiser && has_organiser {
        return Err(Failure::Usage("--organiser-id and --organiser-name need --as carrier.".to_owned()));
    }
    // First, so that nothing is read from standard input and lost if nobody is logged in.
    let organisation = client.claim("org").await?;
    let mut load = match &args.from {
        Some(path) => read_json(path)?,
        None => json!({}),
    };
    if !load.is_object() {
        return Err(Failure::Usage("--from needs a JSON object".to_owned()));
    }
    let mut set = |member: &str, value: Value| {
        if !value.is_null() {
            load[member] = value;
        }
    };
    set("reference", json!(args.reference));
    set("deliveryDateISO", json!(args.date));
    set("weight", json!(args.weight));
    set("pickupPostcode", json!(args.pickup));
    set("dropoffPostcode", json!(args.dropoff));
    set("vehicleRegistration", json!(args.vehicle));
    set("ticketNumber", json!(args.ticket));
    if !args.tags.is_empty() {
        set("tags", json!(args.tags));
    }
    if !args.files.is_empty() {
        set("files", references(&args.files));
    }
    if let Some(commodity) = &args.commodity {
        set("commodityId", commodity_id(client, commodity).await?);
    }
    let own = match args.role {
        Role::Organiser => "organiserId",
        Role::Carrier => {
            set("organisationId", json!(args.organiser_id));
            set("organisationName", json!(args.organiser_name));
            "carrierId"
        }
    };
    set(own, json!(args.organisation_id));
    if load[own].is_null() {
        load[own] = json!(organisation);
    }
    // The service requires these members, also where they may be null.
    let required: &[(&str, Value)] =
        &[("weight", Value::Null), ("weightNet", Value::Null), ("files", Value::Null), ("tags", json!([]))];
    for (member, value) in required {
        if load.get(member).is_none() {
            load[member] = value.clone();
        }
    }
    let path = if args.role == Role::Carrier { "/v1/loads/carrier" } else { "/v1/loads/organiser" };
    let Some(load) = write(client, output, path, load, &args.write).await? else { return Ok(()) };
    output.action(
        &load,
        &format!("Created load {} ({}).", plain(&load["id"]), output::clean(&plain(&load["reference"]))),
    )
}

/// Proves the delivery of a load.
pub async fn prove(client: &Client, output: Output, args: &ProveArgs) -> Result<(), Failure> {
    let mut proof = json!({
        "weightNet": args.weight_net,
        "ticketNumber": args.ticket,
        "vehicleRegistration": args.vehicle,
        "files": if args.files.is_empty() { Value::Null } else { references(&args.files) },
    });
    let optional = [
        ("weightGross", json!(args.weight_gross)),
        ("weightTare", json!(args.weight_tare)),
        ("capturedAtUTC", json!(args.captured_at)),
    ];
    for (member, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
        proof[member] = value;
    }
    let path = format!("/v1/loads/{}/proof-of-delivery", segment(&args.id)?);
    let Some(load) = write(client, output, &path, proof, &args.write).await? else { return Ok(()) };
    let (id, reference) = (plain(&load["id"]), output::clean(&plain(&load["reference"])));
    output.action(&load, &format!("Load {id} ({reference}) is {}.", plain(&load["status"])))
}

/// Sends a JSON body, or prints the request of a dry run and returns `None`. If that fails, the body is printed, so
/// that nothing that was typed is lost.
async fn write(
    client: &Client,
    output: Output,
    path: &str,
    body: Value,
    args: &WriteArgs,
) -> Result<Option<Value>, Failure> {
    let key = args.idempotency_key.clone();
    let request = Request::post(Service::Logistics, path, Payload::Json(body), key);
    if args.dry_run {
        request.show(client.url(Service::Logistics)?, output)?;
        return Ok(None);
    }
    let result = client.json(&request).await;
    if let (Err(_), Payload::Json(body), false) = (&result, &request.payload, output.json) {
        output::note(&format!("Request body:\n{body:#}\n"));
    }
    result.map(Some)
}

fn references(ids: &[String]) -> Value {
    ids.iter().map(|id| json!({"id": id})).collect()
}

/// Returns the id of a commodity of the catalogue.
async fn commodity_id(client: &Client, commodity: &str) -> Result<Value, Failure> {
    if let Ok(id) = commodity.parse::<u32>() {
        return Ok(json!(id));
    }
    let catalogue = client.json(&Request::get(Service::Logistics, "/v1/commodities")).await?;
    let name = commodity.to_lowercase();
    let entries = catalogue.as_array().into_iter().flatten();
    let found = entries.clone().find(|entry| plain(&entry["name"]).to_lowercase() == name);
    found.map(|entry| entry["id"].clone()).ok_or_else(|| {
        let words: Vec<_> = name.split_whitespace().collect();
        let is_near = |entry: &String| words.iter().any(|word| entry.to_lowercase().contains(word));
        let near: Vec<_> = entries.map(|entry| plain(&entry["name"])).filter(is_near).collect();
        let hint =
            if near.is_empty() { String::new() } else { format!("; similar ones: {}", near.join(", ")) };
        Failure::Usage(format!("There is no commodity \"{commodity}\"{hint}."))
    })
}

fn read_json(path: &Path) -> Result<Value, Failure> {
    let is_stdin = path.as_os_str() == "-";
    let text = if is_stdin { stdin()? } else { std::fs::read(path).map_err(of_file(path, "read"))? };
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Usage(format!("{} is not JSON: {error}.", path.display())))
}

/// Downloads completed loads, or those that a search finds.
pub async fn export(client: &Client, args: &ExportArgs) -> Result<(), Failure> {
    let ending = args.output.as_ref().and_then(|path| path.extension()?.to_str());
    let format = args.format.unwrap_or(match ending.map(str::to_lowercase).as_deref() {
        Some("xlsx") => Format::Xlsx,
        Some("json") => Format::Json,
        _ => Format::Csv,
    });
    if args.all && format == Format::Json {
        return Err(Failure::Usage(
            "--all exports csv or xlsx. Use `drover loads list --all --json` for JSON.".to_owned(),
        ));
    }
    let path = if args.all { "/v1/loads" } else { "/v1/loads/completed" };
    let name = ["CSV", "XLSX", "JSON"][format as usize];
    let mut request = Request::get(Service::Logistics, path)
        .with("startDateISO", args.from.as_ref())
        .with("endDateISO", args.to.as_ref())
        .with("format", Some(name))
        .with("bom", args.bom.then_some(true));
    request.query.extend(args.parameters.iter().cloned());
    check_destination(args.output.as_ref(), format == Format::Xlsx)?;
    let response = client.send(&request).await?;
    save(response, args.output.as_deref(), "loads").await
}

/// Refuses to write bytes on a terminal.
pub fn check_destination(path: Option<&PathBuf>, is_binary: bool) -> Result<(), Failure> {
    if path.is_none() && is_binary && std::io::stdout().is_terminal() {
        return Err(Failure::Usage("The content is binary. Name a file with --output.".to_owned()));
    }
    Ok(())
}

/// Writes the body of a response to a file, or to standard output. The file appears when it is whole.
pub async fn save(response: Response, path: Option<&Path>, label: &str) -> Result<(), Failure> {
    let mut progress = Progress::new(label, response.content_length());
    let mut stream = response.bytes_stream();
    let mut file = match path {
        Some(path) => Some((path, open(path).map_err(of_file(path, "write"))?)),
        None => None,
    };
    while let Some(chunk) = stream.next().await {
        let chunk = chunk
            .map_err(|_| Failure::Unreachable("The connection broke during the download.".to_owned()))?;
        match &mut file {
            Some((path, (file, _))) => file.write_all(&chunk).map_err(of_file(path, "write"))?,
            None => output::bytes(&chunk)?,
        }
        progress.add(chunk.len());
    }
    drop(progress);
    match file {
        Some((path, (_, temporary))) => {
            if let Some(temporary) = temporary {
                temporary.persist(path).map_err(|error| of_file(path, "write")(error.error))?;
            }
            output::note(&format!("Written to {}.", path.display()));
            Ok(())
        }
        None => output::flush(),
    }
}

/// Opens a device or pipe, or creates a temporary file that will replace a regular file. The temporary file gets the
/// usual permissions, not those of a secret.
fn open(path: &Path) -> std::io::Result<(File, Option<TempPath>)> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok((File::options().write(true).open(path)?, None));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    let (file, temporary) = builder.tempfile_in(folder)?.into_parts();
    Ok((file, Some(temporary)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(Path::new("/dev/null")).unwrap().1.is_none());
        assert!(open(folder.path()).is_err());
        assert!(open(&folder.path().join("new.csv")).unwrap().1.is_some());
    }
}
