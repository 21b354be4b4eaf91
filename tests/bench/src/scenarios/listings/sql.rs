//! SQL of the searches, as livestock runs it.

const EARTH_RADIUS_KM: f64 = 6_371.008_8;

/// Sort order of a search.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Sort column.
    pub column: &'static str,
    /// Whether the order is descending.
    pub desc: bool,
}

impl Order {
    /// Returns a statement for 20 documents of the rows that meet one of the conditions.
    ///
    /// Like the service, it has a branch for each condition and merges the branches; rows without a price follow those
    /// with one. On PostgreSQL each branch has a LIMIT.
    pub fn page(self, conditions: &[String], is_postgres: bool) -> String {
        let Self { column, desc } = self;
        let direction = if desc { "DESC" } else { "ASC" };
        let null_conditions: &[&str] =
            if column == "price" { &[" AND price IS NOT NULL", " AND price IS NULL"] } else { &[""] };
        let order = format!("ORDER BY sort_key {direction}");
        let mut branches = Vec::new();
        for null_condition in null_conditions {
            for condition in conditions {
                let rows = format!(
                    "SELECT id, {column} AS sort_key FROM listings WHERE {condition}{null_condition}"
                );
                branches.push(if is_postgres {
                    format!("SELECT * FROM ({rows} {order}, id {direction} LIMIT 20) AS branch")
                } else {
                    rows
                });
            }
        }
        let nulls = if null_conditions.len() > 1 { " NULLS LAST" } else { "" };
        format!(
            "SELECT (SELECT document FROM listings WHERE listings.id = page.id) AS document FROM ({} {order}{nulls}, \
             id {direction} LIMIT 20) AS page",
            branches.join(" UNION ALL ")
        )
    }
}

/// Returns the condition of a distance, as in geo.rs of livestock: bands of a tenth of a degree of latitude, a range of
/// longitudes, and the squared chord between points on the unit sphere. Coordinates are in degrees.
pub fn within(lat: f64, lon: f64, km: f64) -> String {
    let (phi, lambda, degrees) = (lat.to_radians(), lon.to_radians(), (km / EARTH_RADIUS_KM).to_degrees());
    let [x, y, z] = [phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin()];
    let half_width = ((km / EARTH_RADIUS_KM).sin() / phi.cos()).asin().to_degrees();
    #[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
    let [south, north] = [lat - degrees, lat + degrees].map(|lat| (lat * 10.0).floor() as i32);
    let bands: Vec<_> = (south..=north).map(|band| band.to_string()).collect();
    let chord = 2.0 * (km / EARTH_RADIUS_KM / 2.0).sin();
    format!(
        " AND band IN ({}) AND lon BETWEEN {} AND {} AND (x - ({x})) * (x - ({x})) + (y - ({y})) * (y - ({y})) + \
         (z - ({z})) * (z - ({z})) <= {}",
        bands.join(", "),
        lon - half_width,
        lon + half_width,
        chord * chord
    )
}
