//! Items: everything that has an id, and the hits that they are in searches.

use crate::country::{
    Country, CountrySet, Region, country_by_number, country_number, region_by_number, region_number,
};
use crate::district;
use crate::layout::{CountryNumber, DistrictNumber, IS_COUNTRY, IS_DISTRICT, IS_REGION, RegionNumber};
use crate::place;
use crate::postcodes::{self, Unit};
use crate::tables::{self, BY_ID, NAMED_COUNTRIES};

/// The kind of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitKind {
    /// A unit postcode.
    Postcode,
    /// A city, town or village.
    Place,
    /// A region, a postcode district or a country. [`SearchOptions::within`](crate::SearchOptions::within) takes its
    /// id.
    Container,
}

/// A result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// `place:2647074`, `postcode:HR49AR`, `district:HR1`, `district:IE-H91`, `region:GB-HEF`, `country:IM` or, for a
    /// pair of coordinates, `point:52.05,-2.71`.
    pub id: String,
    /// The kind of the hit.
    pub kind: HitKind,
    /// The name or code.
    pub text: String,
    /// The surrounding areas, smallest first: `Herefordshire, England, United Kingdom`.
    pub description: String,
}

/// A place, region, district, unit postcode or country. Numbers are row numbers of the tables, for a country of its
/// entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Place(u32),
    Region(RegionNumber),
    District(DistrictNumber),
    Unit(Unit),
    Country(u32),
}

impl Item {
    /// Returns the item of an entity.
    pub(crate) fn from_entity(entity: u32) -> Self {
        let row = tables::entity(entity);
        match row.name {
            marks if marks & IS_REGION != 0 => Self::Region(RegionNumber(row.id as u16)),
            marks if marks & IS_COUNTRY != 0 => Self::Country(entity),
            marks if marks & IS_DISTRICT != 0 => Self::District(DistrictNumber(row.id as u16)),
            _ => Self::Place(entity),
        }
    }

    /// Returns the item with this id. Accepts only the spelling that [`Hit::id`] has.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        Self::parse_any_spelling(id).filter(|item| item.id() == id)
    }

    fn parse_any_spelling(id: &str) -> Option<Self> {
        match id.split_once(':')? {
            ("place", id) => {
                let id: u32 = id.parse().ok()?;
                let place = |row: &[u8; 4]| u32::from_le_bytes(*row);
                let geonames_id = |row: &[u8; 4]| tables::entity(place(row)).id;
                Some(Self::Place(place(&BY_ID[BY_ID.binary_search_by_key(&id, geonames_id).ok()?])))
            }
            ("country", iso) => {
                let mut countries =
                    NAMED_COUNTRIES.iter().map(|entity| Self::Country(u32::from_le_bytes(*entity)));
                countries.find(|item| item.country().iso == iso)
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
            Self::Place(number) => format!("place:{}", tables::entity(number).id),
            Self::Region(number) => format!("region:{}", region_by_number(number).iso()),
            // W12 is a district of London and a routing key of Ireland.
            Self::District(number) if district::is_irish(number) => {
                format!("district:IE-{}", district::code(number))
            }
            Self::District(number) => format!("district:{}", district::code(number)),
            Self::Unit(unit) => format!("postcode:{}", unit.text().replace(' ', "")),
            Self::Country(_) => format!("country:{}", self.country().iso),
        }
    }

    /// Returns the name or code.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Place(number) => place::name(number).to_owned(),
            Self::Region(number) => region_by_number(number).name().to_owned(),
            Self::District(number) => district::code(number).to_owned(),
            Self::Unit(unit) => unit.text(),
            Self::Country(_) => self.country().name.to_owned(),
        }
    }

    /// Returns the surrounding areas, smallest first: `Herefordshire, England, United Kingdom`.
    pub(crate) fn description(self) -> String {
        if let Self::Country(_) = self {
            return self.country().continent.to_owned();
        }
        let region = self.region().map(region_by_number);
        let mut parts = match self {
            Self::District(number) => vec![district::place(number)],
            Self::Unit(unit) => {
                let (lat, lon) = unit.degrees();
                vec![place::city(place::nearest(lat, lon), self.district())]
            }
            Self::Place(_) | Self::Region(_) | Self::Country(_) => vec![],
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
    pub(crate) fn hit(self) -> Hit {
        let kind = match self {
            Self::Place(_) => HitKind::Place,
            Self::Region(_) | Self::District(_) | Self::Country(_) => HitKind::Container,
            Self::Unit(_) => HitKind::Postcode,
        };
        Hit { id: self.id(), kind, text: self.text(), description: self.description() }
    }

    /// Returns the country that contains the item.
    pub(crate) fn country(self) -> &'static Country {
        country_by_number(self.country_number())
    }

    /// Returns the row number of the country.
    pub(crate) fn country_number(self) -> CountryNumber {
        match self {
            Self::Place(number) | Self::Country(number) => tables::entity(number).country,
            Self::Region(number) => region_by_number(number).country_number(),
            Self::District(number) => district::country(number),
            Self::Unit(unit) => {
                unit.region().map_or(CountryNumber(0), |region| region_by_number(region).country_number())
            }
        }
    }

    /// Returns true if the item is in one of these countries. Jersey itself, for example, also counts as a British
    /// name.
    pub(crate) fn is_preferred(self, preferred: CountrySet) -> bool {
        let is_in = |iso| country_number(iso).is_some_and(|number| preferred.contains(number));
        preferred.contains(self.country_number()) || (matches!(self, Self::Country(_)) && is_in("GB"))
    }

    /// Returns true for items in the United Kingdom, Ireland and the Crown dependencies.
    pub(crate) fn is_in_british_isles(self) -> bool {
        matches!(self.country().iso, "GB" | "IE" | "IM" | "GG" | "JE")
    }

    /// Returns the number of the region that contains the item; for a region, its parent.
    pub(crate) fn region(self) -> Option<RegionNumber> {
        match self {
            Self::Place(number) => tables::entity(number).region,
            Self::Region(number) => region_by_number(number).parent(),
            Self::District(number) => district::region(number),
            Self::Unit(unit) => unit.region(),
            Self::Country(_) => None,
        }
    }

    /// Returns the number of the district that contains a place or a unit postcode.
    pub(crate) fn district(self) -> Option<DistrictNumber> {
        match self {
            Self::Place(number) => tables::entity(number).district,
            Self::Unit(unit) => district::find_british_padded(unit.outward()),
            Self::Region(_) | Self::District(_) | Self::Country(_) => None,
        }
    }

    /// Returns latitude and longitude in degrees.
    pub(crate) fn degrees(self) -> (f64, f64) {
        match self {
            Self::Place(number) | Self::Country(number) => tables::entity(number).coordinates.degrees(),
            Self::Region(number) => region_by_number(number).degrees(),
            Self::District(number) => district::degrees(number),
            Self::Unit(unit) => unit.degrees(),
        }
    }
}
