//! The listings of a search on a map: how many are in each cell (`docs/api/listings.md`, "Maps").

use hashbrown::HashMap;

use crate::listings::geo::{MapPoint, Point};

/// A map at zoom 0 has this many halvings of its sides more than the zoom of the request.
const TILE_ZOOM: u32 = 3;

/// The listings of a search on a map.
#[derive(Debug)]
pub(crate) struct MapCounts {
    /// The cells with listings, those with most first.
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) without_coordinates: u32,
}

/// The listings of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub(crate) count: u32,
    /// The mean of their places on the map.
    pub(crate) point: Point,
}

/// The listings in each cell of a map.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Bits of a unit of the map within a cell.
    shift: u32,
    sums: HashMap<[u32; 2], Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    count: u32,
    x: u64,
    y: u64,
}

impl Cells {
    /// Creates the cells of a zoom from 0 to 16.
    pub(crate) fn new(zoom: u32) -> Self {
        Self { shift: u32::BITS.saturating_sub(zoom + TILE_ZOOM), sums: HashMap::new() }
    }

    /// Adds a listing.
    #[inline]
    pub(crate) fn add(&mut self, MapPoint { x, y }: MapPoint) {
        let sum = self.sums.entry([x >> self.shift, y >> self.shift]).or_default();
        sum.count += 1;
        sum.x += u64::from(x);
        sum.y += u64::from(y);
    }

    /// Returns the cells with listings, those with most first, then from west to east and from north to south.
    pub(crate) fn into_clusters(self) -> Vec<Cluster> {
        let mut sums: Vec<_> = self.sums.into_iter().collect();
        sums.sort_unstable_by(|(a, x), (b, y)| y.count.cmp(&x.count).then_with(|| a.cmp(b)));
        let cluster = |(_, sum): ([u32; 2], Sum)| {
            let mean = |total: u64| u32::try_from(total / u64::from(sum.count)).unwrap_or(u32::MAX);
            Cluster { count: sum.count, point: MapPoint { x: mean(sum.x), y: mean(sum.y) }.point() }
        };
        sums.into_iter().map(cluster).collect()
    }
}
