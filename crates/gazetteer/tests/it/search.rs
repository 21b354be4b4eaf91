//! Search by name and container, and paging.

use gazetteer::{CountrySet, Hit, HitKind, SearchOptions};
use proptest::prelude::*;

use crate::{GAZETTEER, search, search_preferring, texts};

fn search_with(options: SearchOptions<'_>) -> Vec<Hit> {
    GAZETTEER.search(&SearchOptions { limit: 100, ..options })
}

#[test]
fn finds_names_prefixes_and_misspellings() {
    let hit = |text, n: usize| search(text).swap_remove(n);
    let hereford = hit("Hereford", 0);
    assert_eq!((&*hereford.id, hereford.kind), ("place:2647074", HitKind::Place));
    assert_eq!(hereford.description, "Herefordshire, England, United Kingdom");
    assert_eq!(hit("herefrod", 0), hereford);
    assert_eq!(hit("ereford", 0), hereford);
    let ballina = hit("Ballina", 0);
    assert_eq!((&*ballina.text, &*ballina.description), ("Ballina", "Mayo, Ireland"));
    let county = hit("herefordsh", 0);
    assert_eq!((&*county.id, county.kind), ("region:GB-HEF", HitKind::Container));
    assert_eq!((&*county.text, &*county.description), ("Herefordshire", "England, United Kingdom"));
}

#[test]
fn preferred_countries_come_first() {
    let first = |codes: &[&str], text| search_preferring(codes, text).swap_remove(0).id;
    let (perth, boston) = ("place:2640358", "place:2655138");
    for (text, british, largest) in [("Perth", perth, "place:2063523"), ("Boston", boston, "place:4930956")] {
        assert_eq!(first(&["GB", "IE"], text), british);
        assert_eq!(first(&["IE", "GB", "AU", "US"], text), largest);
        assert_eq!(first(&[], text), largest);
    }
    assert_eq!(first(&["IE"], "Boston"), "place:2966053");
    assert_eq!(first(&["AU"], "Boston"), "place:4930956");
    // Exact matches in other countries come before prefix matches in preferred ones.
    let boston = search_preferring(&["GB"], "Boston");
    let country = |hit: &Hit| hit.description.rsplit(", ").next().unwrap().to_owned();
    assert_eq!((boston[0].text.as_str(), country(&boston[0])), ("Boston", "United Kingdom".to_owned()));
    assert!(
        boston[1..].iter().take_while(|hit| hit.text == "Boston").all(|hit| country(hit) != "United Kingdom")
    );
    let prefix_matches: Vec<_> = boston.iter().skip_while(|hit| hit.text == "Boston").collect();
    assert_eq!(prefix_matches[0].text, "Boston Spa");
    // Preferred countries also come first for misspellings, and for addresses with ignored parts.
    assert_eq!(first(&["GB"], "Bostn"), "place:2655138");
    assert_eq!(first(&["GB"], "Perth Australia"), "place:2063523");
    assert_eq!(first(&["AU"], "1 Station Road, Perth"), "place:2063523");
}

#[test]
fn finds_towns_that_the_sources_lack() {
    let tramore = search("Tramore").swap_remove(0);
    assert_eq!((&*tramore.text, &*tramore.description), ("Tramore", "Waterford, Ireland"));
    assert_eq!(search("Trá Mhór")[0], tramore);
    assert_eq!(search("tramore, co waterford")[0], tramore);
    let whitchurch = search("Whitchurch, Hampshire").swap_remove(0);
    assert_eq!(whitchurch.description, "Hampshire, England, United Kingdom");
    assert!(search("Whitchurch").contains(&whitchurch));
    assert_eq!(search("Whitchurch RG28")[0], whitchurch);
    let resolved = GAZETTEER.find(&whitchurch.id).unwrap();
    assert_eq!((&*resolved.address.region_iso, &*resolved.address.city), ("GB-HAM", "Whitchurch"));
    let within =
        SearchOptions { text: Some("Whitchurch"), within: Some("region:GB-HAM"), ..SearchOptions::default() };
    assert_eq!(search_with(within)[0], whitchurch);
    assert!(
        search_with(SearchOptions { within: Some("district:RG28"), ..SearchOptions::default() })
            .contains(&whitchurch)
    );
}

