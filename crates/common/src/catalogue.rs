//! Catalogues: CSV tables that are embedded in a service, and that an operator may replace by a file.

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;

/// Parses a CSV table with a header row. Columns are matched by name, in any order; unknown columns are ignored.
///
/// # Errors
/// If a column is missing or a cell does not have the type of its field.
pub fn parse<T: DeserializeOwned>(table: &str) -> Result<Vec<T>, csv::Error> {
    csv::Reader::from_reader(table.as_bytes()).into_deserialize().collect()
}

/// Parses the file of a setting, or the embedded table if the setting is absent.
///
/// # Errors
/// If the file cannot be read, and as [`parse`]. The message names the file and the setting.
pub fn load<T: DeserializeOwned>(
    embedded: &str,
    file: Option<&Path>,
    setting: &str,
) -> anyhow::Result<Vec<T>> {
    let Some(path) = file else { return parse(embedded).context("the embedded table is invalid") };
    let table = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {} ({setting})", path.display()))?;
    parse(&table).with_context(|| format!("{} ({setting}) is not a valid table", path.display()))
}

/// Converts an id that clients send as a JSON number. Returns `None` unless it is a whole number of 32 bits.
pub fn whole_id(id: f64) -> Option<i32> {
    #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
    let whole = id as i32;
    (f64::from(whole) - id == 0.0).then_some(whole)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Entry {
        id: i32,
        name: String,
    }

    #[test]
    fn columns_are_matched_by_name() {
        let entries: Vec<Entry> = parse("source,name,id\nx,Wheat,1\n").unwrap();
        assert_eq!(entries, [Entry { id: 1, name: "Wheat".to_owned() }]);
        for invalid in ["id\n1\n", "id,name\nx,Wheat\n"] {
            assert!(parse::<Entry>(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_file_replaces_the_embedded_table() {
        let embedded = "id,name\n1,Wheat\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "id,name\n2,Barley\n").unwrap();
        let load = |path| load::<Entry>(embedded, path, "service.entries_file");
        assert_eq!(load(None).unwrap()[0].id, 1);
        assert_eq!(load(Some(file.path())).unwrap()[0].id, 2);
        std::fs::write(file.path(), "id\n2\n").unwrap();
        for path in [file.path(), Path::new("/nonexistent")] {
            let error = load(Some(path)).unwrap_err().to_string();
            assert!(error.contains("service.entries_file"), "{error}");
        }
    }

    #[test]
    fn ids_are_whole_numbers() {
        assert_eq!((whole_id(2.0), whole_id(-3.0), whole_id(0.0)), (Some(2), Some(-3), Some(0)));
        for id in [1.5, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(whole_id(id), None, "{id}");
        }
    }
}
