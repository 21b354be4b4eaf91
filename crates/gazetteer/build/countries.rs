//! Writes countries as Rust source, and regions as rows and texts. As Rust source, the regions would contain 100,000
//! pointers for the loader to relocate at each start.

use std::fmt::Write;

use crate::layout::RegionRow;
use crate::source::SourceData;
use crate::{Result, write_table};

/// Writes `countries.rs`, `regions` and `region_texts`.
pub(crate) fn write_all(source: &SourceData) -> Result {
    let mut countries = String::from("[");
    for row in &source.countries {
        let [
            iso,
            iso3,
            name,
            continent,
            calling_code,
            currency,
            locale,
            unit_distance,
            unit_weight,
            unit_capacity,
            unit_temperature,
            zone_descriptor,
        ] = std::array::from_fn(|column| &row[column]);
        writeln!(
            countries,
            "Country {{ iso: {iso:?}, iso3: {iso3:?}, name: {name:?}, continent: {continent:?}, \
             calling_code: {calling_code:?}, currency: {currency:?}, locale: {locale:?}, \
             unit_distance: {unit_distance:?}, unit_weight: {unit_weight:?}, \
             unit_capacity: {unit_capacity:?}, unit_temperature: {unit_temperature:?}, \
             zone_descriptor: {zone_descriptor:?} }},"
        )?;
    }
    write_table("countries.rs", (countries + "]").as_bytes())?;

    let (mut rows, mut texts) = (Vec::new(), String::new());
    for region in &source.regions {
        let row = RegionRow {
            texts: texts.len() as u32,
            coordinates: region.coordinates,
            parent: region.parent,
            country: region.country,
            tb_months: region.tb_months,
        };
        row.write(&mut rows);
        let columns =
            [&region.iso, &region.name, &region.group, &region.tb_area].into_iter().chain(&region.aliases);
        texts.push_str(&columns.map(String::as_str).collect::<Vec<_>>().join("|"));
        texts.push('\n');
    }
    write_table("regions", &rows)?;
    write_table("region_texts", texts.as_bytes())
}
