//! Addresses from a service with the Loqate Capture API: Find and Retrieve.
//!
//! The API has no search by coordinates, so the gazetteer finds the nearest place.

use std::future::ready;

use anyhow::{Context, bail};
use common::{Error, redacted_json_error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::{ProviderClient, ProviderKind, ProviderResponse};
use super::embedded::{EmbeddedGazetteer, region_iso};
use super::{Geocoder, ProviderFuture};
use crate::places::model::{
    Address, AddressKind, AddressQuery, AddressResult, Coordinates, GeocodedAddress, NearestAddress,
};

/// The name of the provider.
const NAME: &str = "loqate";

/// Maximum number of requested matches, including those that are skipped.
const MAX_RESULTS: usize = 1000;

/// Errors from this number on are about the request, such as an unknown id. Lower numbers are about the account.
const FIRST_REQUEST_ERROR: i64 = 1000;

/// A Loqate service.
pub(super) struct Loqate {
    /// Calls the service.
    pub client: ProviderClient,
    /// Finds the nearest place, which the service cannot.
    pub gazetteer: EmbeddedGazetteer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ItemsResponse {
    items: Vec<Value>,
}

/// An item of Find.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FindItem {
    id: String,
    r#type: String,
    text: String,
    #[serde(default)]
    description: String,
}

/// An item of Retrieve.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RetrieveItem {
    company: String,
    line1: String,
    line2: String,
    line3: String,
    city: String,
    province: String,
    province_name: String,
    postal_code: String,
    country_iso2: String,
    /// Latitude in degrees, as `Field1Format` requests.
    field1: String,
    /// Longitude in degrees, as `Field2Format` requests.
    field2: String,
}

impl Geocoder for Loqate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn search<'a>(&'a self, query: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(async move {
            let limit = (query.offset + query.fetch()).min(MAX_RESULTS).to_string();
            let parameters = [
                ("Text", query.text.as_str()),
                ("Container", query.container_id.as_deref().unwrap_or_default()),
                ("Countries", query.country.as_deref().unwrap_or_default()),
                ("Limit", &limit),
                // Otherwise matches near this server come first.
                ("IsMiddleware", "true"),
            ];
            let path = "Capture/Interactive/Find/v1.1/json3.ws";
            let items: Option<Vec<FindItem>> =
                self.client.get(path, &parameters, |response| parse_items(&response)).await?;
            let items = match items {
                None if query.container_id.is_some() => return Err(Error::NotFound),
                items => items.unwrap_or_default(),
            };
            let page = items.into_iter().skip(query.offset).take(query.fetch());
            Ok(page.map(AddressResult::from).collect())
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(async move {
            let parameters = [("Id", id), ("Field1Format", "{Latitude}"), ("Field2Format", "{Longitude}")];
            let path = "Capture/Interactive/Retrieve/v1.2/json3.ws";
            let items: Option<Vec<RetrieveItem>> =
                self.client.get(path, &parameters, |response| parse_items(&response)).await?;
            let item = items.and_then(|items| items.into_iter().next()).ok_or(Error::NotFound)?;
            self.geocoded_address(item)
                .map_err(|cause| Error::Unavailable(cause, ProviderKind::Addresses.dependency()))
        })
    }

    fn nearest(&self, coordinates: Coordinates) -> ProviderFuture<'_, NearestAddress> {
        Box::pin(ready(Ok(self.gazetteer.nearest_place(coordinates))))
    }

    fn is_healthy(&self) -> Option<bool> {
        Some(self.client.is_healthy())
    }
}

/// Parses the items of a response. Returns `None` if the response is an error about the request. Errors are responses
/// with status 200 and one item, which describes the error.
fn parse_items<T: DeserializeOwned>(response: &ProviderResponse) -> anyhow::Result<Option<Vec<T>>> {
    let ItemsResponse { items } = response.success()?;
    if let Some(error) = items.first().and_then(|item| item.get("Error")) {
        let number = error.as_str().map_or_else(|| error.as_i64(), |text| text.parse().ok());
        return match number {
            Some(FIRST_REQUEST_ERROR..) => Ok(None),
            // The error's description is left out: it may repeat the request.
            Some(number) => bail!("the response is error {number}"),
            None => bail!("the response is an error without a number"),
        };
    }
    let items = items.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
    items.map(Some).map_err(|error| redacted_json_error(&error))
}

impl Loqate {
    fn geocoded_address(&self, item: RetrieveItem) -> anyhow::Result<GeocodedAddress> {
        let iso = item.country_iso2.to_uppercase();
        let country = gazetteer::country(&iso).context("the address has no known country")?;
        let region = if item.province_name.is_empty() { item.province } else { item.province_name };
        let address = Address {
            name: item.company,
            line1: item.line1,
            line2: item.line2,
            line3: item.line3,
            city: item.city,
            region_iso: region_iso(&iso, &region),
            region,
            postcode: item.postal_code,
            country_name: country.name.to_owned(),
            country_iso: iso,
        };
        let coordinates = item.field1.parse().ok().zip(item.field2.parse().ok());
        let coordinates = coordinates
            .and_then(|(lat, lon)| Coordinates::new(lat, lon))
            .or_else(|| self.gazetteer.locate(&address))
            .context("the address has no coordinates and no known postcode or city")?;
        Ok(GeocodedAddress { address, coordinates })
    }
}

impl From<FindItem> for AddressResult {
    fn from(item: FindItem) -> Self {
        let kind = if item.r#type == "Address" { AddressKind::Address } else { AddressKind::Container };
        Self { id: item.id, kind, text: item.text, description: item.description, source: NAME.to_owned() }
    }
}