#[test]
fn finds_names_in_various_spellings() {
    for (text, name) in [
        ("bishops castle", "Bishop's Castle"),
        ("castle bishop", "Bishop's Castle"),
        ("ross on wye", "Ross on Wye"),
        ("Ross-on-Wye", "Ross on Wye"),
        ("dun laoghaire", "Dún Laoghaire"),
        ("saint albans", "St Albans"),
        ("st peter port", "Saint Peter Port"),
        ("SAINT HELENS", "St Helens"),
        ("co mayo", "Mayo"),
        ("Hay-on-Wye", "Hay"),
        ("Hay City", "Hay"),
        ("Aberhonddu", "Brecon"),
        ("llanbedr pont steffan", "Lampeter"),
        ("Caerdydd", "Cardiff"),
        ("Baile Átha Cliath", "Dublin"),
        ("port lairge", "Waterford"),
        ("Galway City", "Galway"),
        ("Cork City", "Cork"),
        ("Waterford City", "Waterford"),
        ("Hereford City", "Hereford"),
        ("Newcastle upon Tyen", "Newcastle upon Tyne"),
        ("Stoke on Tern", "Stoke-on-Trent"),
        ("bishops caslte", "Bishop's Castle"),
        ("Shrewsbery", "Shrewsbury"),
        ("zürich", "Zürich"),
        ("zurich", "Zürich"),
    ] {
        assert_eq!(search(text)[0].text, name, "{text}");
    }
}

#[test]
fn areas_after_a_name_restrict_the_search() {
    for (text, first) in [
        ("Hereford, Herefordshire", "place:2647074"),
        ("Hereford, Herefordshire, England", "place:2647074"),
        ("Hereford HR1", "place:2647074"),
        ("Herefrod, Herefordshire", "place:2647074"),
        ("Hereford, nowhere known", "place:2647074"),
        ("Hereford Texas", "place:5523074"),
        ("Newport Wales", "place:2641598"),
        ("newport isle of wight", "place:2641599"),
        ("Newport, West Midlands", "place:2641595"),
        ("Ballina Ireland", "place:2966778"),
        ("Ballina, Australia", "place:2177069"),
        ("Paris TX", "place:4717560"),
        ("Hay on Wye Powys", "place:2647267"),
        ("Hereford HR4", "district:HR4"),
        ("Herefrod HR4", "district:HR4"),
        ("Hereford HR4 9ZZ", "district:HR4"),
        ("Hereford, HR4, England", "district:HR4"),
        ("Glyndyfrdwy LL21", "district:LL21"),
        ("Corwen LL21", "place:4000000005"),
        ("Galway H91 E2K3", "district:IE-H91"),
        ("Galway H91 E2", "district:IE-H91"),
        ("Ballina F26 ABCD", "district:IE-F26"),
        ("Hereford, Wales", "place:2647074"),
        ("Church Farm, Bromyard", "place:2654578"),
        ("Church Farm, Bromyard, Herefordshire", "place:2654578"),
        ("Commercial Road, Hereford", "place:2647074"),
        ("Herefrod, England", "place:2647074"),
        ("Newcastle, nowhere known", "place:2641673"),
        ("Newport Shropshire", "place:2641595"),
        ("Newport, Salop", "place:2641595"),
        ("Newport Pembs", "place:2641596"),
        ("Newport IOW", "place:2641599"),
        ("Newport Gwent", "place:2641598"),
        ("Richmond, Surrey", "place:2639389"),
        ("Richmond Yorks", "place:2639388"),
        ("Newcastle, Co. Down", "place:6695976"),
        ("Newcastle County Down", "place:6695976"),
        ("Newcastle, The Square, Co. Down, NI", "place:6695976"),
        ("Dublin, Ohio", "place:5152333"),
        ("Dublin, Texas", "place:2964574"),
        ("Dublin 4", "district:IE-D04"),
        ("Dublin 04", "district:IE-D04"),
        ("Dublin 15, Ireland", "district:IE-D15"),
        ("dublin 6w", "district:IE-D6W"),
        ("Mullingar", "district:IE-N91"),
        ("Mulingar", "district:IE-N91"),
        ("Clonmel", "district:IE-E91"),
        ("Clonmel, Co. Tipperary", "district:IE-E91"),
        ("Lifford", "district:IE-F93"),
        ("Newbridge, Co Kildare", "place:2962290"),
        ("Alderney", "district:GY9"),
        ("Londonderry, NI", "place:2643736"),
        ("Armagh N Ireland", "place:2657060"),
        ("Bangor, Co. Down", "place:2656396"),
        ("Dungannon Co Tyrone", "place:2650729"),
        ("Sunderland Tyne & Wear", "place:2636531"),
        ("Carmarthen, Dyfed", "place:2653755"),
        ("Cork City, Ireland", "place:2965140"),
        ("Limerick City, Co Limerick", "place:2962943"),
        ("12 Main Street, Mullingar, Co. Westmeath, N91 E2K3", "district:IE-N91"),
        ("Unit 4, Rotherwas, Hereford HR2", "district:HR2"),
    ] {
        assert_eq!(search(text)[0].id, first, "{text}");
    }
}

