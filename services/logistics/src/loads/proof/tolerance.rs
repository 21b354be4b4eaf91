//! How far the net weight of a proof may be from the agreed weight of the load.

use common::validation::{Code, ValidationErrors};
use common::wire::{Warning, WeightMeasure};
use database::Amount;
use serde_json::{Value, json};

use crate::{Settings, ToleranceAction};

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

    /// Returns the warning for a net weight outside the tolerance. `agreed` is the weight of the load, if it has one.
    pub(crate) fn warning(self, net: Amount, agreed: Option<&WeightMeasure>) -> Option<Warning> {
        let agreed = agreed?.weight;
        let difference = i128::from((net.scaled() - agreed.scaled()).abs());
        if difference * 100 <= i128::from(agreed.scaled()) * i128::from(self.percent) {
            return None;
        }
        let message = format!(
            "differs from the agreed weight of {} t by more than {} %: {} t",
            agreed, self.percent, net
        );
        let data = json!({ "weight": agreed, "weightNet": net, "tolerancePercent": self.percent });
        let data = if let Value::Object(data) = data { data } else { serde_json::Map::new() };
        Some(Warning { path: "weightNet".into(), code: "weight_differs".into(), message, data })
    }

    /// Adds the warning to the errors if the setting refuses such weights. Otherwise returns it.
    pub(crate) fn check(
        self,
        net: Amount,
        agreed: Option<&WeightMeasure>,
        errors: &mut ValidationErrors,
    ) -> Option<Warning> {
        let warning = self.warning(net, agreed)?;
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
            tolerance
                .warning(tonnes(net), agreed.map(|agreed| WeightMeasure::tonnes(tonnes(agreed))).as_ref())
                .is_some()
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
