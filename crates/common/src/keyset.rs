//! Orders for searches, with a way to go on after a row at the same cost on any page.
//!
//! Macros, since each column has another type. `$query` is a boxed query, `$after` the cursor's
//! `Option<(Option<value>, Id)>`; ties are broken by id in the same direction, so the order is total.

/// Orders by a column that every row has.
///
/// The cursor's range is one comparison that an index can begin at, with the ties filtered after it.
#[macro_export]
macro_rules! order_by {
    ($query:expr, $column:expr, $id:expr, $desc:expr, $after:expr) => {{
        let mut query = $query;
        if let Some((Some(value), id)) = $after {
            query = if $desc {
                query.filter($column.le(value.clone()).and($column.lt(value).or($id.lt(id))))
            } else {
                query.filter($column.ge(value.clone()).and($column.gt(value).or($id.gt(id))))
            };
        }
        if $desc {
            query.order(($column.desc(), $id.desc()))
        } else {
            query.order(($column.asc(), $id.asc()))
        }
    }};
}

/// Orders by a column that some rows lack; those come last both ways (contract, section 6).
#[macro_export]
macro_rules! order_by_nullable {
    ($query:expr, $column:expr, $id:expr, $desc:expr, $after:expr) => {{
        let mut query = $query;
        query = match ($after, $desc) {
            (Some((Some(value), id)), true) => query.filter(
                $column.lt(value.clone()).or($column.eq(value).and($id.lt(id))).or($column.is_null()),
            ),
            (Some((Some(value), id)), false) => query.filter(
                $column.gt(value.clone()).or($column.eq(value).and($id.gt(id))).or($column.is_null()),
            ),
            (Some((None, id)), true) => query.filter($column.is_null().and($id.lt(id))),
            (Some((None, id)), false) => query.filter($column.is_null().and($id.gt(id))),
            (None, _) => query,
        };
        if $desc {
            query.order(($column.is_null(), $column.desc(), $id.desc()))
        } else {
            query.order(($column.is_null(), $column.asc(), $id.asc()))
        }
    }};
}
