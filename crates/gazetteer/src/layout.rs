//! The layout of the tables. `build/` writes the tables and the library reads them, both with this file.
//!
//! Numbers are little endian.

#![allow(dead_code, reason = "the library only reads tables, and the build script only writes them")]

/// A value of a column.
pub(crate) trait Column: Sized {
    /// Length of the value in bytes.
    const BYTES: usize;
    /// Reads a value from exactly [`Column::BYTES`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Appends the value to a table.
    fn write(self, table: &mut Vec<u8>);
}

macro_rules! number_columns {
    ($($number:ident)+) => { $(
        impl Column for $number {
            const BYTES: usize = size_of::<Self>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(std::array::from_fn(|i| bytes[i]))
            }
            fn write(self, table: &mut Vec<u8>) {
                table.extend(self.to_le_bytes());
            }
        }
    )+ };
}
number_columns!(u8 u16 u32 i32);

macro_rules! row_numbers {
    ($($(#[$doc:meta])* $name:ident($number:ty))+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub $number);

        impl $name {
            /// Returns the number as an index.
            pub(crate) fn index(self) -> usize {
                self.0.into()
            }
        }

        impl Column for $name {
            const BYTES: usize = <$number as Column>::BYTES;
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                Self(Column::read(bytes))
            }
            fn write(self, table: &mut Vec<u8>) {
                self.0.write(table);
            }
        }

        /// The greatest number stands for `None`.
        impl Column for Option<$name> {
            const BYTES: usize = <$number as Column>::BYTES;
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                Some($name::read(bytes)).filter(|number| number.0 != <$number>::MAX)
            }
            fn write(self, table: &mut Vec<u8>) {
                self.unwrap_or($name(<$number>::MAX)).write(table);
            }
        }
    )+ };
}
row_numbers! {
    /// Row number of a country, in the order of the ISO codes.
    CountryNumber(u8)
    /// Row number in `REGIONS`.
    RegionNumber(u16)
    /// Row number in `DISTRICTS`.
    DistrictNumber(u16)
}

/// Text, padded with spaces.
impl<const LENGTH: usize> Column for [u8; LENGTH] {
    const BYTES: usize = LENGTH;
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| bytes[i])
    }
    fn write(self, table: &mut Vec<u8>) {
        table.extend(self);
    }
}

/// WGS84 coordinates in units of 1e-5 degree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinates {
    pub lat: i32,
    pub lon: i32,
}

impl Coordinates {
    /// Returns latitude and longitude in degrees.
    pub(crate) fn degrees(self) -> (f64, f64) {
        (f64::from(self.lat) / 1e5, f64::from(self.lon) / 1e5)
    }
}

impl Column for Coordinates {
    const BYTES: usize = 2 * i32::BYTES;
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let (lat, lon) = bytes.split_at(i32::BYTES);
        Self { lat: i32::read(lat), lon: i32::read(lon) }
    }
    fn write(self, table: &mut Vec<u8>) {
        self.lat.write(table);
        self.lon.write(table);
    }
}

/// Reads the next column of a row.
#[inline]
fn next<C: Column>(row: &mut &[u8]) -> C {
    let (column, rest) = row.split_at(C::BYTES);
    *row = rest;
    C::read(column)
}

/// Defines a row of a table by its columns.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident { $($(#[$column_doc:meta])* $column:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name {
            $($(#[$column_doc])* pub $column: $type,)+
        }

        impl $name {
            /// Length of a row in bytes.
            pub(crate) const BYTES: usize = 0 $(+ <$type as Column>::BYTES)+;

            /// Reads a row.
            #[inline]
            pub(crate) fn read(row: &[u8; Self::BYTES]) -> Self {
                let mut rest = &row[..];
                Self { $($column: next(&mut rest),)+ }
            }

            /// Appends the row to a table.
            pub(crate) fn write(self, table: &mut Vec<u8>) {
                $(self.$column.write(table);)+
            }
        }
    };
}

