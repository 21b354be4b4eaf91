//! Reads the CSV files and replaces the codes of countries, regions and districts by row numbers.

use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use crate::Result;
use crate::layout::{Coordinates, CountryNumber, DistrictNumber, NAMED_COUNTRIES, RegionNumber};

/// The contents of the CSV files.
pub(crate) struct SourceData {
    /// Rows of countries.csv, sorted by ISO code.
    pub countries: Vec<StringRecord>,
    pub regions: Vec<RegionRecord>,
    pub districts: Vec<DistrictRecord>,
    pub places: Vec<PlaceRecord>,
    pub named_countries: Vec<NamedCountry>,
    /// The border of Ireland and the United Kingdom, from the Irish Sea to the Atlantic.
    pub irish_border: Vec<Coordinates>,
}

/// Names of countries besides their English names and ISO codes.
pub(crate) const COUNTRY_ALIASES: [(&str, &str); 15] = [
    ("AE", "UAE"),
    ("GB", "Britain"),
    ("GB", "Great Britain"),
    ("GB", "UK"),
    ("GG", "Bailiwick of Guernsey"),
    ("GG", "Guernési"),
    ("IE", "Eire"),
    ("IE", "Republic of Ireland"),
    ("IM", "Ellan Vannin"),
    ("IM", "IOM"),
    ("IM", "Isle of Mann"),
    ("JE", "Bailiwick of Jersey"),
    ("JE", "Jèrri"),
    ("US", "America"),
    ("US", "United States of America"),
];

/// A country of [`NAMED_COUNTRIES`].
pub(crate) struct NamedCountry {
    pub number: CountryNumber,
    /// The English name, then the others.
    pub names: Vec<String>,
    /// A point amid its places.
    pub coordinates: Coordinates,
}

/// A row of regions.csv.
pub(crate) struct RegionRecord {
    pub iso: String,
    pub name: String,
    pub country: CountryNumber,
    pub group: String,
    pub aliases: Vec<String>,
    /// Months between TB tests; 0 if not known.
    pub tb_months: u8,
    /// Name of the area with this interval, or empty.
    pub tb_area: String,
    pub coordinates: Coordinates,
    /// The nation, province or other region that contains this region.
    pub parent: Option<RegionNumber>,
}

/// A row of postcode_districts.csv.
pub(crate) struct DistrictRecord {
    pub code: String,
    pub country: CountryNumber,
    /// Name of the main place.
    pub place: String,
    pub region: Option<RegionNumber>,
    pub coordinates: Coordinates,
}

/// A row of places.csv with the aliases of own_names.csv.
pub(crate) struct PlaceRecord {
    /// GeoNames id.
    pub id: u32,
    pub name: String,
    /// Welsh, Irish and other names.
    pub aliases: Vec<String>,
    pub country: CountryNumber,
    pub region: Option<RegionNumber>,
    pub district: Option<DistrictNumber>,
    pub coordinates: Coordinates,
    pub population: u32,
}

impl Coordinates {
    /// Parses a latitude and a longitude in degrees.
    fn parse(lat: &str, lon: &str) -> Result<Self> {
        let parse = |text: &str| text.parse::<f64>().map(|degrees| (degrees * 1e5).round() as i32);
        Ok(Self { lat: parse(lat)?, lon: parse(lon)? })
    }
}

