//! What the gazetteer makes of a text: `cargo run -p gazetteer --example lookup -- herefrod`. An id lists what is in the
//! container, two numbers ask for the nearest, three words with dots for their point.

use gazetteer::{CountrySet, Gazetteer, Grid, Search};

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
    let search = if let Some(spot) = gazetteer.find(&text) {
        println!("{spot:#?}");
        Search { within: Some(&text), limit: 20, ..Search::default() }
    } else {
        let preferred = CountrySet::of(["GB", "IE"]);
        Search { text: Some(&text), preferred, limit: 20, ..Search::default() }
    };
    for hit in gazetteer.search(&search) {
        println!("{:24} {:?} {} ({})", hit.id, hit.kind, hit.text, hit.description);
    }
}
