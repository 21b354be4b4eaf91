//! Areas that narrow a search, and what is in them.

use fst::Map;

use crate::country::{country_number, region_and_around};
use crate::district;
use crate::item::Item;
use crate::postcodes;
use crate::tables::{
    DISTRICT_PLACES, QUALIFIER_AREAS, QUALIFIERS, REGION_DISTRICTS, REGION_PLACES, REGION_REGIONS, list,
};

/// Numbers are rows of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Country(u8),
    Region(u16),
    District(u16),
}

impl Area {
    pub fn country(iso: &str) -> Option<Self> {
        country_number(iso).map(Self::Country)
    }

    /// The container of that id.
    pub fn container(id: &str) -> Option<Self> {
        match Item::parse(id)? {
            Item::Region(number) => Some(Self::Region(number)),
            Item::District(number) => Some(Self::District(number)),
            Item::Place(_) | Item::Unit(_) => None,
        }
    }

    pub fn holds(self, item: Item) -> bool {
        match self {
            Self::Country(number) => item.country_number() == number,
            Self::Region(number) => region_and_around(item.region()).any(|region| region == number),
            Self::District(number) => item.district() == Some(number),
        }
    }

    /// What is directly in a container. Of a region: its regions by name, places best first, districts in order; of a
    /// district: places best first, then postcodes in order.
    pub fn contents(self) -> Box<dyn Iterator<Item = Item>> {
        let districts = |districts: u32| Item::District(districts as u16);
        match self {
            Self::Country(_) => Box::new(std::iter::empty()),
            Self::Region(number) => {
                let number = usize::from(number);
                let regions = list(REGION_REGIONS, number).map(|region| Item::Region(region as u16));
                let places = list(REGION_PLACES, number).map(Item::Place);
                Box::new(regions.chain(places).chain(list(REGION_DISTRICTS, number).map(districts)))
            }
            Self::District(number) => {
                let places = list(DISTRICT_PLACES, usize::from(number)).map(Item::Place);
                let sectors = postcodes::sectors(district::padded_code(number), None);
                Box::new(places.chain(sectors.flat_map(postcodes::units).map(Item::Unit)))
            }
        }
    }
}

/// What areas are called where they follow a name.
pub struct Qualifiers(Map<&'static [u8]>);

impl Qualifiers {
    pub fn open() -> Self {
        let Ok(names) = Map::new(QUALIFIERS) else { unreachable!("build/ wrote it") };
        Self(names)
    }

    /// All areas called so, in folded text.
    pub fn areas(&self, text: &str) -> Option<Vec<Area>> {
        let number = self.0.get(text)?;
        let areas = list(QUALIFIER_AREAS, number as usize).map(|area| match (area >> 16, area as u16) {
            (0, number) => Area::Country(number as u8),
            (1, number) => Area::Region(number),
            (_, number) => Area::District(number),
        });
        Some(areas.collect())
    }
}
