//! Plain-text tables.

/// Renders rows in columns as wide as their widest cell, under a header and a rule.
pub fn render<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = header.map(width);
    for row in rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            *column = (*column).max(width(cell));
        }
    }
    let mut text = line(&header, &widths);
    text.push_str(&line(&widths.map(|n| "─".repeat(n)), &widths));
    for row in rows {
        text.push_str(&line(row, &widths));
    }
    text
}

fn width(cell: impl AsRef<str>) -> usize {
    cell.as_ref().chars().count()
}

fn line(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{:width$}", cell.as_ref())).collect();
    format!("{}\n", padded.join("  ").trim_end())
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["system".into(), "a".into()], ["é".into(), "longer".into()]];
        let expected = "service  url\n───────  ──────\nsystem   a\né        longer\n";
        assert_eq!(render(["service", "url"], &rows), expected);
    }
}
