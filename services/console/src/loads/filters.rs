//! The query of the list of loads: what it filters and how it sorts, in the address of the page and in the API.

use chrono::{Days, NaiveDate};

use crate::api::{segment, with_query};
use crate::format::{Clock, monday, parse_date};

/// The field of the query of the list from which one came.
pub(crate) const LIST: &str = "list";

/// The most pages before the one that is shown through which `Previous` leads.
const MAX_BEFORE: usize = 3;
/// Rows on a page.
const ROWS: &str = "50";
/// The most filters of a list, and the most characters of one.
const MAX_FILTERS: usize = 30;
const MAX_CHARS: usize = 1_000;

/// A filter: its name in the address, its parameter of the API, and its name for people.
struct Filter {
    name: &'static str,
    parameter: &'static str,
    label: &'static str,
}

const fn filter(name: &'static str, parameter: &'static str, label: &'static str) -> Filter {
    Filter { name, parameter, label }
}

const FILTERS: [Filter; 16] = [
    filter("q", "query", "Words"),
    filter("status", "f:status", "Status"),
    filter("carrier", "f:carrierId", "Haulier"),
    filter("organiser", "f:organiserId", "Organiser"),
    filter("commodity", "f:commodityId", "Commodity"),
    filter("tag", "f:tag", "Tag"),
    filter("batch", "f:batchId", "Import"),
    filter("file", "f:fileId", "File"),
    filter("creator", "f:createdBy", "Entered by"),
    filter("driver", "f:driverId", "Driver"),
    filter("week", "", "Week of"),
    filter("from", "startDateISO", "From"),
    filter("to", "endDateISO", "To"),
    filter("overdue", "overdue", "Overdue"),
    filter("awaiting", "awaitsAcceptance", "Awaiting acceptance"),
    filter("differs", "weightDiffersByPercent", "Delivered outside, %"),
];

/// The filters that name organisations and drivers.
const NAMED: [&str; 3] = ["carrier", "organiser", "driver"];

/// The statuses of loads.
pub(crate) const STATUSES: [&str; 5] = ["upcoming", "collected", "completed", "rejected", "cancelled"];

/// The columns that sort: the name in the address, the key of the API, and the heading.
pub(crate) const SORTS: [(&str, &str, &str); 8] = [
    ("reference", "reference", "Load"),
    ("delivery", "deliveryDateISO", "Delivery"),
    ("organiser", "organiser", "Organiser"),
    ("haulier", "carrier", "Haulier"),
    ("commodity", "commodity", "Commodity"),
    ("planned", "weight", "Planned t"),
    ("net", "weightNet", "Net t"),
    ("status", "status", "Status"),
];

/// A column that a list may have besides the reference and the status.
pub(crate) struct Column {
    /// The name in the address.
    pub(crate) name: &'static str,
    pub(crate) heading: &'static str,
    /// Its column in exports of the API.
    exported: &'static str,
    /// Whether the list has it unless others are chosen.
    is_usual: bool,
}

const fn column(name: &'static str, heading: &'static str, exported: &'static str, is_usual: bool) -> Column {
    Column { name, heading, exported, is_usual }
}

pub(crate) const COLUMNS: [Column; 11] = [
    column("delivery", "Delivery", "deliveryDateISO", true),
    column("organiser", "Organiser", "organiserName", true),
    column("haulier", "Haulier", "carrierName", true),
    column("commodity", "Commodity", "commodityName", true),
    column("planned", "Planned t", "weight", true),
    column("net", "Net t", "weightNet", true),
    column("vehicle", "Vehicle", "vehicleRegistration", true),
    column("ticket", "Ticket", "ticketNumber", false),
    column("from", "From", "pickupPostcode", false),
    column("to", "To", "dropoffPostcode", false),
    column("tags", "Tags", "tags", false),
];

/// The query of a list. Parameters that it does not know are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListQuery(Vec<(String, String)>);

