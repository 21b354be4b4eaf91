//! The map of Great Britain and Ireland, drawn by the server.

use maud::{Markup, html};

use crate::api::market::Clusters;
use crate::market::{ABROAD, Area, LAND, MarketQuery, Place};
use crate::views::loads::counted;

/// A tile server: the address of its pictures, and whom maps name as their source.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub(crate) url: String,
    pub(crate) attribution: String,
}

/// Digits of a coordinate of the drawing after the point.
fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns a map of an area with what `marks` draws on it.
fn drawing(area: Area, tiles: Option<&Tiles>, role: &str, label: &str, marks: &Markup) -> Markup {
    let (left, top, width, height) = area.view_box();
    let view_box = [left, top, width, height].map(unit).join(" ");
    html! {
        // A single place stays in the middle of a map that is cut to its height.
        svg.map viewBox=(view_box) role=(role) aria-label=(label)
            preserveAspectRatio=[(role == "img").then_some("xMidYMid slice")] {
            rect.sea x=(unit(left)) y=(unit(top)) width=(unit(width)) height=(unit(height)) {}
            path.abroad d=(ABROAD) {}
            path.land d=(LAND) {}
            @if let Some(tiles) = tiles {
                @for tile in area.tiles() {
                    image href=(tile.address(&tiles.url)) x=(unit(tile.x)) y=(unit(tile.y)) width=(unit(tile.size))
                        height=(unit(tile.size)) {}
                }
            }
            (marks)
        }
        @if let Some(tiles) = tiles.filter(|tiles| !tiles.attribution.is_empty()) {
            p.sub { "Map: " (tiles.attribution) }
        }
    }
}

/// Returns the map of a search: circles with numbers, each of which leads to the listings that it counts.
pub(crate) fn of_search(query: &MarketQuery, zoom: u8, clusters: &Clusters, tiles: Option<&Tiles>) -> Markup {
    let shown = query.area().map_or(Area::WHOLE, Area::shown);
    let places = shown.places(&clusters.features, zoom);
    let on_map: u64 = places.iter().map(|place| place.count).sum();
    let label = format!("Where {} are", counted(on_map, "listing"));
    let marks = html! { @for place in &places { (circle(query, place, shown)) } };
    let area = query.area().unwrap_or(Area::WHOLE);
    let to = |area: Area| query.with("box", &area.text(), false);
    html! {
        section.card.where aria-label="Map" data-box=(shown.text()) {
            (drawing(shown, tiles, "group", &label, &marks))
            div.pad {
                div.actions {
                    @if query.area().is_some() { a.btn href=(query.free_of("box")) { "Whole map" } }
                    a.btn href=(to(shown.changed(0.0, 0.0, 0.5))) { "Closer" }
                    @if query.area().is_some() { a.btn href=(to(area.changed(0.0, 0.0, 2.0))) { "Wider" } }
                    @for (right, up, sign, name) in [(-0.5, 0.0, "←", "west"), (0.5, 0.0, "→", "east"), (0.0, 0.5, "↑", "north"),
                        (0.0, -0.5, "↓", "south")] {
                        a.btn href=(to(area.changed(right, up, 1.0))) { (sign) span.hidden { " Further " (name) } }
                    }
                }
                p.muted {
                    "A number leads to the listings in its place."
                    @if clusters.without_coordinates > 0 {
                        " " (counted(clusters.without_coordinates, "listing")) " without a place on the map."
                    }
                    @if clusters.truncated { " There are more than the map can show." }
                }
            }
        }
    }
}

fn circle(query: &MarketQuery, place: &Place, shown: Area) -> Markup {
    let (_, _, width, _) = shown.view_box();
    let text = counted(place.count, "listing");
    html! {
        a href=(query.with("box", &place.area.text(), false)) aria-label=(text) {
            circle cx=(unit(place.x)) cy=(unit(place.y)) r=(unit(place.radius)) { title { (text) } }
            // Letters grow with the drawing, so they shrink with the area.
            text x=(unit(place.x)) y=(unit(place.y)) dy="0.35em" font-size=(unit(width / 27.0)) { (place.count) }
        }
    }
}

/// Returns a map with one place.
pub(crate) fn of_place(latitude: f64, longitude: f64, tiles: Option<&Tiles>) -> Markup {
    // As far as one drives for a look at some animals.
    let around =
        Area { west: longitude - 1.6, south: latitude - 1.0, east: longitude + 1.6, north: latitude + 1.0 };
    let shown = around.shown();
    let (left, top, width, height) = shown.view_box();
    let marks = html! {
        circle cx=(unit(left + width / 2.0)) cy=(unit(top + height / 2.0)) r=(unit(width / 45.0)) {}
    };
    drawing(shown, tiles, "img", "Where it is", &marks)
}
