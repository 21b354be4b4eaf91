//! What may follow a name to say which one is meant: "Newport, Wales", "Hereford HR1", "Paris TX".

use std::collections::{BTreeMap, BTreeSet};

use fst::MapBuilder;

use crate::counties::{BRITISH, IRISH};
use crate::fold::fold;
use crate::source::Source;
use crate::tables::lists;
use crate::{Result, write};

/// Kinds of area, above its number in the members of the lists.
const COUNTRY: u32 = 0;
const REGION: u32 = 1 << 16;
const DISTRICT: u32 = 2 << 16;

/// What countries are called besides their names and ISO codes.
const BY_NAMES: [(&str, &str); 9] = [
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
/// Countries in which the code of a region is written after a name.
const BY_CODE: [&str; 3] = ["AU", "CA", "US"];

pub fn write_all(source: &Source) -> Result {
    let mut areas: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut add = |name: &str, area: u32| areas.entry(fold(name)).or_default().insert(area);
    for (row, number) in source.countries.iter().zip(COUNTRY..) {
        let others = BY_NAMES.iter().filter(|(iso, _)| *iso == &row[0]).map(|(_, name)| *name);
        for name in [&row[0], &row[1], &row[2]].into_iter().chain(others) {
            add(name, number);
        }
    }
    for (region, number) in source.regions.iter().zip(REGION..) {
        // By its group too: the English regions have no code of their own.
        for name in region.aliases.iter().chain([&region.name, &region.group]) {
            add(name, number);
        }
        if let Some((_, code)) = region.iso.split_once('-').filter(|(c, _)| BY_CODE.contains(c)) {
            add(code, number);
        }
    }
    for (names, isos) in IRISH.iter().chain(&BRITISH) {
        for iso in isos.split(' ').map(|iso| format!("GB-{iso}")) {
            let number = source.regions.iter().zip(REGION..).find(|(region, _)| region.iso == iso);
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
    for (district, number) in source.districts.iter().zip(DISTRICT..) {
        add(&district.code, number);
    }
    areas.remove("");

    let mut names = MapBuilder::memory();
    for (name, number) in areas.keys().zip(0..) {
        names.insert(name, number)?;
    }
    write("qualifiers", &names.into_inner()?)?;
    write("qualifier_areas", &lists(&areas.into_values().map(Vec::from_iter).collect::<Vec<_>>()))
}
