//! Countries and regions as Rust: they are handed out as they are.

use std::fmt::Write;

use crate::source::Source;
use crate::{Result, write};

pub fn write_all(source: &Source) -> Result {
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
    write("countries.rs", (countries + "]").as_bytes())?;

    let mut regions = String::from("&[");
    for region in &source.regions {
        writeln!(
            regions,
            "Region {{ iso: {:?}, name: {:?}, country: {:?}, group: {:?}, aliases: &{:?}, tb_months: {}, \
             at: ({}, {}), parent: {:?} }},",
            region.iso,
            region.name,
            &source.countries[usize::from(region.country)][0],
            region.group,
            region.aliases,
            region.tb_months,
            region.at.lat,
            region.at.lon,
            region.parent,
        )?;
    }
    write("regions.rs", (regions + "]").as_bytes())
}
