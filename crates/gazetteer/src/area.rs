//! Areas that restrict a search.

use fst::Map;

use crate::country::{country_number, region_and_ancestors};
use crate::district;
use crate::item::Item;
use crate::layout::{COUNTRY_AREA, CountryNumber, DISTRICT_AREA, DistrictNumber, REGION_AREA, RegionNumber};
use crate::postcodes;
use crate::tables::{
    DISTRICT_PLACES, DISTRICTS, ENTITIES, QUALIFIER_AREAS, QUALIFIERS, REGION_DISTRICTS, REGION_PLACES,
    REGION_REGIONS, list,
};

/// An area, by its row number in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Country(CountryNumber),
    Region(RegionNumber),
    District(DistrictNumber),
}

impl Area {
    /// Returns the country with this ISO 3166-1 alpha-2 code.
    pub(crate) fn country(iso: &str) -> Option<Self> {
        country_number(iso).map(Self::Country)
    }

    /// Returns the region, district or country with this id.
    pub(crate) fn container(id: &str) -> Option<Self> {
        match Item::parse(id)? {
            Item::Region(number) => Some(Self::Region(number)),
            Item::District(number) => Some(Self::District(number)),
            country @ Item::Country(_) => Some(Self::Country(country.country_number())),
            Item::Place(_) | Item::Unit(_) => None,
        }
    }

    /// Returns true if the item is in this area, at any depth.
    pub(crate) fn contains(self, item: Item) -> bool {
        match self {
            Self::Country(number) => item.country_number() == number,
            Self::Region(number) => region_and_ancestors(item.region()).any(|region| region == number),
            Self::District(number) => item.district() == Some(number),
        }
    }

    /// Returns the direct contents of a container. A region has regions by name, places by rank and districts by code.
    /// A district has places by rank and postcodes by code. A country that is found by name has no regions, but places
    /// by rank and districts by code.
    pub(crate) fn contents(self) -> Box<dyn Iterator<Item = Item>> {
        let district = |number: u32| Item::District(DistrictNumber(number as u16));
        match self {
            Self::Country(number) => {
                let entities = (0..ENTITIES.len() as u32).map(Item::from_entity);
                let places = entities.filter(|item| matches!(item, Item::Place(_)));
                let districts = (0..DISTRICTS.len() as u32).map(district);
                Box::new(places.chain(districts).filter(move |item| item.country_number() == number))
            }
            Self::Region(number) => {
                let number = number.index();
                let regions =
                    list(REGION_REGIONS, number).map(|region| Item::Region(RegionNumber(region as u16)));
                let places = list(REGION_PLACES, number).map(Item::Place);
                Box::new(regions.chain(places).chain(list(REGION_DISTRICTS, number).map(district)))
            }
            Self::District(number) => {
                let places = list(DISTRICT_PLACES, number.index()).map(Item::Place);
                let sectors = postcodes::sectors(district::padded_code(number), None);
                Box::new(places.chain(sectors.flat_map(postcodes::units).map(Item::Unit)))
            }
        }
    }
}

/// The names of areas that may follow the name of a place: `Wales`, `TX`, `HR1`.
pub(crate) struct Qualifiers(Map<&'static [u8]>);

impl Qualifiers {
    /// Opens the embedded automaton.
    pub(crate) fn open() -> Self {
        let Ok(names) = Map::new(QUALIFIERS) else { unreachable!("the build script wrote it") };
        Self(names)
    }

    /// Returns all areas with this name, which is folded.
    pub(crate) fn areas(&self, text: &str) -> Option<Vec<Area>> {
        let number = self.0.get(text)?;
        let areas = list(QUALIFIER_AREAS, number as usize).map(|area| match (area & !0xffff, area as u16) {
            (COUNTRY_AREA, number) => Area::Country(CountryNumber(number as u8)),
            (REGION_AREA, number) => Area::Region(RegionNumber(number)),
            (DISTRICT_AREA, number) => Area::District(DistrictNumber(number)),
            _ => unreachable!("the build script writes no other kind"),
        });
        Some(areas.collect())
    }
}
