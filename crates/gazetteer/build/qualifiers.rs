//! Writes the names of areas that may follow the name of a place: "Newport, Wales", "Hereford HR1", "Paris TX".

use std::collections::{BTreeMap, BTreeSet};

use fst::MapBuilder;

use crate::counties::{BRITISH, IRISH};
use crate::fold::fold;
use crate::layout::{COUNTRY_AREA, DISTRICT_AREA, REGION_AREA};
use crate::source::SourceData;
use crate::tables::pack_lists;
use crate::{Result, write_table};

/// Names of countries besides their English names and ISO codes.
const COUNTRY_ALIASES: [(&str, &str); 9] = [
    ("AE", "UAE"),
    ("GB", "Britain"),
    ("GB", "Great Britain"),
    ("GB", "UK"),
    ("IE", "Eire"),
    ("IE", "Republic of Ireland"),
    ("IM", "IOM"),
    ("US", "America"),
    ("US", "United States of America"),
];
/// Countries in which the code of a region may follow a name: "Paris TX".
const COUNTRIES_WITH_REGION_CODES: [&str; 3] = ["AU", "CA", "US"];

/// Writes `qualifiers` and `qualifier_areas`.
pub(crate) fn write_all(source: &SourceData) -> Result {
    let mut areas: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut add = |name: &str, area: u32| areas.entry(fold(name)).or_default().insert(area);
    for (row, number) in source.countries.iter().zip(COUNTRY_AREA..) {
        let aliases = COUNTRY_ALIASES.iter().filter(|(iso, _)| *iso == &row[0]).map(|(_, name)| *name);
        for name in [&row[0], &row[1], &row[2]].into_iter().chain(aliases) {
            add(name, number);
        }
    }
    for (region, number) in source.regions.iter().zip(REGION_AREA..) {
        // The group too, since the English regions have no code of their own.
        for name in region.aliases.iter().chain([&region.name, &region.group]) {
            add(name, number);
        }
        if let Some((_, code)) =
            region.iso.split_once('-').filter(|(c, _)| COUNTRIES_WITH_REGION_CODES.contains(c))
        {
            add(code, number);
        }
    }
    for (names, isos) in IRISH.iter().chain(&BRITISH) {
        for iso in isos.split(' ').map(|iso| format!("GB-{iso}")) {
            let number = source.regions.iter().zip(REGION_AREA..).find(|(region, _)| region.iso == iso);
            let (_, number) = number.ok_or(iso)?;
            for name in names.split('|') {
                add(name, number);
            }
            if IRISH.iter().any(|(name, _)| name == names) {
                add(&format!("Co {names}"), number);
                add(&format!("County {names}"), number);
            }
        }
    }
    for (district, number) in source.districts.iter().zip(DISTRICT_AREA..) {
        add(&district.code, number);
    }
    areas.remove("");

    let mut names = MapBuilder::memory();
    for (name, number) in areas.keys().zip(0..) {
        names.insert(name, number)?;
    }
    write_table("qualifiers", &names.into_inner()?)?;
    write_table("qualifier_areas", &pack_lists(&areas.into_values().map(Vec::from_iter).collect::<Vec<_>>()))
}
