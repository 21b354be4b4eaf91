//! Writes the names of areas that may follow the name of a place: "Newport, Wales", "Hereford HR1", "Paris TX".

use std::collections::{BTreeMap, BTreeSet};

use fst::MapBuilder;

use crate::fold::fold;
use crate::layout::{COUNTRY_AREA, DISTRICT_AREA, REGION_AREA};
use crate::source::{COUNTRY_ALIASES, RegionRecord, SourceData};
use crate::tables::pack_lists;
use crate::{Result, write_table};

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

/// Returns the folded names of counties in common use that stand for a region, such as `sussex` for East and West
/// Sussex. If no region of a county has its name, all of them stand for it.
pub(crate) fn county_names(source: &SourceData, region: &RegionRecord) -> Vec<String> {
    let mut all = Vec::new();
    for (names, isos) in IRISH.iter().chain(&BRITISH) {
        let county = format!(" {} ", fold(names.split('|').next().unwrap_or_default()));
        let has_name = |region: &RegionRecord| {
            let names = region.aliases.iter().chain([&region.name]);
            names.map(|name| format!(" {} ", fold(name))).any(|name| name.contains(&county))
        };
        let is_part = |region: &RegionRecord| {
            region.iso.strip_prefix("GB-").is_some_and(|iso| isos.split(' ').any(|part| part == iso))
        };
        let is_named = source.regions.iter().any(|region| is_part(region) && has_name(region));
        if is_part(region) && (has_name(region) || !is_named) {
            all.extend(names.split('|').map(fold));
            if IRISH.iter().any(|(name, _)| name == names) {
                all.extend([format!("co {}", fold(names)), format!("county {}", fold(names))]);
            }
        }
    }
    all
}

/// Counties in common use of Northern Ireland, whose names may also follow "Co" or "County", with the regions that
/// roughly cover them: codes without `GB-`, separated by spaces.
const IRISH: [(&str, &str); 7] = [
    ("Antrim", "ANN BFS CCG LBC MEA"),
    ("Armagh", "ABC NMD"),
    ("Derry", "CCG DRS MUL"),
    ("Down", "ABC AND BFS LBC NMD"),
    ("Fermanagh", "FMO"),
    ("Londonderry", "CCG DRS MUL"),
    ("Tyrone", "DRS FMO MUL"),
];

/// Counties in common use of Great Britain that are not regions of ISO 3166-2, or larger than the region of that name.
/// Alternative names are separated by `|`.
const BRITISH: [(&str, &str); 65] = [
    ("Argyll|Argyllshire", "AGB HLD"),
    ("Ayrshire", "EAY NAY SAY"),
    ("Banffshire", "ABD MRY"),
    ("Bedfordshire|Beds", "BDF CBF LUT"),
    ("Berkshire|Berks", "BRC RDG SLG WBK WNM WOK"),
    ("Berwickshire|Peeblesshire|Roxburghshire|Selkirkshire", "SCB"),
    ("Brecknockshire|Breconshire|Montgomeryshire|Radnorshire", "POW"),
    ("Buckinghamshire|Bucks", "BKM MIK"),
    ("Caernarfonshire|Caernarvonshire", "CWY GWN"),
    ("Caithness|Inverness shire|Nairnshire|Ross shire|Sutherland", "HLD"),
    ("Cambridgeshire|Cambs", "CAM PTE"),
    ("Cheshire", "CHE CHW HAL SKP TRF WRL WRT"),
    ("Cleveland|Teesside", "HPL MDB RCC STT"),
    ("Clwyd", "CWY DEN FLN WRX"),
    ("Derbyshire|Derbys", "DBY DER"),
    ("Devon", "DEV PLY TOB"),
    ("Dorset", "BCP DOR"),
    ("Dumfriesshire|Kirkcudbrightshire|Wigtownshire", "DGY"),
    ("Dunbartonshire", "EDU WDU"),
    ("Durham|County Durham|Co Durham", "DAL DUR HPL STT"),
    ("Dyfed", "CGN CMN PEM"),
    ("East Sussex", "BNH ESX"),
    ("East Yorkshire|East Riding", "ERY KHL"),
    ("Essex", "BDG ESS HAV RDB SOS THR WFT"),
    ("Glamorgan", "BGE CAY CRF MTY NTL RCT SWA VGL"),
    ("Gloucestershire|Glos", "BST GLS SGC"),
    ("Greater Manchester", "BOL BUR MAN OLD RCH SKP SLF TAM TRF WGN"),
    ("Gwent", "BGW CAY MON NWP TOF"),
    ("Hampshire|Hants", "HAM POR STH"),
    ("Herefordshire|Herefs", "HEF"),
    ("Hertfordshire|Herts", "BNE HRT"),
    ("Huntingdonshire|Hunts", "CAM"),
    ("IOW", "IOW"),
    ("Kent", "BEX BRY KEN MDW"),
    ("Kincardineshire", "ABD"),
    ("Kinross shire|Perthshire", "PKN STG"),
    ("Lanarkshire", "GLG NLK SLK"),
    ("Lancashire|Lancs", "BBD BOL BPL BUR LAN OLD RCH WGN"),
    ("Leicestershire|Leics", "LCE LEC"),
    ("Lincolnshire|Lincs", "LIN NEL NLN"),
    ("Lothian", "EDH ELN MLN WLN"),
    ("Merionethshire|Merioneth", "DEN GWN"),
    ("Merseyside", "KWL LIV SFT SHN WRL"),
    ("Mid Glamorgan", "BGE CAY MTY RCT"),
    ("Middlesex", "BEN BNE EAL ENF HIL HNS HRW HRY RIC SRY"),
    ("NI", "NIR"),
    ("North Yorkshire|N Yorks|North Yorks", "MDB NYK RCC YOR"),
    ("Northamptonshire|Northants", "NNH WNH"),
    ("Nottinghamshire|Notts", "NGM NTT"),
    ("Oxfordshire|Oxon", "OXF"),
    ("Pembrokeshire|Pembs", "PEM"),
    ("Shropshire|Salop", "SHR TFW"),
    ("Somerset", "BAS NSM SOM"),
    ("South Glamorgan", "CRF VGL"),
    ("South Yorkshire|S Yorks|South Yorks", "BNS DNC ROT SHF"),
    ("Staffordshire|Staffs", "STE STS"),
    ("Surrey", "CRY KTT MRT RIC SRY STN"),
    ("Sussex", "BNH ESX WSX"),
    ("Tyne and Wear", "GAT NET NTY SND STY"),
    ("Warwickshire|Warks", "BIR COV SOL WAR"),
    ("West Glamorgan", "NTL SWA"),
    ("West Yorkshire|W Yorks|West Yorks", "BRD CLD KIR LDS WKF"),
    ("Wiltshire|Wilts", "SWD WIL"),
    ("Worcestershire|Worcs", "DUD WOR"),
    ("Yorkshire|Yorks", "BNS BRD CLD DNC ERY KHL KIR LDS MDB NYK RCC ROT SHF WKF YOR"),
];