/// Parameters that are no filters but say where one is in the list. `cursor` is the page, and `before` the last load of
/// each of up to [`MAX_BEFORE`] pages before it, the nearest page last. `previous` and `next` are the loads beside the
/// one that is shown, which may have left the list meanwhile. A load is written as its id and the cursor of its page.
fn is_place(name: &str) -> bool {
    ["cursor", "before", "previous", "next"].contains(&name)
}

/// A filter that is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chip {
    pub(crate) text: String,
    /// The address of the list without it.
    pub(crate) without: String,
}

impl ListQuery {
    /// Parses the query of an address. Empty values count as absent.
    pub(crate) fn parse(query: &str) -> Self {
        let is_known = |name: &str| {
            is_place(name)
                || ["sort", "col"].contains(&name)
                || FILTERS.iter().any(|filter| filter.name == name)
        };
        let pairs = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let known = pairs.map(|(name, value)| {
            // A typed day; what is none is left for the API to refuse.
            let day = ["week", "from", "to"].contains(&&*name).then(|| parse_date(&value)).flatten();
            let value = value.trim().chars().take(MAX_CHARS).collect();
            (name, day.map_or(value, |day| day.to_string()))
        });
        Self(known.filter(|(name, value)| is_known(name) && !value.is_empty()).take(MAX_FILTERS).collect())
    }

