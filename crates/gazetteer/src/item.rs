//! What a search can find, and what is said of it.

use crate::country::{Country, Region, country_numbered, region_number, region_numbered};
use crate::district;
use crate::postcodes::{self, Unit};
use crate::resolved_address::city;
use crate::search::{Hit, Kind};
use crate::tables::{
    BY_ID, ENTITIES, IS_DISTRICT, IS_REGION, IS_TOWN, degrees_at, name_at, some, u16_at, u32_at,
};
use crate::tree;

/// Something with an id. Numbers are rows of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Place(u32),
    Region(u16),
    District(u16),
    Unit(Unit),
}

impl Item {
    /// Place, region or district of that rank.
    pub fn ranked(entity: u32) -> Self {
        let row = &ENTITIES[entity as usize];
        match u32_at(row, 12) {
            marks if marks & IS_REGION != 0 => Self::Region(u32_at(row, 0) as u16),
            marks if marks & IS_DISTRICT != 0 => Self::District(u32_at(row, 0) as u16),
            _ => Self::Place(entity),
        }
    }

    /// Of all ways to write an id only ours is one.
    pub fn parse(id: &str) -> Option<Self> {
        Self::parse_any(id).filter(|item| item.id() == id)
    }

    fn parse_any(id: &str) -> Option<Self> {
        match id.split_once(':')? {
            ("place", id) => {
                let id: u32 = id.parse().ok()?;
                let place = |row: &[u8; 4]| u32::from_le_bytes(*row);
                let geonames = |row: &[u8; 4]| u32_at(&ENTITIES[place(row) as usize], 0);
                Some(Self::Place(place(&BY_ID[BY_ID.binary_search_by_key(&id, geonames).ok()?])))
            }
            ("region", iso) => region_number(iso).map(Self::Region),
            ("district", code) => match code.strip_prefix("IE-") {
                Some(code) => district::irish(code),
                None => district::british(code),
            }
            .map(Self::District),
            ("postcode", code) => {
                let (outward, inward) = code.split_at_checked(code.len().checked_sub(3)?)?;
                postcodes::beginning(district::padded(outward)?, inward).next().map(Self::Unit)
            }
            _ => None,
        }
    }

    fn id(self) -> String {
        match self {
            Self::Place(number) => format!("place:{}", u32_at(&ENTITIES[number as usize], 0)),
            Self::Region(number) => format!("region:{}", region_numbered(number).iso()),
            // W12 is in London and in Newbridge.
            Self::District(number) if district::is_irish(number) => {
                format!("district:IE-{}", district::code(number))
            }
            Self::District(number) => format!("district:{}", district::code(number)),
            Self::Unit(unit) => format!("postcode:{}", unit.text().replace(' ', "")),
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Place(number) => place_name(number).to_owned(),
            Self::Region(number) => region_numbered(number).name().to_owned(),
            Self::District(number) => district::code(number).to_owned(),
            Self::Unit(unit) => unit.text(),
        }
    }

    /// From the nearest around it to the country: `Herefordshire, England, United Kingdom`.
    fn description(self) -> String {
        let region = self.region().map(region_numbered);
        let mut parts = match self {
            Self::District(number) => vec![district::place(number)],
            Self::Unit(unit) => {
                let (lat, lon) = unit.degrees();
                vec![city(tree::nearest(lat, lon), self.district())]
            }
            Self::Place(_) | Self::Region(_) => vec![],
        };
        parts.extend(region.map(Region::name));
        if let (Self::Place(_), "GB") = (self, self.country().iso) {
            parts.extend(region.and_then(Region::parent).map(|nation| region_numbered(nation).name()));
        }
        parts.push(self.country().name);
        parts.dedup();
        parts.join(", ")
    }

    pub fn hit(self) -> Hit {
        let kind = match self {
            Self::Place(_) => Kind::Place,
            Self::Region(_) | Self::District(_) => Kind::Container,
            Self::Unit(_) => Kind::Postcode,
        };
        Hit { id: self.id(), kind, text: self.text(), description: self.description() }
    }

    pub fn country(self) -> &'static Country {
        country_numbered(self.country_number())
    }

    pub fn country_number(self) -> u8 {
        match self {
            Self::Place(number) => ENTITIES[number as usize][20],
            Self::Region(number) => region_numbered(number).country_number(),
            Self::District(number) => district::country(number),
            Self::Unit(unit) => unit.region().map_or(0, |region| region_numbered(region).country_number()),
        }
    }

    /// Whether it is in the British Isles.
    pub fn is_home(self) -> bool {
        matches!(self.country().iso, "GB" | "IE" | "IM" | "GG" | "JE")
    }

    /// The region that it is in: of a region its parent.
    pub fn region(self) -> Option<u16> {
        match self {
            Self::Place(number) => some(u16_at(&ENTITIES[number as usize], 16)),
            Self::Region(number) => region_numbered(number).parent(),
            Self::District(number) => district::region(number),
            Self::Unit(unit) => unit.region(),
        }
    }

    /// The district that it is in.
    pub fn district(self) -> Option<u16> {
        match self {
            Self::Place(number) => some(u16_at(&ENTITIES[number as usize], 18)),
            Self::Unit(unit) => district::british_padded(unit.outward()),
            Self::Region(_) | Self::District(_) => None,
        }
    }

    pub fn degrees(self) -> (f64, f64) {
        match self {
            Self::Place(number) => degrees_at(&ENTITIES[number as usize], 4),
            Self::Region(number) => region_numbered(number).degrees(),
            Self::District(number) => district::degrees(number),
            Self::Unit(unit) => unit.degrees(),
        }
    }
}

pub fn place_name(place: u32) -> &'static str {
    name_at(u32_at(&ENTITIES[place as usize], 12) & !IS_TOWN)
}

/// Whether a place is large enough to stand for itself in an address.
pub fn is_town(place: u32) -> bool {
    u32_at(&ENTITIES[place as usize], 12) & IS_TOWN != 0
}
