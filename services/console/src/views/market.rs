//! The market: cards or a table of listings, filters with numbers, and the map.

use maud::{Markup, html};
use serde_json::Value;

use super::layout::{form_token, module};
use super::map::{self, Tiles};
use crate::api::market::{Attachment, Clusters, Listing};
use crate::api::{segment, with_query};
use crate::format::{Clock, number, typed_number};
use crate::market::{Choice, Group, MarketQuery, SORTS, ages, animals, place, price, title};
use crate::user::User;
use crate::views::loads::counted;

/// The columns of the table that sort: the order that a click on the heading chooses, and the heading.
const COLUMNS: [(&str, &str); 8] = [
    ("", "Listing"),
    ("", "Breed"),
    ("most", "Number"),
    ("youngest", "Age"),
    ("cheapest", "Price"),
    ("", "Place"),
    ("nearest", "Distance km"),
    ("seller", "Seller"),
];
/// Columns of numbers.
const NUMBERS: [&str; 2] = ["Number", "Distance km"];

/// What the page shows. What is away is absent.
pub(crate) struct MarketView<'a> {
    /// `None` for a visitor.
    pub(crate) user: Option<&'a User>,
    pub(crate) clock: Clock,
    pub(crate) query: &'a MarketQuery,
    pub(crate) listings: Option<&'a [Listing]>,
    /// Ids of the files that are pictures, of listings that somebody with a log-in sees.
    pub(crate) pictures: &'a [String],
    pub(crate) next: Option<&'a str>,
    pub(crate) total: Option<u64>,
    pub(crate) groups: &'a [Group],
    pub(crate) clusters: Option<&'a Clusters>,
    pub(crate) zoom: u8,
    pub(crate) tiles: Option<&'a Tiles>,
    pub(crate) missing: &'a [String],
    pub(crate) done: Option<&'a str>,
}