    /// Returns the first value of a filter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if a filter has this value.
    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(known, own)| known == name && own == value)
    }

    /// Returns true if the list has this column.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        let is_usual = COLUMNS.iter().any(|column| column.name == name && column.is_usual);
        if self.get("col").is_some() { self.has("col", name) } else { is_usual }
    }

    /// Returns the filters as parameters of the API. `is_driver`: of the loads that were sent to the caller. Days are
    /// those of the zone of the clock.
    pub(crate) fn parameters(&self, is_driver: bool, clock: Clock) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        for (name, value) in &self.0 {
            let Some(filter) = FILTERS.iter().find(|filter| filter.name == name) else { continue };
            match (filter.name, parse_date(value)) {
                ("week", Some(day)) => {
                    let first = monday(day);
                    parameters.push(("startDateISO", clock.from(first)));
                    parameters.push(("endDateISO", clock.until(first + Days::new(6))));
                }
                ("week", None) => parameters.push(("startDateISO", value.clone())),
                ("from", Some(day)) => parameters.push((filter.parameter, clock.from(day))),
                ("to", Some(day)) => parameters.push((filter.parameter, clock.until(day))),
                ("driver", _) if is_driver => {}
                ("overdue" | "awaiting", _) => parameters.push((filter.parameter, "true".to_owned())),
                _ => parameters.push((filter.parameter, value.clone())),
            }
        }
        if is_driver {
            parameters.push(("f:driverId", "me".to_owned()));
        }
        parameters
    }

    /// Returns the parameters of the order.
    pub(crate) fn order(&self) -> Vec<(&'static str, String)> {
        let (name, descends) = self.sort();
        let key = SORTS.iter().find(|(known, ..)| *known == name).map(|(_, key, _)| *key);
        key.map_or_else(Vec::new, |key| vec![("sortBy", key.to_owned()), ("sortDesc", descends.to_string())])
    }

    /// Returns the parameters of a page of the list: filters, order, cursor and number of rows.
    pub(crate) fn page(&self, is_driver: bool, clock: Clock) -> Vec<(&'static str, String)> {
        let mut parameters = self.parameters(is_driver, clock);
        parameters.extend(self.order());
        parameters.push(("limit", ROWS.to_owned()));
        parameters.extend(self.get("cursor").map(|cursor| ("cursor", cursor.to_owned())));
        parameters
    }

    /// Returns the columns of the list as the API exports them, separated by commas.
    pub(crate) fn exported_columns(&self) -> String {
        let columns = COLUMNS.iter().filter(|column| self.has_column(column.name));
        let columns = columns.map(|column| column.exported);
        ["reference"].into_iter().chain(columns).chain(["status"]).collect::<Vec<_>>().join(",")
    }

    /// Returns the parameters of an export of some loads of the list, whatever has become of them since, in its order.
    pub(crate) fn export_of(&self, ids: &[&str]) -> Vec<(&'static str, String)> {
        let mut parameters = vec![("f:id", ids.join(",")), ("f:status", STATUSES.join(","))];
        parameters.extend(self.order());
        parameters
    }

    /// Returns the name of the column that sorts, and whether it descends. By default the newest deliveries come first.
    pub(crate) fn sort(&self) -> (&str, bool) {
        let sort = self.get("sort").unwrap_or("-delivery");
        sort.strip_prefix('-').map_or((sort, false), |name| (name, true))
    }

    /// Returns the address of the list sorted by a column: descending if it ascends already.
    pub(crate) fn sorted_by(&self, name: &str) -> String {
        let descends = self.sort() == (name, false);
        let sort = format!("{}{name}", if descends { "-" } else { "" });
        self.address(|(name, _)| name != "sort" && !is_place(name), &[("sort", &sort)])
    }

    /// Returns the address of the page at a cursor. `last`: the id of the last load of this page.
    pub(crate) fn at(&self, cursor: &str, last: &str) -> String {
        self.after(cursor, last).path()
    }

    /// Returns the list at the page of a cursor, which follows this one. `last`: the id of the last load of this page.
    pub(crate) fn after(&self, cursor: &str, last: &str) -> Self {
        let (before, last) = (self.before(), self.place(last));
        let before = &before[(before.len() + 1).saturating_sub(MAX_BEFORE)..];
        self.on(cursor, &[before, &[last.as_str()]].concat())
    }

    /// Returns the places of the last loads of the pages before this one.
    pub(crate) fn before(&self) -> Vec<&str> {
        let before = self.0.iter().filter(|(name, _)| name == "before");
        before.map(|(_, place)| place.as_str()).collect()
    }

    /// Returns the list at the page of a cursor, which is empty for the first one, after the loads at these places.
    fn on(&self, cursor: &str, before: &[&str]) -> Self {
        let cursor = Some(("cursor", cursor)).filter(|(_, cursor)| !cursor.is_empty());
        let places = cursor.into_iter().chain(before.iter().map(|place| ("before", *place)));
        let places = places.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(self.0.iter().filter(|(name, _)| !is_place(name)).cloned().chain(places).collect())
    }

    /// Returns the place of a load of this page.
    pub(crate) fn place(&self, id: &str) -> String {
        format!("{id} {}", self.get("cursor").unwrap_or_default()).trim_end().to_owned()
    }

    /// Returns the list with the places of the loads beside the one that is shown.
    pub(crate) fn beside(&self, places: [Option<String>; 2]) -> Self {
        let others =
            self.0.iter().filter(|(name, _)| !["previous", "next"].contains(&name.as_str())).cloned();
        let places = ["previous", "next"].into_iter().zip(places);
        Self(others.chain(places.filter_map(|(name, place)| Some((name.to_owned(), place?)))).collect())
    }

    /// Returns the address of the `previous` or `next` load beside the one with this id.
    pub(crate) fn neighbour(&self, name: &str, id: &str) -> Option<String> {
        let place = self.get(name)?;
        let (neighbour, cursor) = place.split_once(' ').unwrap_or((place, ""));
        let before = self.before();
        let list = if cursor == self.get("cursor").unwrap_or_default() {
            self.on(cursor, &before)
        } else if name == "next" {
            self.after(cursor, id)
        } else {
            self.on(cursor, &before[..before.len().saturating_sub(1)])
        };
        Some(list.load_path(neighbour))
    }

    /// Returns the address of a load, from which one comes back to this page.
    pub(crate) fn load_path(&self, id: &str) -> String {
        self.kept_by(&format!("/loads/{}", segment(id)))
    }

    /// Returns an address that keeps this page in its query, unless it is the first one of all loads.
    pub(crate) fn kept_by(&self, path: &str) -> String {
        let list = self.encoded();
        if list.is_empty() { path.to_owned() } else { with_query(path, &[(LIST, &list)]) }
    }

    /// Returns the address of the first page.
    pub(crate) fn first(&self) -> String {
        self.address(|(name, _)| !is_place(name), &[])
    }

    /// Returns the address of this page.
    pub(crate) fn path(&self) -> String {
        self.address(|(name, _)| !["previous", "next"].contains(&name), &[])
    }

    /// Returns the query of this page and the loads beside the one that is shown, for links and forms that lead back.
    pub(crate) fn encoded(&self) -> String {
        self.address(|_| true, &[]).split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    /// Returns the filters that name organisations and drivers.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.0.iter().filter(|(name, value)| NAMED.contains(&name.as_str()) && value != "me");
        named.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the list with ids in the place of names. `id_of` returns the id of what was typed, if somebody has it.
    pub(crate) fn with_ids(&self, id_of: impl Fn(&str) -> Option<String>) -> Self {
        let id = |(name, value): &(String, String)| {
            let id = NAMED.contains(&name.as_str()).then(|| id_of(value)).flatten();
            (name.clone(), id.unwrap_or_else(|| value.clone()))
        };
        Self(self.0.iter().map(id).collect())
    }

    /// Returns true if a filter is on.
    pub(crate) fn is_filtered(&self) -> bool {
        self.kept(&["sort", "col"]).next().is_some()
    }

    /// Returns the address of the list with loads of all statuses, if it leaves cancelled ones out because it names no
    /// status.
    pub(crate) fn with_cancelled(&self) -> Option<String> {
        let statuses = STATUSES.map(|status| ("status", status));
        self.get("status").is_none().then(|| self.address(|(name, _)| !is_place(name), &statuses))
    }

    /// Returns a chip for each filter that is on. Without one, the list starts at its first page.
    pub(crate) fn chips(&self, clock: Clock, names: impl Fn(&str, &str) -> Option<String>) -> Vec<Chip> {
        let has_all = STATUSES.iter().all(|status| self.has("status", status));
        let all = has_all.then(|| Chip {
            text: "With cancelled loads".to_owned(),
            without: self.address(|(name, _)| name != "status" && !is_place(name), &[]),
        });
        let on =
            self.0.iter().filter(|(name, _)| !(has_all && name == "status")).filter_map(|(name, value)| {
                let label = FILTERS.iter().find(|filter| filter.name == name)?.label;
                let day = || value.parse::<NaiveDate>().ok().map(|day| clock.day(day));
                let text = match name.as_str() {
                    "overdue" | "awaiting" => label.to_owned(),
                    "week" | "from" | "to" => format!("{label} {}", day().unwrap_or_else(|| value.clone())),
                    _ => format!("{label}: {}", names(name, value).unwrap_or_else(|| value.clone())),
                };
                let without =
                    self.address(|(own, other)| !(is_place(own) || own == name && other == value), &[]);
                Some(Chip { text, without })
            });
        all.into_iter().chain(on).collect()
    }

    /// Returns the pairs that a form for further filters keeps: all but the page and those with these names.
    pub(crate) fn kept(&self, without: &[&str]) -> impl Iterator<Item = &(String, String)> {
        let without: Vec<String> = without.iter().map(ToString::to_string).collect();
        self.0.iter().filter(move |(name, _)| !is_place(name) && !without.contains(name))
    }

    fn address(&self, keep: impl Fn((&str, &str)) -> bool, added: &[(&str, &str)]) -> String {
        let own = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs: Vec<_> = own.filter(|pair| keep(*pair)).chain(added.iter().copied()).collect();
        with_query("/loads", &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { zone: chrono_tz::Europe::London };

    #[test]
    fn filters_become_parameters() {
        let query =
            ListQuery::parse("week=2020-08-05&status=upcoming&status=collected&q=&x=1&overdue=on&sort=-net");
        let parameters = query.parameters(true, CLOCK);
        let expected = [
            ("startDateISO", "2020-08-02T23:00:00.000Z"),
            ("endDateISO", "2020-08-09T22:59:59.999Z"),
            ("f:status", "upcoming"),
            ("f:status", "collected"),
            ("overdue", "true"),
            ("f:driverId", "me"),
        ];
        assert_eq!(parameters, expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(query.order(), [("sortBy", "weightNet".to_owned()), ("sortDesc", "true".to_owned())]);
        assert_eq!(ListQuery::parse("from=Wed+5+Aug+2020").get("from"), Some("2020-08-05"));
        let unknown = ListQuery::parse("week=soon&week=-262143-01-01").parameters(false, CLOCK);
        assert_eq!(
            unknown.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["startDateISO"; 2],
            "refused by the API"
        );
        assert_eq!(ListQuery::parse(&"q=a&".repeat(1_000)).parameters(false, CLOCK).len(), MAX_FILTERS);
        let tag = ListQuery::parse("tag=a&col=ticket&col=net");
        assert_eq!(tag.parameters(false, CLOCK), [("f:tag", "a".to_owned())]);
        assert!(tag.has_column("ticket") && !tag.has_column("vehicle"));
        assert!(ListQuery::default().has_column("vehicle") && !ListQuery::default().has_column("ticket"));
        assert_eq!(ListQuery::parse("sort=password").order(), [], "the order of the API");
    }

    #[test]
    fn each_filter_is_a_chip_and_a_change_starts_at_the_first_page() {
        let query =
            ListQuery::parse("status=upcoming&status=collected&cursor=abc&from=2020-08-03&carrier=haul");
        let chips = query.chips(CLOCK, |name, _| (name == "carrier").then(|| "Hereford Haulage".to_owned()));
        let texts: Vec<_> = chips.iter().map(|chip| chip.text.as_str()).collect();
        let expected =
            ["Status: upcoming", "Status: collected", "From Mon 3 Aug 2020", "Haulier: Hereford Haulage"];
        assert_eq!(texts, expected);
        assert_eq!(chips[0].without, "/loads?status=collected&from=2020-08-03&carrier=haul");
        assert_eq!(
            query.at("x y", "7"),
            "/loads?status=upcoming&status=collected&from=2020-08-03&carrier=haul&cursor=x+y&before=7+abc"
        );
        let all = ListQuery::parse("cursor=a&tag=b").with_cancelled().unwrap();
        let all = ListQuery::parse(all.split_once('?').unwrap().1);
        let chips = all.chips(CLOCK, |_, _| None);
        assert_eq!((chips.len(), chips[0].text.as_str()), (2, "With cancelled loads"));
        assert_eq!((chips[0].without.as_str(), all.with_cancelled()), ("/loads?tag=b", None));
        assert_eq!(ListQuery::parse("cursor=a&sort=net").sorted_by("net"), "/loads?sort=-net");
        assert_eq!(ListQuery::parse("cursor=a&sort=-net").sorted_by("net"), "/loads?sort=net");
        let list =
            ListQuery::parse("tag=a&cursor=c&before=5+b").beside([Some("6 c".into()), Some("8 d".into())]);
        assert_eq!(ListQuery::parse(&list.encoded()), list);
        assert_eq!(list.path(), "/loads?tag=a&cursor=c&before=5+b");
        assert_eq!(list.first(), "/loads?tag=a");
        let previous = list.neighbour("previous", "7").unwrap();
        assert_eq!(previous, "/loads/6?list=tag%3Da%26cursor%3Dc%26before%3D5%2Bb");
        let next = list.neighbour("next", "7").unwrap();
        assert_eq!(next, "/loads/8?list=tag%3Da%26cursor%3Dd%26before%3D5%2Bb%26before%3D7%2Bc");
        // Back over the borders of several pages.
        let pages =
            ["b", "c", "d", "e"].iter().fold(ListQuery::parse("tag=a"), |list, page| list.after(page, "9"));
        assert_eq!(pages.before(), ["9 b", "9 c", "9 d"], "not those of all pages");
        let back = pages.beside([pages.before().last().map(ToString::to_string), None]);
        let back = back.neighbour("previous", "1").unwrap();
        assert_eq!(back, "/loads/9?list=tag%3Da%26cursor%3Dd%26before%3D9%2Bb%26before%3D9%2Bc");
        assert_eq!(ListQuery::parse("cursor=a").first(), "/loads");
        assert_eq!(ListQuery::parse(&query.encoded()), query);
    }
}
