//! Looks up a text: `cargo run -p gazetteer --example lookup -- herefrod`.
//!
//! An id of a container lists its contents. Two numbers are a latitude and a longitude, for the nearest place. Three
//! words with dots are decoded to their point.

use gazetteer::{CountrySet, Gazetteer, Grid, SearchOptions};

fn main() {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let (gazetteer, grid) = (Gazetteer::open(), Grid::open());
    if let Some((Ok(lat), Ok(lon))) = text.split_once(' ').map(|(lat, lon)| (lat.parse(), lon.parse())) {
        println!("{}\n{:#?}", grid.encode(lat, lon), gazetteer.nearest(lat, lon));
        return;
    }
    if text.matches('.').count() == 2 {
        println!("{:?}", grid.decode(&text));
        return;
    }
    let options = if let Some(address) = gazetteer.find(&text) {
        println!("{address:#?}");
        SearchOptions { within: Some(&text), limit: 20, ..SearchOptions::default() }
    } else {
        let preferred = CountrySet::of(["GB", "IE"]);
        SearchOptions { text: Some(&text), preferred, limit: 20, ..SearchOptions::default() }
    };
    for hit in gazetteer.search(&options) {
        println!("{:24} {:?} {} ({})", hit.id, hit.kind, hit.text, hit.description);
    }
}