#[test]
fn containers_and_countries_restrict_the_search() {
    let within = |container| SearchOptions { within: Some(container), ..SearchOptions::default() };
    let county = search_with(within("region:GB-HEF"));
    assert_eq!(county[0].text, "Hereford");
    assert!(texts(&county).contains(&"HR1"));
    assert!(search_with(within("region:GB-WLS")).iter().any(|hit| hit.id == "region:GB-POW"));
    assert!(search_with(within("region:GB-WLS")).iter().all(|hit| hit.kind == HitKind::Container));
    assert!(search_with(within("region:IE-C")).iter().any(|hit| hit.text == "Mayo"));
    for id in ["place:2647074", "postcode:HR49AR", "region:XX", "", "region:AQ-1"] {
        assert!(search_with(within(id)).is_empty(), "{id}");
    }
    let text = |text| SearchOptions { text: Some(text), ..within("region:GB-WLS") };
    assert_eq!(search_with(text("newport"))[0].id, "place:2641598");
    assert!(search_with(text("newport")).iter().all(|hit| hit.description.contains("Wales")));
    assert!(search_with(text("hereford")).is_empty());
    assert_eq!(search_with(text("ld1 5rg"))[0].id, "postcode:LD15RG");
    let inside =
        SearchOptions { text: Some("HR1 1"), within: Some("district:HR1"), ..SearchOptions::default() };
    assert_eq!(search_with(inside).len(), 100);
    let ballina =
        |iso| SearchOptions { text: Some("Ballina"), country: Some(iso), ..SearchOptions::default() };
    assert_eq!(search_with(ballina("AU"))[0].id, "place:2177069");
    assert!(search_with(ballina("XX")).is_empty() && search_with(ballina("TV")).is_empty());
    assert!(search_with(SearchOptions::default()).is_empty());
}

#[test]
fn accepts_unusual_texts() {
    for text in [
        "",
        " ",
        "\0",
        "🐄",
        "''",
        ",,,",
        "ﷺ",
        &"x".repeat(1000),
        &"a ".repeat(500),
        &"é".repeat(400),
        "İ̇",
        "𝕳",
    ] {
        assert!(search(text).len() <= 100);
    }
    let options =
        SearchOptions { text: Some("a"), offset: usize::MAX, limit: usize::MAX, ..SearchOptions::default() };
    assert!(GAZETTEER.search(&options).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn accepts_any_text(text in "\\PC{0,30}", code in "[A-Za-z]{1,2}[0-9]{1,2}[A-Z]? ?[0-9]?[A-Za-z]{0,2}") {
        for text in [text, code] {
            let found = GAZETTEER.search(&SearchOptions { text: Some(&text), limit: 10, ..SearchOptions::default() });
            prop_assert!(found.len() <= 10);
        }
    }

    #[test]
    fn pages_concatenate_to_all_hits(
        text in "[a-z]{2,3}|hereford|newport|newport, x|HR4 9|hr|bt|im|gy|dublin", country in prop::option::of(Just("GB")), size in 7usize..100,
        preferred in prop::sample::select(vec![&[][..], &["GB", "IE"], &["US"]]),
    ) {
        let preferred = CountrySet::of(preferred.iter().copied());
        let page = |limit, offset| {
            GAZETTEER.search(&SearchOptions { text: Some(&text), country, preferred, limit, offset, ..SearchOptions::default() })
        };
        let all = page(usize::MAX, 0);
        let concatenated: Vec<Hit> = (0..=all.len()).step_by(size).flat_map(|offset| page(size, offset)).collect();
        prop_assert_eq!(&concatenated, &all);
        let mut ids: Vec<_> = all.iter().map(|hit| &hit.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), all.len());
    }
}