impl SourceData {
    /// Reads all files of `data/`.
    pub(crate) fn read() -> Result<Self> {
        let countries = rows("countries.csv")?;
        let country: HashMap<&str, CountryNumber> =
            countries.iter().map(|row| &row[0]).zip((0..).map(CountryNumber)).collect();

        let mut regions = Vec::new();
        for row in rows("regions.csv")? {
            let name = natural_word_order(&row[1]);
            let is_alias = |alias: &&str| !alias.is_empty() && *alias != name;
            regions.push(RegionRecord {
                iso: row[0].into(),
                country: country[&row[2]],
                group: row[3].into(),
                aliases: row[4].split('|').filter(is_alias).map(Into::into).collect(),
                name,
                tb_months: if row[5].is_empty() { 0 } else { row[5].parse()? },
                tb_area: row[6].into(),
                coordinates: Coordinates::parse(&row[7], &row[8])?,
                parent: None,
            });
        }
        let parents: Vec<_> = (0..regions.len()).map(|i| parent(&regions, i)).collect();
        for (region, parent) in regions.iter_mut().zip(parents) {
            region.parent = parent;
        }
        let region: HashMap<String, RegionNumber> =
            regions.iter().map(|r| r.iso.clone()).zip((0..).map(RegionNumber)).collect();

        let mut districts = Vec::new();
        for row in rows("postcode_districts.csv")? {
            districts.push(DistrictRecord {
                code: row[0].into(),
                country: country[&row[1]],
                place: row[3].into(),
                region: region.get(&row[4]).copied(),
                coordinates: Coordinates::parse(&row[5], &row[6])?,
            });
        }
        districts.sort_by_cached_key(|district| natural_sort_key(&district.code));
        // W12 is a district of London and a routing key of Ireland.
        let keys = districts.iter().map(|d| (d.code.clone(), d.country == country["IE"]));
        let district: HashMap<(String, bool), DistrictNumber> = keys.zip((0..).map(DistrictNumber)).collect();

        let mut aliases = HashMap::new();
        for row in rows("own_names.csv")? {
            aliases.insert(row[0].parse::<u32>()?, row[1].split('|').map(Into::into).collect());
        }
        let mut places = Vec::new();
        for row in rows("places.csv")? {
            let id = row[0].parse()?;
            places.push(PlaceRecord {
                id,
                name: row[1].into(),
                aliases: aliases.remove(&id).unwrap_or_default(),
                country: country[&row[2]],
                region: region.get(&row[3]).copied(),
                district: district.get(&(row[5].into(), &row[2] == "IE")).copied(),
                coordinates: Coordinates::parse(&row[6], &row[7])?,
                population: row[8].parse().unwrap_or(0),
            });
        }
        if let Some(id) = aliases.keys().next() {
            return Err(format!("own_names.csv has the id {id}, which places.csv lacks").into());
        }
        let named = |iso: &&str| named_country(&countries[country[iso].index()], country[iso], &places);
        let named_countries = NAMED_COUNTRIES.iter().map(named).collect();
        let point = |row: &StringRecord| Coordinates::parse(&row[0], &row[1]);
        let irish_border = rows("irish_border.csv")?.iter().map(point).collect::<Result<_>>()?;
        Ok(Self { countries, regions, districts, places, named_countries, irish_border })
    }
}

/// Returns the country of a row of countries.csv. Its latitude and longitude are the medians of those of its places:
/// the middle of the islands of Guernsey would be in the sea.
fn named_country(row: &StringRecord, number: CountryNumber, places: &[PlaceRecord]) -> NamedCountry {
    let median = |coordinate: &dyn Fn(Coordinates) -> i32| {
        let inside = places.iter().filter(|place| place.country == number);
        let mut all: Vec<i32> = inside.map(|place| coordinate(place.coordinates)).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let coordinates = Coordinates { lat: median(&|at| at.lat), lon: median(&|at| at.lon) };
    let aliases = COUNTRY_ALIASES.iter().filter(|(iso, _)| *iso == &row[0]).map(|(_, name)| *name);
    let names = std::iter::once(&row[2]).chain(aliases).map(Into::into).collect();
    NamedCountry { number, names, coordinates }
}

/// Reads the rows of a CSV file without its header.
fn rows(file: &str) -> Result<Vec<StringRecord>> {
    let path = Path::new("data").join(file);
    Ok(ReaderBuilder::new().from_path(path)?.into_records().collect::<std::result::Result<_, _>>()?)
}

/// Returns the parent of a region: the region of its country that has the name of its group. A region without a group
/// is preferred, since Dhaka is both a division of Bangladesh and a district in it. The parent of English regions is
/// England, since their groups are not regions of ISO 3166-2.
fn parent(regions: &[RegionRecord], child: usize) -> Option<RegionNumber> {
    let group = &regions[child].group;
    let country = regions[child].country;
    // Regions are sorted by code, so those of a country are adjacent.
    let first = regions.partition_point(|r| r.country < country);
    let find = |is: &dyn Fn(&RegionRecord) -> bool| {
        let index = regions[first..].iter().take_while(|r| r.country == country).position(is)?;
        Some(first + index)
    };
    let parent = find(&|r| r.name == *group && r.group.is_empty())
        .or_else(|| find(&|r| r.name == *group))
        .or_else(|| find(&|r| r.iso == "GB-ENG"))
        .or_else(|| find(&|r| r.aliases.contains(group) && r.group == *group))
        .filter(|&parent| parent != child && !group.is_empty())?;
    Some(RegionNumber(parent as u16))
}

/// Restores the word order of names such as "Bristol, City of".
fn natural_word_order(name: &str) -> String {
    match name.rsplit_once(", ") {
        Some((rest, first @ ("City of" | "County" | "The"))) => format!("{first} {rest}"),
        _ => name.into(),
    }
}

/// Returns a sort key by which HR2 comes before HR10.
fn natural_sort_key(code: &str) -> (String, u32, String) {
    let is_digit = |c: char| c.is_ascii_digit();
    let (area, rest) = code.split_at(code.find(is_digit).unwrap_or(code.len()));
    let (number, suffix) = rest.split_at(rest.rfind(is_digit).map_or(0, |last| last + 1));
    (area.into(), number.parse().unwrap_or(0), suffix.into())
}
