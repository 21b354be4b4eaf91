//! Countries and regions agree with the CSV files.

use gazetteer::{countries, country, regions};

use crate::rows;

#[test]
fn countries_agree_with_the_file() {
    let file = rows(include_str!("../../data/countries.csv"));
    assert_eq!(countries().len(), 249);
    for (row, c) in file.iter().zip(countries()) {
        let units = [c.unit_distance, c.unit_weight, c.unit_capacity, c.unit_temperature];
        let texts = [c.iso, c.iso3, c.name, c.continent, c.calling_code, c.currency, c.locale];
        assert_eq!(*row, [&texts[..], &units, &[c.zone_descriptor]].concat());
        assert_eq!(country(c.iso).unwrap().name, c.name);
    }
    assert!(country("XX").is_none() && country("gb").is_none() && country("").is_none());
}

#[test]
fn regions_agree_with_the_file() {
    let file = rows(include_str!("../../data/regions.csv"));
    assert_eq!(file.len(), 5046);
    let all = countries().iter().flat_map(|country| regions(country.iso));
    for (row, r) in file.iter().zip(all) {
        let tb = if r.tb_months() == 0 { String::new() } else { r.tb_months().to_string() };
        let aliases: Vec<&str> =
            row[4].split('|').filter(|alias| !alias.is_empty() && *alias != r.name()).collect();
        assert_eq!([&*row[2], &*row[3], &*row[5]], [r.country(), r.group(), &tb]);
        assert_eq!(aliases, r.aliases().collect::<Vec<_>>());
        assert!(r.aliases().all(|alias| alias != r.name()), "{}", r.iso());
        let is_reordered = |(rest, first): (&str, &str)| r.name() == format!("{first} {rest}");
        assert!(
            row[0] == r.iso() && (row[1] == r.name() || row[1].rsplit_once(", ").is_some_and(is_reordered))
        );
    }
    assert_eq!(countries().iter().map(|country| regions(country.iso).count()).sum::<usize>(), file.len());
    assert!(regions("XX").next().is_none());
    assert!(regions("GB").any(|region| region.name() == "City of Bristol"));
}