impl MarketView<'_> {
    /// Returns the page.
    pub(crate) fn markup(&self) -> Markup {
        let query = self.query;
        html! {
            div.head {
                h1 { "Market" }
                @if let Some(total) = self.total { small { (counted(total, "listing")) } }
                div.actions { (self.actions()) }
            }
            @if let Some(done) = self.done { p.notice role="status" { (done) } }
            @for missing in self.missing { p.notice.bad role="status" { (missing) } }
            (self.filters())
            div.market {
                (self.facets())
                div {
                    @if let Some(listings) = self.listings {
                        @if listings.is_empty() { (self.empty()) }
                        @else if query.is_table() { (self.table(listings)) }
                        @else { (self.cards(listings)) }
                    }
                    p.paging {
                        @if query.get("cursor").is_some() { a href=(query.free_of("cursor")) { "First page" } " · " }
                        @if let Some(next) = self.next { a rel="next" href=(query.at(next)) { "More" } }
                    }
                }
                @if let Some(clusters) = self.clusters {
                    (map::of_search(query, self.zoom, clusters, self.tiles))
                }
            }
            (module("map.js"))
        }
    }

    fn actions(&self) -> Markup {
        let query = self.query;
        let Some(user) = self.user else {
            return html! { a.btn.primary href=(with_query("/login", &[("to", &query.path())])) { "Log in" } };
        };
        let sells = user.person.organisation_id.is_some() && user.person.may_write();
        html! {
            @if query.is_filtered() && !user.person.is_weigher {
                a.btn href={ "/market/save?" (query.encoded()) } { "Save this search" }
            }
            @if sells { a.btn.primary href="/market/new" { "Sell or seek" } }
        }
    }

    fn filters(&self) -> Markup {
        let query = self.query;
        let value = |name: &str| query.get(name).unwrap_or_default();
        let own = ["q", "near", "within", "order"];
        let label = |name: &str, value: &str| {
            let is_status = name == "status";
            is_status.then(|| status_name(value).to_owned())
        };
        html! {
            form.filters role="search" action="/market" {
                @for (name, value) in query.kept(&own) { input type="hidden" name=(name) value=(value); }
                input type="search" name="q" value=(value("q")) aria-label="Words" placeholder="Breed, words";
                label { "Near " input.short name="near" value=(value("near")) placeholder="LD3 7HP" autocomplete="off"; }
                label { "within " input.num.short name="within" value=(value("within")) placeholder="50" autocomplete="off"; " km" }
                select name="order" aria-label="Order" {
                    @for (name, _, _, text) in SORTS {
                        @if name != "nearest" || query.get("near").is_some() {
                            option value=(name) selected[self.is_ordered(name)] { (text) }
                        }
                    }
                }
                button { "Search" }
            }
            div.filters {
                @for (text, without) in query.chips(label) {
                    a.chip.on href=(without) { (text) " ✕" span.hidden { " (remove this filter)" } }
                }
                @if query.is_filtered() { a href="/market" { "All listings" } }
                @if let Some(user) = self.user { (self.views_of(user)) }
                @if query.is_table() { a.chip href=(query.free_of("view")) { "Cards" } }
                @else { a.chip href=(query.with("view", "table", false)) { "Table" } }
            }
        }
    }

    fn is_ordered(&self, name: &str) -> bool {
        let default = if self.query.get("near").is_some() { "nearest" } else { "newest" };
        self.query.order().unwrap_or(default) == name
    }

    /// Returns what only somebody who is logged in has: a wishlist, and listings of the own organisation.
    fn views_of(&self, user: &User) -> Markup {
        let query = self.query;
        html! {
            a.chip href=(if user.person.organisation_id.is_some() { "/market/enquiries" } else { "/market/enquiries?view=sent" }) { "Enquiries" }
            @if query.get("wishlist").is_none() { a.chip href="/market?wishlist=on" { "My wishlist" } }
            @if let Some(organisation) = &user.person.organisation_id {
                @if query.get("seller") != Some(organisation) {
                    a.chip href=(with_query("/market", &[("seller", organisation)])) { "Our listings" }
                }
                @if query.get("status") != Some("draft") { a.chip href="/market?status=draft" { "Our drafts" } }
            }
        }
    }

    fn facets(&self) -> Markup {
        html! {
            section.card.pad.facets aria-label="Filters" {
                details {
                    summary { "Filters" }
                    @for group in self.groups {
                        h2 { (group.title) }
                        ul { @for choice in &group.shown { (facet(choice)) } }
                        @if !group.more.is_empty() {
                            details { summary { (group.more.len()) " more" }
                                ul { @for choice in &group.more { (facet(choice)) } } }
                        }
                    }
                    h2 { "Age, months" }
                    form action="/market" {
                        @for (name, value) in self.query.kept(&["youngest", "oldest"]) {
                            input type="hidden" name=(name) value=(value);
                        }
                        @for (name, text) in [("youngest", "From"), ("oldest", "to")] {
                            label { (text) " " input.num.tiny name=(name) value=(self.query.get(name).unwrap_or_default())
                                autocomplete="off"; " " }
                        }
                        button { "Show" }
                    }
                }
            }
        }
    }

    fn empty(&self) -> Markup {
        html! {
            div.card.pad {
                @if self.query.is_filtered() {
                    p { "No listing matches these filters." }
                    p { a href="/market" { "Show all listings" } }
                } @else {
                    p { "Nobody offers or seeks anything at the moment." }
                }
            }
        }
    }

    fn cards(&self, listings: &[Listing]) -> Markup {
        html! { div.cards { @for listing in listings { (self.card(listing)) } } }
    }

    fn card(&self, listing: &Listing) -> Markup {
        html! {
            article.card {
                a href=(self.path(listing)) {
                    span.picture {
                        @match self.pictures_of(listing).next() {
                            Some(file) => (picture(file, self.user.is_none(), "200px", &title(listing))),
                            None => "no picture",
                        }
                    }
                    b { (title(listing)) }
                }
                div.pad {
                    (labels(listing))
                    small { (listing.organisation_name) " · " (place(&listing.location)) }
                    @if let Some(distance) = listing.distance_km { small { (typed_number(distance.round())) " km away" } }
                    span.price { (price(listing)) }
                    @if self.user.is_some() { (self.wish(listing)) }
                }
            }
        }
    }

    fn wish(&self, listing: &Listing) -> Markup {
        let Some(user) = self.user else { return html! {} };
        let (then, text) = wish_button(listing);
        html! {
            form method="post" action={ "/market/" (segment(&listing.id)) "/wishlist" } {
                (form_token(user))
                input type="hidden" name="to" value=(self.query.path());
                button.plain name="then" value=(then) { (text) span.hidden { ": " (title(listing)) } }
            }
        }
    }

    fn table(&self, listings: &[Listing]) -> Markup {
        let head = |(order, text): &(&str, &str)| {
            let is_sorted = !order.is_empty() && self.is_ordered(order);
            let leads = !order.is_empty() && (*order != "nearest" || self.query.get("near").is_some());
            html! {
                th.num[NUMBERS.contains(text)] aria-sort=[is_sorted.then_some("ascending")] {
                    @if leads { a href=(self.query.with("order", order, false)) { (text) } } @else { (text) }
                }
            }
        };
        html! {
            div.card.scroll tabindex="0" role="region" aria-label="Listings" {
                table.stack {
                    thead { tr { @for column in &COLUMNS { (head(column)) } th { "Since" } } }
                    tbody { @for listing in listings { (self.row(listing)) } }
                }
            }
        }
    }

    fn row(&self, listing: &Listing) -> Markup {
        let text =
            |name: &str| listing.properties.get(name).and_then(Value::as_str).unwrap_or("–").to_owned();
        let dash = || "–".to_owned();
        html! {
            tr {
                td.c-load { a.main href=(self.path(listing)) { (title(listing)) } " " (labels(listing)) }
                td.wide { (text("breed")) }
                td.num.wide { (animals(listing).map_or_else(dash, |count| count.to_string())) }
                td.wide { (ages(listing).unwrap_or_else(dash)) }
                td.c-status { (price(listing)) }
                td.c-date { (place(&listing.location)) }
                td.num.wide { (listing.distance_km.map_or_else(dash, |distance| number(distance).replace(".00", ""))) }
                td.wide { (listing.organisation_name) }
                td.wide { (listing.published_at.as_ref().map_or_else(dash, |at| self.clock.time(at))) }
            }
        }
    }

    /// Returns the address of a listing, with the way back.
    fn path(&self, listing: &Listing) -> String {
        let path = format!("/market/{}", segment(&listing.id));
        let list = self.query.encoded();
        if list.is_empty() { path } else { with_query(&path, &[("list", &list)]) }
    }

    fn pictures_of<'b>(&'b self, listing: &'b Listing) -> impl Iterator<Item = &'b Attachment> {
        // Visitors get pictures only.
        let is_picture = move |file: &&Attachment| self.user.is_none() || self.pictures.contains(&file.id);
        listing.files.iter().filter(is_picture)
    }
}

