//! Going on after a row of an ordered search, at the same cost on any page.
//!
//! Macros, since each column has another type. `$query` is a boxed query, `$after` the cursor's
//! `Option<(Option<value>, Id)>`; ties are broken by id in the same direction, so the order is total.

/// The rows after the cursor, in an order by a column that every row has.
///
/// The range is one comparison that an index can begin at, with the ties filtered after it.
#[macro_export]
macro_rules! after {
    ($query:expr, $column:expr, $id:expr, $desc:expr, $after:expr) => {
        match ($after, $desc) {
            (Some((Some(value), id)), true) => {
                $query.filter($column.le(value.clone()).and($column.lt(value).or($id.lt(id))))
            }
            (Some((Some(value), id)), false) => {
                $query.filter($column.ge(value.clone()).and($column.gt(value).or($id.gt(id))))
            }
            _ => $query,
        }
    };
}

/// The rows after the cursor, in an order by a column that some rows lack; those come last both ways (contract,
/// section 6).
#[macro_export]
macro_rules! after_nullable {
    ($query:expr, $column:expr, $id:expr, $desc:expr, $after:expr) => {
        match ($after, $desc) {
            (Some((Some(value), id)), true) => $query.filter(
                $column.lt(value.clone()).or($column.eq(value).and($id.lt(id))).or($column.is_null()),
            ),
            (Some((Some(value), id)), false) => $query.filter(
                $column.gt(value.clone()).or($column.eq(value).and($id.gt(id))).or($column.is_null()),
            ),
            (Some((None, id)), true) => $query.filter($column.is_null().and($id.lt(id))),
            (Some((None, id)), false) => $query.filter($column.is_null().and($id.gt(id))),
            (None, _) => $query,
        }
    };
}
