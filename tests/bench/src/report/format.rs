//! Formats of figures.

/// Formats microseconds with about three digits.
pub fn format_us(us: f64) -> String {
    match us {
        ..100.0 => format!("{us:.1} µs"),
        ..1000.0 => format!("{us:.0} µs"),
        ..10_000.0 => format!("{:.2} ms", us / 1000.0),
        _ => format!("{:.1} ms", us / 1000.0),
    }
}
