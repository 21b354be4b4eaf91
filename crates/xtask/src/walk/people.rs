//! Who takes part in the walk, each with a token of an hour.

use std::time::Duration;

use crate::keys::DevKeys;
use crate::token::Identity;

/// Someone who calls the services.
pub struct Person {
    /// First name.
    pub name: &'static str,
    /// User id.
    pub id: &'static str,
    /// Organisation id.
    pub org: &'static str,
    /// Organisation name.
    pub org_name: &'static str,
    /// Bearer token; never printed.
    pub token: String,
}

/// Everyone.
pub struct People {
    /// Runs Hereford Haulage.
    pub haulier: Person,
    /// Drives where Hereford Haulage sends him; his own organisation has nothing to do with the loads.
    pub driver: Person,
    /// Buys grain for Border Grain Merchants.
    pub merchant: Person,
    /// Has nothing to do with any of it.
    pub stranger: Person,
    /// Sells cattle.
    pub farmer: Person,
    /// Looks for cattle.
    pub neighbour: Person,
}

impl People {
    /// Signs a token for each.
    pub fn new(keys: &DevKeys) -> Self {
        let person = |name, user, org, org_name| {
            let who =
                Identity { user, name: Some(name), org: Some(org), org_name: Some(org_name), roles: &[] };
            Person { name, id: user, org, org_name, token: who.token(keys, Duration::from_secs(3600)) }
        };
        Self {
            haulier: person("Ruth", "ruth", "hereford-haulage", "Hereford Haulage"),
            driver: person("Dai", "dai", "dai-evans", "Dai Evans Transport"),
            merchant: person("Owen", "owen", "border-grain", "Border Grain Merchants"),
            stranger: person("Silas", "silas", "somewhere-else", "Somewhere Else Ltd"),
            farmer: person("Carys", "carys", "penybont-farm", "Penybont Farm"),
            neighbour: person("Tom", "tom", "wye-valley-farm", "Wye Valley Farm"),
        }
    }
}
