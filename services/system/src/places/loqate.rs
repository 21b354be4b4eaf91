//! Addresses from a service that speaks the Loqate Capture API: Find and Retrieve.
//!
//! It finds nothing by coordinates, so the nearest place is the gazetteer's.

use std::future::ready;

use anyhow::{Context, bail};
use common::{Error, redacted_json_error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::embedded::{Embedded, region_iso};
use super::model::{Address, AddressQuery, AddressResult, Coordinates, GeocodedAddress, Kind};
use super::provider::{Addresses, ProviderFuture};
use super::upstream::{ADDRESSES, Reply, Upstream};

/// The name of the provider.
pub(super) const NAME: &str = "loqate";

/// The most matches it is asked for; those that are skipped are among them.
const MAX_RESULTS: usize = 1000;

/// See the module.
pub(super) struct Loqate {
    pub upstream: Upstream,
    pub embedded: Embedded,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Items {
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    id: String,
    r#type: String,
    text: String,
    #[serde(default)]
    description: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Retrieved {
    company: String,
    line1: String,
    line2: String,
    line3: String,
    city: String,
    province: String,
    province_name: String,
    postal_code: String,
    country_iso2: String,
    /// As asked for: latitude and longitude.
    field1: String,
    field2: String,
}

impl Addresses for Loqate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn search<'a>(&'a self, wanted: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>> {
        Box::pin(async move {
            let limit = (wanted.offset + wanted.limit).min(MAX_RESULTS).to_string();
            let query = [
                ("Text", wanted.text.as_str()),
                ("Container", wanted.within.as_deref().unwrap_or_default()),
                ("Countries", wanted.country.as_deref().unwrap_or_default()),
                ("Limit", &limit),
                // Or what is near to this server comes first.
                ("IsMiddleware", "true"),
            ];
            let path = "Capture/Interactive/Find/v1.1/json3.ws";
            let found: Option<Vec<Found>> = self.upstream.get(path, &query, |r| items(&r)).await?;
            let found = match found {
                None if wanted.within.is_some() => return Err(Error::NotFound),
                found => found.unwrap_or_default(),
            };
            let page = found.into_iter().skip(wanted.offset).take(wanted.limit);
            Ok(page.map(AddressResult::from).collect())
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress> {
        Box::pin(async move {
            let query = [("Id", id), ("Field1Format", "{Latitude}"), ("Field2Format", "{Longitude}")];
            let path = "Capture/Interactive/Retrieve/v1.2/json3.ws";
            let found: Option<Vec<Retrieved>> = self.upstream.get(path, &query, |r| items(&r)).await?;
            let found = found.and_then(|found| found.into_iter().next()).ok_or(Error::NotFound)?;
            self.spot(found).map_err(|cause| Error::Unavailable(cause, ADDRESSES))
        })
    }

    fn nearest(&self, at: Coordinates) -> ProviderFuture<'_, Address> {
        Box::pin(ready(Ok(self.embedded.nearest_place(at))))
    }

    fn health(&self) -> Option<bool> {
        Some(self.upstream.is_well())
    }
}

/// The items of an answer; nothing if it refuses what was asked for. Errors come as a success with one item: those
/// from 1000 on are about the request, such as an id that is not known, the others about the account.
fn items<T: DeserializeOwned>(reply: &Reply) -> anyhow::Result<Option<Vec<T>>> {
    let Items { items } = reply.success()?;
    if let Some(error) = items.first().and_then(|item| item.get("Error")) {
        let number = error.as_str().map_or_else(|| error.as_i64(), |text| text.parse().ok());
        return match number {
            Some(1000..) => Ok(None),
            // What it says of it may repeat what was asked.
            Some(number) => bail!("it answered error {number}"),
            None => bail!("it answered an error without number"),
        };
    }
    let items = items.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
    items.map(Some).map_err(|error| redacted_json_error(&error))
}

impl Loqate {
    fn spot(&self, found: Retrieved) -> anyhow::Result<GeocodedAddress> {
        let iso = found.country_iso2.to_uppercase();
        let country = gazetteer::country(&iso).context("the address is in no country")?;
        let region = if found.province_name.is_empty() { found.province } else { found.province_name };
        let address = Address {
            name: found.company,
            line1: found.line1,
            line2: found.line2,
            line3: found.line3,
            city: found.city,
            region_iso: region_iso(&iso, &region),
            region,
            postcode: found.postal_code,
            country_name: country.name.to_owned(),
            country_iso: iso,
        };
        let given = found.field1.parse().ok().zip(found.field2.parse().ok());
        let given = given.and_then(|(lat, lon)| Coordinates::new(lat, lon));
        let at = given.or_else(|| self.embedded.place_of(&address)).context("the address is nowhere")?;
        Ok(GeocodedAddress { address, at })
    }
}

impl From<Found> for AddressResult {
    fn from(found: Found) -> Self {
        let kind = if found.r#type == "Address" { Kind::Address } else { Kind::Container };
        Self { id: found.id, kind, text: found.text, description: found.description, source: NAME.to_owned() }
    }
}
