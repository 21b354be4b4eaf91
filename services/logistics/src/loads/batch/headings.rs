//! Which column a heading of a file names: by its name, by an alias, or as the form assigns it (docs/api/batches.md,
//! "Headings").

use std::collections::HashMap;

use common::validation::{Code, ValidationErrors};
use common::wire::{UniqueValue, comparison_key, fold, is_duplicate};
use serde_json::{Value, json};

use crate::loads::members::{COLUMNS, MEMBERS};

/// Readable headings, folded, and their columns. The first heading of a column stands in the documentation.
pub(crate) const ALIASES: [(&str, &str); 34] = [
    ("load id", "id"),
    ("our ref", "reference"),
    ("our reference", "reference"),
    ("ref", "reference"),
    ("delivery date", "deliveryDateISO"),
    ("date of delivery", "deliveryDateISO"),
    ("organiser id", "organiserId"),
    ("organiser", "organiserName"),
    ("organiser name", "organiserName"),
    ("haulier id", "carrierId"),
    ("carrier id", "carrierId"),
    ("haulier", "carrierName"),
    ("haulier name", "carrierName"),
    ("carrier", "carrierName"),
    ("carrier name", "carrierName"),
    ("commodity id", "commodityId"),
    ("commodity", "commodityName"),
    ("commodity name", "commodityName"),
    ("weight t", "weight"),
    ("weight tonnes", "weight"),
    ("net weight", "weightNet"),
    ("net weight t", "weightNet"),
    ("net weight tonnes", "weightNet"),
    ("weight unit", "weightUnit"),
    ("unit", "weightUnit"),
    ("vehicle registration", "vehicleRegistration"),
    ("registration", "vehicleRegistration"),
    ("vehicle", "vehicleRegistration"),
    ("ticket number", "ticketNumber"),
    ("ticket", "ticketNumber"),
    ("ticket no", "ticketNumber"),
    ("collection postcode", "pickupPostcode"),
    ("pickup postcode", "pickupPostcode"),
    ("delivery postcode", "dropoffPostcode"),
];

/// Returns the name of a column if it is one.
pub(crate) fn named_column(name: &str) -> Option<&'static str> {
    MEMBERS.iter().find(|member| member.name == name && member.column.is_some()).map(|member| member.name)
}

/// The headings to which the form assigns a column.
#[derive(Debug, Default)]
pub(crate) struct Headings(HashMap<String, Assigned>);

/// What the form assigns to a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// The name of a column.
    Column(&'static str),
    /// It is not read.
    NotRead,
}

impl Headings {
    /// Parses the field of the form, an object as JSON. An empty text assigns nothing.
    pub(crate) fn parse(text: &str, errors: &mut ValidationErrors) -> Self {
        const FIELD: &str = "headings";
        let mut headings = Self::default();
        if text.trim().is_empty() {
            return headings;
        }
        let members = match serde_json::from_str(text) {
            Ok(UniqueValue(Value::Object(members))) => members,
            Ok(_) => {
                errors.push_with(FIELD, Code::Type, "must be an object", json!({ "type": "object" }));
                return headings;
            }
            Err(error) if is_duplicate(&error) => {
                errors.push(FIELD, Code::Inconsistent, "names a heading twice");
                return headings;
            }
            Err(_) => {
                errors.push(FIELD, Code::Format, "must be an object as JSON");
                return headings;
            }
        };
        for (heading, column) in members {
            let assigned = match &column {
                Value::Null => Assigned::NotRead,
                Value::String(name) => {
                    let Some(column) = named_column(name) else {
                        let columns = COLUMNS.join(", ");
                        let message =
                            format!("assigns {heading} to no known column: the columns are {columns}");
                        errors.push_with(FIELD, Code::Enum, message, json!({ "allowed": *COLUMNS }));
                        continue;
                    };
                    Assigned::Column(column)
                }
                _ => {
                    let message = format!("must assign {heading} to the name of a column or null");
                    errors.push_with(FIELD, Code::Type, message, json!({ "type": "string" }));
                    continue;
                }
            };
            if headings.0.insert(comparison_key(&heading), assigned).is_some() {
                let message = format!("names the heading {heading} twice: case and punctuation do not count");
                errors.push(FIELD, Code::Inconsistent, message);
            }
        }
        headings
    }

    /// Returns what the form assigns to a heading.
    pub(crate) fn assigned(&self, heading: &str) -> Option<Assigned> {
        if self.0.is_empty() { None } else { self.0.get(&comparison_key(heading)).copied() }
    }
}

/// Returns the column that a heading names by its readable name.
pub(crate) fn alias(heading: &str) -> Option<&'static str> {
    let folded = fold(heading);
    ALIASES.iter().find(|(known, _)| *known == folded).map(|(_, column)| *column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_folded_and_name_columns() {
        for (heading, column) in ALIASES {
            assert_eq!((fold(heading), named_column(column)), (heading.to_owned(), Some(column)));
        }
    }
}
