//! The quality of a load as it was measured (docs/api/loads.md, "Quality").

use common::validation::{Code, ValidationErrors};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

/// What was measured, with its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QualityMeasure)]
pub enum Measure {
    /// In %.
    #[default]
    Moisture,
    /// In kg/hl.
    SpecificWeight,
    /// In %.
    Protein,
    /// The falling number in s.
    Hagberg,
    /// In %.
    Screenings,
    /// In %.
    Admixture,
    /// In %.
    Oil,
    /// In %.
    Nitrogen,
    /// In °C.
    Temperature,
}

impl Measure {
    /// Returns the unit, and the least and the greatest value in it.
    const fn unit(self) -> (&'static str, f64, f64) {
        match self {
            Self::SpecificWeight => ("kg/hl", 20.0, 100.0),
            Self::Hagberg => ("s", 0.0, 1_000.0),
            Self::Temperature => ("°C", -30.0, 100.0),
            Self::Moisture
            | Self::Protein
            | Self::Screenings
            | Self::Admixture
            | Self::Oil
            | Self::Nitrogen => ("%", 0.0, 100.0),
        }
    }
}

/// A measured value. Documents of loads show its unit too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, into = "QualityWithUnit")]
#[schema(as = NewQuality)]
pub struct Quality {
    /// What was measured.
    #[schema(required = true)]
    pub measure: Measure,
    /// In the unit of the measure.
    #[schema(required = true)]
    pub value: f64,
}

/// A measured value.
#[derive(Serialize, ToSchema)]
#[schema(as = Quality)]
pub(super) struct QualityWithUnit {
    /// What was measured.
    measure: Measure,
    /// In this unit.
    value: f64,
    /// The unit of the measure.
    unit: &'static str,
}

impl From<Quality> for QualityWithUnit {
    fn from(Quality { measure, value }: Quality) -> Self {
        Self { measure, value, unit: measure.unit().0 }
    }
}

/// Adds errors for values out of range, and for measures that are named twice. Entries whose measure the schema refused
/// have another one.
pub(super) fn validate(quality: &[Quality], errors: &mut ValidationErrors) {
    let mut measures = Vec::new();
    for (i, entry) in quality.iter().enumerate() {
        let path = format!("quality[{i}].measure");
        if errors.failed(&path) {
            continue;
        }
        if measures.contains(&entry.measure) {
            errors.push(path, Code::Inconsistent, "is named twice");
        }
        measures.push(entry.measure);
        let (unit, minimum, maximum) = entry.measure.unit();
        if !(minimum..=maximum).contains(&entry.value) {
            let message = format!("must be between {minimum} and {maximum} {unit}");
            let data = json!({ "minimum": minimum, "maximum": maximum });
            errors.push_with(format!("quality[{i}].value"), Code::Range, message, data);
        }
    }
}

/// Returns true if both have the same values, in any order.
pub(super) fn is_same(one: &[Quality], other: &[Quality]) -> bool {
    let sorted = |quality: &[Quality]| {
        let mut values: Vec<_> = quality.iter().map(|entry| (entry.measure, entry.value)).collect();
        values.sort_by_key(|(measure, _)| *measure);
        values
    };
    sorted(one) == sorted(other)
}
