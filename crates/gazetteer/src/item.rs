//! Items: everything that has an id.

use crate::country::{Country, Region, country_by_number, region_by_number, region_number};
use crate::district;
use crate::hit::{Hit, HitKind};
use crate::layout::{IS_DISTRICT, IS_REGION};
use crate::place;
use crate::postcodes::{self, Unit};
use crate::tables::{BY_ID, ENTITIES, degrees_at, optional, u16_at, u32_at};
use crate::tree;

/// A place, region, district or unit postcode. Numbers are row numbers of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Place(u32),
    Region(u16),
    District(u16),
    Unit(Unit),
}

impl Item {
    /// Returns the item of an entity.
    pub fn from_entity(entity: u32) -> Self {
        let row = &ENTITIES[entity as usize];
        match u32_at(row, 12) {
            marks if marks & IS_REGION != 0 => Self::Region(u32_at(row, 0) as u16),
            marks if marks & IS_DISTRICT != 0 => Self::District(u32_at(row, 0) as u16),
            _ => Self::Place(entity),
        }
    }

    /// Returns the item with this id. Accepts only the spelling that [`Hit::id`] has.
    pub fn parse(id: &str) -> Option<Self> {
        Self::parse_any_spelling(id).filter(|item| item.id() == id)
    }

    fn parse_any_spelling(id: &str) -> Option<Self> {
        match id.split_once(':')? {
            ("place", id) => {
                let id: u32 = id.parse().ok()?;
                let place = |row: &[u8; 4]| u32::from_le_bytes(*row);
                let geonames_id = |row: &[u8; 4]| u32_at(&ENTITIES[place(row) as usize], 0);
                Some(Self::Place(place(&BY_ID[BY_ID.binary_search_by_key(&id, geonames_id).ok()?])))
            }
            ("region", iso) => region_number(iso).map(Self::Region),
            ("district", code) => match code.strip_prefix("IE-") {
                Some(code) => district::find_irish(code),
                None => district::find_british(code),
            }
            .map(Self::District),
            ("postcode", code) => {
                let (outward, inward) = code.split_at_checked(code.len().checked_sub(3)?)?;
                postcodes::with_prefix(district::pad(outward)?, inward).next().map(Self::Unit)
            }
            _ => None,
        }
    }

    fn id(self) -> String {
        match self {
            Self::Place(number) => format!("place:{}", u32_at(&ENTITIES[number as usize], 0)),
            Self::Region(number) => format!("region:{}", region_by_number(number).iso()),
            // W12 is a district of London and a routing key of Ireland.
            Self::District(number) if district::is_irish(number) => {
                format!("district:IE-{}", district::code(number))
            }
            Self::District(number) => format!("district:{}", district::code(number)),
            Self::Unit(unit) => format!("postcode:{}", unit.text().replace(' ', "")),
        }
    }

    /// Returns the name or code.
    pub fn text(self) -> String {
        match self {
            Self::Place(number) => place::name(number).to_owned(),
            Self::Region(number) => region_by_number(number).name().to_owned(),
            Self::District(number) => district::code(number).to_owned(),
            Self::Unit(unit) => unit.text(),
        }
    }

    /// Returns the surrounding areas, smallest first: `Herefordshire, England, United Kingdom`.
    fn description(self) -> String {
        let region = self.region().map(region_by_number);
        let mut parts = match self {
            Self::District(number) => vec![district::place(number)],
            Self::Unit(unit) => {
                let (lat, lon) = unit.degrees();
                vec![place::city(tree::nearest(lat, lon), self.district())]
            }
            Self::Place(_) | Self::Region(_) => vec![],
        };
        parts.extend(region.map(Region::name));
        if let (Self::Place(_), "GB") = (self, self.country().iso) {
            parts.extend(region.and_then(Region::parent).map(|nation| region_by_number(nation).name()));
        }
        parts.push(self.country().name);
        parts.dedup();
        parts.join(", ")
    }

    /// Converts the item to a search result.
    pub fn hit(self) -> Hit {
        let kind = match self {
            Self::Place(_) => HitKind::Place,
            Self::Region(_) | Self::District(_) => HitKind::Container,
            Self::Unit(_) => HitKind::Postcode,
        };
        Hit { id: self.id(), kind, text: self.text(), description: self.description() }
    }

    pub fn country(self) -> &'static Country {
        country_by_number(self.country_number())
    }

    /// Returns the row number of the country.
    pub fn country_number(self) -> u8 {
        match self {
            Self::Place(number) => ENTITIES[number as usize][20],
            Self::Region(number) => region_by_number(number).country_number(),
            Self::District(number) => district::country(number),
            Self::Unit(unit) => unit.region().map_or(0, |region| region_by_number(region).country_number()),
        }
    }

    pub fn is_in_british_isles(self) -> bool {
        matches!(self.country().iso, "GB" | "IE" | "IM" | "GG" | "JE")
    }

    /// Returns the number of the region that contains the item; for a region, its parent.
    pub fn region(self) -> Option<u16> {
        match self {
            Self::Place(number) => optional(u16_at(&ENTITIES[number as usize], 16)),
            Self::Region(number) => region_by_number(number).parent(),
            Self::District(number) => district::region(number),
            Self::Unit(unit) => unit.region(),
        }
    }

    /// Returns the number of the district that contains a place or a unit postcode.
    pub fn district(self) -> Option<u16> {
        match self {
            Self::Place(number) => optional(u16_at(&ENTITIES[number as usize], 18)),
            Self::Unit(unit) => district::find_british_padded(unit.outward()),
            Self::Region(_) | Self::District(_) => None,
        }
    }

    /// Returns latitude and longitude in degrees.
    pub fn degrees(self) -> (f64, f64) {
        match self {
            Self::Place(number) => degrees_at(&ENTITIES[number as usize], 4),
            Self::Region(number) => region_by_number(number).degrees(),
            Self::District(number) => district::degrees(number),
            Self::Unit(unit) => unit.degrees(),
        }
    }
}