row! {
    /// A row of `ENTITIES`.
    EntityRow {
        /// GeoNames id of a place; row number of a region, district or country.
        id: u32,
        coordinates: Coordinates,
        /// Inhabitants of a place; of other entities those that rank them.
        population: u32,
        /// Offset of a place's name in `NAMES`, with [`IS_TOWN`] for a town. [`IS_REGION`], [`IS_DISTRICT`] or
        /// [`IS_COUNTRY`] for other entities.
        name: u32,
        /// The region that contains a place.
        region: Option<RegionNumber>,
        /// The district that contains a place.
        district: Option<DistrictNumber>,
        country: CountryNumber,
    }
}

row! {
    /// A row of `DISTRICTS`.
    DistrictRow {
        code: [u8; 4],
        coordinates: Coordinates,
        /// Offset of the main place in `NAMES`.
        place: u32,
        region: Option<RegionNumber>,
        country: CountryNumber,
    }
}

row! {
    /// A row of `REGIONS`.
    RegionRow {
        /// Offset in `REGION_TEXTS`.
        texts: u32,
        coordinates: Coordinates,
        /// The region that contains this region.
        parent: Option<RegionNumber>,
        country: CountryNumber,
        /// Months between TB tests; 0 if not known.
        tb_months: u8,
    }
}

row! {
    /// A row of `SUFFIXES`.
    SuffixRow {
        /// Offset in `FOLDED`.
        offset: u32,
        /// Number of the entity, with [`IS_WHOLE_NAME`] for a whole name.
        entity: u32,
    }
}

row! {
    /// A row of `SECTORS`, as the format GBPC3 (`data/rebuild/postcodes_reference.py`) defines it. Latitudes and
    /// longitudes are in units of 1e-4 degree.
    SectorRow {
        /// Code of the district, padded with spaces.
        outward: [u8; 4],
        /// First character of the inward codes.
        digit: u8,
        zero: u8,
        /// Number of unit postcodes.
        units: u16,
        /// Offset in `UNITS`.
        offset: u32,
        south: i32,
        west: i32,
        /// Difference of the greatest and the least latitude.
        lat_extent: u16,
        /// Difference of the greatest and the least longitude.
        lon_extent: u16,
        /// The most frequent authority.
        authority: u16,
    }
}

impl SectorRow {
    /// Returns the box that contains the unit postcodes of the sector.
    pub(crate) fn bounds(self) -> BoundsRow {
        let Self { south, west, .. } = self;
        let (north, east) = (south + i32::from(self.lat_extent), west + i32::from(self.lon_extent));
        BoundsRow { south, west, north, east }
    }
}

row! {
    /// A row of `BLOCKS`, in units of 1e-4 degree.
    BoundsRow {
        south: i32,
        west: i32,
        north: i32,
        east: i32,
    }
}

/// Marks a region in [`EntityRow::name`].
pub(crate) const IS_REGION: u32 = 1 << 31;
/// Marks a place of at least 10,000 inhabitants in [`EntityRow::name`].
pub(crate) const IS_TOWN: u32 = 1 << 30;
/// Marks a postcode district in [`EntityRow::name`].
pub(crate) const IS_DISTRICT: u32 = 1 << 29;

/// Marks a country in [`EntityRow::name`].
pub(crate) const IS_COUNTRY: u32 = 1 << 28;

/// Codes of the countries that are found by name: those whose name stands for a small area, as that of a region does.
pub(crate) const NAMED_COUNTRIES: [&str; 3] = ["GG", "IM", "JE"];

/// Marks a suffix that is a whole name in [`SuffixRow::entity`].
pub(crate) const IS_WHOLE_NAME: u32 = 1 << 31;

/// Kind of a country in the members of `QUALIFIER_AREAS`. The lower 16 bits are the row number.
pub(crate) const COUNTRY_AREA: u32 = 0;
/// Kind of a region, as [`COUNTRY_AREA`].
pub(crate) const REGION_AREA: u32 = 1 << 16;
/// Kind of a district, as [`COUNTRY_AREA`].
pub(crate) const DISTRICT_AREA: u32 = 2 << 16;

/// Number of sectors that share a bounding box in `BLOCKS`. Neighbours in the table mostly are neighbours on the map.
pub(crate) const SECTORS_PER_BLOCK: usize = 32;
