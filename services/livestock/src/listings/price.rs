//! Prices (`docs/api/listings.md`, "Create").

use common::validation::{Code, ValidationErrors};
use database::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::currency;

/// A price for one animal or one unit of supplies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Price {
    /// The type of the price.
    #[serde(rename = "type")]
    #[schema(required = true)]
    pub kind: PriceType,
    /// The price; required for `fixed`.
    #[serde(rename = "pricePerUnit", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub per_unit: Option<Money>,
    /// The lower end; required for `range`.
    #[serde(rename = "minPrice", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min: Option<Money>,
    /// The upper end; required for `range`.
    #[serde(rename = "maxPrice", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max: Option<Money>,
}

/// The type of a price.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum PriceType {
    /// `pricePerUnit`.
    #[default]
    Fixed,
    /// Between `minPrice` and `maxPrice`.
    Range,
    /// Price on application.
    Poa,
}

impl PriceType {
    /// Returns the name that requests and responses use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An amount of money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Money {
    /// The amount; rounded half up to four decimals.
    #[schema(required = true, value_type = f64, minimum = 0, maximum = 99_999_999_999.999_9)]
    pub amount: Amount,
    /// The ISO 4217 code of the currency.
    #[schema(required = true, min_length = 1, example = "GBP")]
    pub currency: String,
}

impl Price {
    /// Returns the amount that listings are sorted by: the price per unit, else the lower end.
    pub(crate) fn sort_amount(&self) -> Option<Amount> {
        self.per_unit.as_ref().or(self.min.as_ref()).map(|money| money.amount)
    }

    /// Returns all amounts with their paths.
    fn parts(&self) -> [(&'static str, Option<&Money>); 3] {
        [
            ("price.pricePerUnit", self.per_unit.as_ref()),
            ("price.minPrice", self.min.as_ref()),
            ("price.maxPrice", self.max.as_ref()),
        ]
    }

    /// Checks the rules that the schema cannot express. A member that the schema rejected has its default value here,
    /// so the rules ignore it.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        self.validate_required(errors);
        self.validate_currencies(errors);
        if let (PriceType::Range, Some(min), Some(max)) = (self.kind, &self.min, &self.max) {
            let members = ["minPrice.amount", "maxPrice.amount", "minPrice.currency", "maxPrice.currency"];
            let rejected = members.iter().any(|member| errors.failed(&format!("price.{member}")));
            if min.amount > max.amount && !rejected {
                let message = "must not be more than price.maxPrice.amount";
                errors.push("price.minPrice.amount", Code::Inconsistent, message);
            }
        }
    }

    fn validate_required(&self, errors: &mut ValidationErrors) {
        if errors.failed("price.type") {
            return;
        }
        let required = match self.kind {
            PriceType::Fixed => &["price.pricePerUnit"][..],
            PriceType::Range => &["price.minPrice", "price.maxPrice"],
            PriceType::Poa => &[],
        };
        for (path, money) in self.parts() {
            if money.is_none() && required.contains(&path) {
                errors.push(path, Code::Required, "is required for a price of this type");
            }
        }
    }

    fn validate_currencies(&self, errors: &mut ValidationErrors) {
        let mut first = None;
        for (path, money) in self.parts() {
            let path = format!("{path}.currency");
            let Some(money) = money.filter(|_| !errors.failed(&path)) else { continue };
            match (currency::find(&money.currency), first) {
                (None, _) => errors.push(path, Code::Enum, "must be an ISO 4217 code, such as GBP or EUR"),
                (Some(code), None) => first = Some(code),
                (Some(code), Some(first)) if code != first => {
                    errors.push(path, Code::Inconsistent, format!("must be {first}, as the other amounts"));
                }
                _ => {}
            }
        }
    }

    /// Replaces each known currency by its ISO 4217 code: upper case, without white space.
    pub(crate) fn normalized(mut self) -> Self {
        for money in [&mut self.per_unit, &mut self.min, &mut self.max] {
            if let Some(money) = money
                && let Some(code) = currency::find(&money.currency)
            {
                code.clone_into(&mut money.currency);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the errors of a price, some of whose members the schema has rejected.
    fn errors_of(price: Value, rejected: &[&str]) -> Vec<(String, Code)> {
        let price: Price = serde_json::from_value(price).unwrap();
        let mut errors = ValidationErrors::default();
        for path in rejected {
            errors.push(*path, Code::Type, "rejected by the schema");
        }
        price.validate(&mut errors);
        errors.iter().skip(rejected.len()).map(|p| (p.path.clone(), p.code)).collect()
    }

    fn money(amount: f64, currency: &str) -> Value {
        json!({"amount": amount, "currency": currency})
    }

    #[test]
    fn each_type_requires_its_members() {
        let one = |path: &str| vec![(path.to_owned(), Code::Required)];
        assert_eq!(errors_of(json!({"type": "poa"}), &[]), []);
        assert_eq!(errors_of(json!({"type": "fixed"}), &[]), one("price.pricePerUnit"));
        let min = json!({"type": "range", "minPrice": money(1.0, "GBP")});
        assert_eq!(errors_of(min, &[]), one("price.maxPrice"));
        let more = json!({"type": "fixed", "pricePerUnit": money(5.0, "GBP"), "minPrice": money(9.0, "GBP")});
        assert_eq!(errors_of(more, &[]), [], "other members are allowed");
    }

    #[test]
    fn amounts_need_one_currency_and_ascending_order() {
        let range = |min, max| json!({"type": "range", "minPrice": min, "maxPrice": max});
        assert_eq!(errors_of(range(money(1.0, "GBP"), money(1.0, "gbp")), &[]), []);
        let other = vec![("price.maxPrice.currency".to_owned(), Code::Inconsistent)];
        assert_eq!(errors_of(range(money(1.0, "GBP"), money(2.0, "EUR")), &[]), other);
        let unknown = vec![("price.minPrice.currency".to_owned(), Code::Enum)];
        assert_eq!(errors_of(range(money(1.0, "QQQ"), money(2.0, "EUR")), &[]), unknown);
        let wrong = vec![("price.minPrice.amount".to_owned(), Code::Inconsistent)];
        assert_eq!(errors_of(range(money(2.0, "GBP"), money(1.0, "GBP")), &[]), wrong);
    }

    #[test]
    fn ignores_members_that_the_schema_rejected() {
        assert_eq!(errors_of(json!({}), &["price.type"]), []);
        assert_eq!(errors_of(json!({}), &["price"]), []);
        let half = json!({"type": "range", "minPrice": money(2.0, "GBP"), "maxPrice": {"currency": "GBP"}});
        assert_eq!(errors_of(half, &["price.maxPrice.amount"]), []);
        let half = json!({"type": "fixed", "pricePerUnit": {"amount": 1}, "minPrice": money(2.0, "EUR")});
        assert_eq!(errors_of(half, &["price.pricePerUnit.currency"]), []);
    }
}
