//! The CSV files as they are, with names of countries, regions and districts resolved to their row numbers.

use std::collections::HashMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use crate::Result;

pub struct Source {
    /// Rows of countries.csv, by ISO code.
    pub countries: Vec<StringRecord>,
    pub regions: Vec<Region>,
    pub districts: Vec<District>,
    pub places: Vec<Place>,
}

pub struct Region {
    pub iso: String,
    pub name: String,
    pub country: u8,
    pub group: String,
    pub aliases: Vec<String>,
    pub tb_months: u32,
    pub at: Point,
    /// The nation, province or other region that it is part of.
    pub parent: Option<u16>,
}

pub struct District {
    pub code: String,
    pub country: u8,
    pub place: String,
    pub region: Option<u16>,
    pub at: Point,
}

pub struct Place {
    pub id: u32,
    pub name: String,
    /// Welsh, Irish and other names.
    pub aliases: Vec<String>,
    pub country: u8,
    pub region: Option<u16>,
    pub district: Option<u16>,
    pub at: Point,
    pub population: u32,
}

/// WGS84 in units of 1e-5 degree, which is how the tables hold it.
#[derive(Clone, Copy)]
pub struct Point {
    pub lat: i32,
    pub lon: i32,
}

impl Point {
    fn parse(lat: &str, lon: &str) -> Result<Self> {
        let parse = |text: &str| text.parse::<f64>().map(|degrees| (degrees * 1e5).round() as i32);
        Ok(Self { lat: parse(lat)?, lon: parse(lon)? })
    }
    pub fn degrees(self) -> (f64, f64) {
        (f64::from(self.lat) / 1e5, f64::from(self.lon) / 1e5)
    }
}

impl Source {
    pub fn read() -> Result<Self> {
        let countries = rows("countries.csv")?;
        let country: HashMap<&str, u8> = countries.iter().zip(0..).map(|(row, i)| (&row[0], i)).collect();

        let mut regions = Vec::new();
        for row in rows("regions.csv")? {
            let name = in_order(&row[1]);
            let is_other = |alias: &&str| !alias.is_empty() && *alias != name;
            regions.push(Region {
                iso: row[0].into(),
                country: country[&row[2]],
                group: row[3].into(),
                aliases: row[4].split('|').filter(is_other).map(Into::into).collect(),
                name,
                tb_months: row[5].parse().unwrap_or(0),
                at: Point::parse(&row[6], &row[7])?,
                parent: None,
            });
        }
        let parents: Vec<_> = (0..regions.len()).map(|i| parent(&regions, i)).collect();
        for (region, parent) in regions.iter_mut().zip(parents) {
            region.parent = parent;
        }
        let region: HashMap<String, u16> = regions.iter().map(|r| r.iso.clone()).zip(0..).collect();

        let mut districts = Vec::new();
        for row in rows("postcode_districts.csv")? {
            districts.push(District {
                code: row[0].into(),
                country: country[&row[1]],
                place: row[3].into(),
                region: region.get(&row[4]).copied(),
                at: Point::parse(&row[5], &row[6])?,
            });
        }
        districts.sort_by_cached_key(|district| natural(&district.code));
        // W12 is in London and in Newbridge.
        let district: HashMap<(String, bool), u16> =
            districts.iter().map(|d| (d.code.clone(), d.country == country["IE"])).zip(0..).collect();

        let mut aliases = HashMap::new();
        for row in rows("own_names.csv")? {
            aliases.insert(row[0].parse::<u32>()?, row[1].split('|').map(Into::into).collect());
        }
        let mut places = Vec::new();
        for row in rows("places.csv")? {
            let id = row[0].parse()?;
            places.push(Place {
                id,
                name: row[1].into(),
                aliases: aliases.remove(&id).unwrap_or_default(),
                country: country[&row[2]],
                region: region.get(&row[3]).copied(),
                district: district.get(&(row[5].into(), &row[2] == "IE")).copied(),
                at: Point::parse(&row[6], &row[7])?,
                population: row[8].parse().unwrap_or(0),
            });
        }
        if let Some(id) = aliases.keys().next() {
            return Err(format!("own_names.csv has no place {id}").into());
        }
        Ok(Self { countries, regions, districts, places })
    }
}

fn rows(file: &str) -> Result<Vec<StringRecord>> {
    let path = Path::new("data").join(file);
    Ok(ReaderBuilder::new().from_path(path)?.into_records().collect::<std::result::Result<_, _>>()?)
}

/// The region of the country that bears the group's name, at best one that is itself in no group: Dhaka is a division of
/// Bangladesh and a district in it. English groups are no regions of ISO 3166-2: England.
fn parent(regions: &[Region], child: usize) -> Option<u16> {
    let group = &regions[child].group;
    let country = regions[child].country;
    // Codes are sorted, so a country's regions are neighbours.
    let first = regions.partition_point(|r| r.country < country);
    let named = |is: &dyn Fn(&Region) -> bool| {
        let found = regions[first..].iter().take_while(|r| r.country == country).position(is)?;
        Some(first + found)
    };
    let found = named(&|r| r.name == *group && r.group.is_empty())
        .or_else(|| named(&|r| r.name == *group))
        .or_else(|| named(&|r| r.iso == "GB-ENG"))
        .or_else(|| named(&|r| r.aliases.contains(group) && r.group == *group))
        .filter(|&found| found != child && !group.is_empty())?;
    Some(found as u16)
}

/// "City of Bristol", which the standard lists under B.
fn in_order(name: &str) -> String {
    match name.rsplit_once(", ") {
        Some((rest, first @ ("City of" | "County" | "The"))) => format!("{first} {rest}"),
        _ => name.into(),
    }
}

/// HR2 before HR10.
fn natural(code: &str) -> (String, u32, String) {
    let digit = |c: char| c.is_ascii_digit();
    let (area, rest) = code.split_at(code.find(digit).unwrap_or(code.len()));
    let (number, suffix) = rest.split_at(rest.rfind(digit).map_or(0, |last| last + 1));
    (area.into(), number.parse().unwrap_or(0), suffix.into())
}
