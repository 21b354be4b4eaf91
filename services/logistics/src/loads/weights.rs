//! Weights from the weighbridge: whether they agree with each other, with the weight that was agreed or collected, and
//! with the law.

use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{Warning, WeightMeasure, is_eircode};
use database::Amount;
use serde_json::{Value, json};

use crate::{Settings, ToleranceAction};

/// How far the net weight may be from the difference of gross and tare weight, in ten-thousandths of a tonne: 0.02 t.
const MAX_NET_DIFFERENCE: i64 = 200;
/// Ten-thousandths of a tonne.
const SCALE: i64 = 10_000;
/// The greatest weights of a loaded vehicle on public roads, in tonnes, as of November 2026: of six-axle articulated
/// vehicles in the United Kingdom (Road Vehicles (Authorised Weight) Regulations 1998) and in Ireland (Road Traffic
/// (Construction and Use of Vehicles) Regulations 2003, as amended).
const MAX_GROSS_GB: i64 = 44;
const MAX_GROSS_IE: i64 = 46;

/// The weights of a ticket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub net: Option<Amount>,
    pub gross: Option<Amount>,
    pub tare: Option<Amount>,
}

impl Weights {
    /// Adds an error if the net weight is not the difference of gross and tare weight, where all are known, or if that
    /// would be negative.
    pub(super) fn validate(&self, errors: &mut ValidationErrors) {
        let Some((gross, tare)) = self.gross.zip(self.tare) else { return };
        let difference = gross.scaled() - tare.scaled();
        let data = json!({ "weightGross": gross, "weightTare": tare });
        match self.net {
            Some(net) if (net.scaled() - difference).abs() > MAX_NET_DIFFERENCE => {
                let message = "must be weightGross minus weightTare, within 0.02 tonnes";
                errors.push_with("weightNet", Code::Inconsistent, message, data);
            }
            None if difference < 0 => {
                errors.push_with("weightTare", Code::Inconsistent, "must not exceed weightGross", data);
            }
            Some(_) | None => {}
        }
    }

    /// Returns the net weight, also where only the others are known.
    pub(super) fn net(&self) -> Option<Amount> {
        let difference = || self.gross.zip(self.tare).and_then(|(gross, tare)| gross.minus(tare));
        self.net.or_else(difference)
    }

    /// Returns the warning for a vehicle that is heavier than the country of the destination allows.
    pub(super) fn gross_warning(&self, dropoff_postcode: Option<&str>) -> Option<Warning> {
        let is_irish = dropoff_postcode.is_some_and(is_eircode);
        let maximum = if is_irish { MAX_GROSS_IE } else { MAX_GROSS_GB };
        let gross = self.gross.filter(|gross| gross.scaled() > maximum * SCALE)?;
        let message = format!("is more than the {maximum} t that a vehicle may weigh: {gross} t");
        let data = json!({ "weightGross": gross, "maximum": maximum });
        Some(warning("weightGross", "gross_over_limit", message, data))
    }
}

fn warning(path: &str, code: &str, message: String, data: Value) -> Warning {
    let data = if let Value::Object(data) = data { data } else { serde_json::Map::new() };
    Warning { data, ..Warning::new(path, code, message) }
}

/// Converts a validated weight.
pub(super) fn amount(tonnes: f64) -> Result<Amount, Error> {
    Amount::from_f64(tonnes).map_err(|e| Error::Internal(e.into()))
}

/// Adds a hint about kilograms to the message for a weight out of range.
pub(super) fn reword_tonnes(path: &str, errors: &mut ValidationErrors) {
    errors.reword(path, Code::Range, "must be between 0 and 1000 tonnes (were kilograms meant?)");
}

/// Adds a hint to the errors of weights out of range. Returns true if no weight is invalid.
pub(super) fn reword_weights(errors: &mut ValidationErrors) -> bool {
    let weights = ["weightNet", "weightGross", "weightTare"];
    for member in weights {
        reword_tonnes(member, errors);
    }
    !weights.iter().any(|member| errors.failed(member))
}

/// The weight with which the net weight of a ticket is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedWeight {
    weight: Amount,
    /// `data.comparedWith` of the warning.
    name: &'static str,
    /// In the message of the warning.
    description: &'static str,
}

impl ComparedWeight {
    /// Returns the net weight of a collection.
    pub(super) fn collected(weight: Option<&WeightMeasure>) -> Option<Self> {
        weight.map(|measure| Self { weight: measure.weight, name: "collection", description: "collected" })
    }

    /// Returns the agreed weight.
    pub(super) fn agreed(weight: Option<&WeightMeasure>) -> Option<Self> {
        weight.map(|measure| Self { weight: measure.weight, name: "weight", description: "agreed" })
    }
}

/// The tolerance of net weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightTolerance {
    /// In per cent of the agreed weight.
    pub percent: u32,
    pub action: ToleranceAction,
}

impl WeightTolerance {
    /// Returns the tolerance of the settings.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { percent: settings.weight_tolerance_percent, action: settings.weight_tolerance }
    }

    /// Returns the warning for a net weight outside the tolerance.
    pub(crate) fn warning(self, net: Amount, with: Option<ComparedWeight>) -> Option<Warning> {
        let ComparedWeight { weight: agreed, name, description } = with?;
        let difference = i128::from((net.scaled() - agreed.scaled()).abs());
        if difference * 100 <= i128::from(agreed.scaled()) * i128::from(self.percent) {
            return None;
        }
        let message = format!(
            "differs from the {description} weight of {agreed} t by more than {} %: {net} t",
            self.percent
        );
        let data = json!({
            "weight": agreed, "weightNet": net, "tolerancePercent": self.percent, "comparedWith": name,
        });
        Some(warning("weightNet", "weight_differs", message, data))
    }

    /// Adds the warning to the errors if the setting refuses such weights. Otherwise returns it.
    pub(crate) fn check(
        self,
        net: Amount,
        with: Option<ComparedWeight>,
        errors: &mut ValidationErrors,
    ) -> Option<Warning> {
        let warning = self.warning(net, with)?;
        if self.action == ToleranceAction::Warn {
            return Some(warning);
        }
        errors.push_with(warning.path, Code::Inconsistent, warning.message, warning.data.into());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_exactly() {
        let differs = |net: f64, agreed: Option<f64>, percent| {
            let tonnes = |number| Amount::from_f64(number).unwrap();
            let tolerance = WeightTolerance { percent, action: ToleranceAction::Warn };
            let agreed = agreed.map(|agreed| WeightMeasure::tonnes(tonnes(agreed)));
            tolerance.warning(tonnes(net), ComparedWeight::agreed(agreed.as_ref())).is_some()
        };
        assert!(!differs(33.0, Some(30.0), 10));
        assert!(!differs(27.0, Some(30.0), 10));
        assert!(differs(33.0001, Some(30.0), 10));
        assert!(differs(26.9999, Some(30.0), 10));
        assert!(!differs(5.0, None, 10));
        assert!(differs(0.0001, Some(0.0), 10));
        assert!(!differs(0.0, Some(0.0), 0));
        assert!(differs(30.0001, Some(30.0), 0));
    }
}