fn facet(choice: &Choice) -> Markup {
    let Choice { label, count, is_chosen, path } = choice;
    html! {
        li {
            @match path {
                Some(path) => a.on[*is_chosen] href=(path) aria-current=[is_chosen.then_some("true")] {
                    (label) @if *is_chosen { " ✕" span.hidden { " (remove this filter)" } } span.count { (count) }
                },
                None => span.none { (label) span.count { (count) } },
            }
        }
    }
}

/// Returns what the button of the wishlist does and says.
pub(crate) fn wish_button(listing: &Listing) -> (&'static str, &'static str) {
    if listing.is_wishlisted {
        ("remove", "★ On your wishlist")
    } else {
        ("add", "☆ Add to your wishlist")
    }
}

/// Returns words on a listing that is not simply for sale.
pub(crate) fn labels(listing: &Listing) -> Markup {
    html! {
        @if listing.kind == "buying" { span.status.collected { "Wanted" } " " }
        @match listing.status.as_str() {
            "active" => {},
            other => { span.status.(class_of(other)) { (status_name(other)) } " " },
        }
        @if listing.suspended { span.status.rejected { "Seller suspended" } " " }
    }
}

fn class_of(status: &str) -> &'static str {
    match status {
        "sold" | "found" => "completed",
        "draft" => "upcoming",
        _ => "cancelled",
    }
}

/// Returns the name of a status.
pub(crate) fn status_name(status: &str) -> &str {
    match status {
        "active" => "On the market",
        "active-selling" => "For sale",
        "active-buying" => "Wanted",
        "sold" => "Sold",
        "found" => "Found",
        "cancelled" => "Withdrawn",
        "draft" => "Draft",
        other => other,
    }
}

/// Returns a picture in the sizes that screens need, from the console's own origin.
pub(crate) fn picture(file: &Attachment, is_public: bool, width: &str, text: &str) -> Markup {
    let address = |pixels: u32| {
        if is_public {
            let link = file.urls.get(&pixels.to_string()).and_then(|link| link.split_once('?'));
            format!("/market/pictures/{}?{}", segment(&file.id), link.map_or("", |(_, query)| query))
        } else {
            format!("/files/{}?width={pixels}", segment(&file.id))
        }
    };
    let set = [320, 640, 1280].map(|pixels| format!("{} {pixels}w", address(pixels))).join(", ");
    html! { img src=(address(320)) srcset=(set) sizes=(width) alt={ "Picture of " (text) } loading="lazy" width="320" height="213"; }
}
