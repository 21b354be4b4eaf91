//! What is asked or offered (interface.md, 2.11).

use common::validation::{Code, ValidationErrors};
use database::Amount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::currency;

/// A price for one animal or one unit of goods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Price {
    /// How it is meant.
    #[serde(rename = "type")]
    #[schema(required = true)]
    pub kind: PriceType,
    /// The price; `fixed` needs it.
    #[serde(rename = "pricePerUnit", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub per_unit: Option<Money>,
    /// The lower end; `range` needs it.
    #[serde(rename = "minPrice", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub min: Option<Money>,
    /// The upper end; `range` needs it.
    #[serde(rename = "maxPrice", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max: Option<Money>,
}

/// How a price is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PriceType {
    /// `pricePerUnit` it is.
    #[default]
    Fixed,
    /// Between `minPrice` and `maxPrice`.
    Range,
    /// Price on application.
    Poa,
}

impl PriceType {
    /// As written in requests and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Range => "range",
            Self::Poa => "poa",
        }
    }
}

/// An amount of money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Money {
    /// Exact to four decimals; what is finer is rounded half up.
    #[schema(required = true, value_type = f64, minimum = 0, maximum = 99_999_999_999.999_9)]
    pub amount: Amount,
    /// ISO 4217 code.
    #[schema(required = true, min_length = 1, example = "GBP")]
    pub currency: String,
}

impl Price {
    /// What a price is sorted by.
    pub fn sort_amount(&self) -> Option<Amount> {
        self.per_unit.as_ref().or(self.min.as_ref()).map(|money| money.amount)
    }

    fn parts(&self) -> [(&'static str, Option<&Money>); 3] {
        [
            ("price.pricePerUnit", self.per_unit.as_ref()),
            ("price.minPrice", self.min.as_ref()),
            ("price.maxPrice", self.max.as_ref()),
        ]
    }

    /// What the schema cannot state. A member that the schema refused has its default value here, so nothing is
    /// concluded from it.
    pub fn rules(&self, errors: &mut ValidationErrors) {
        self.needed(errors);
        self.currencies(errors);
        if let (PriceType::Range, Some(min), Some(max)) = (self.kind, &self.min, &self.max) {
            let members = ["minPrice.amount", "maxPrice.amount", "minPrice.currency", "maxPrice.currency"];
            let refused = members.iter().any(|member| errors.failed(&format!("price.{member}")));
            if min.amount > max.amount && !refused {
                let message = "must not be more than price.maxPrice.amount";
                errors.push("price.minPrice.amount", Code::Inconsistent, message);
            }
        }
    }

    fn needed(&self, errors: &mut ValidationErrors) {
        if errors.failed("price.type") {
            return;
        }
        let needed = match self.kind {
            PriceType::Fixed => &["price.pricePerUnit"][..],
            PriceType::Range => &["price.minPrice", "price.maxPrice"],
            PriceType::Poa => &[],
        };
        for (path, money) in self.parts() {
            if money.is_none() && needed.contains(&path) {
                errors.push(path, Code::Required, "is required for a price of this type");
            }
        }
    }

    fn currencies(&self, errors: &mut ValidationErrors) {
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

    /// The price with its currencies in upper case.
    pub fn normalised(mut self) -> Self {
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

    fn found(price: Value, refused: &[&str]) -> Vec<(String, Code)> {
        let price: Price = serde_json::from_value(price).unwrap();
        let mut errors = ValidationErrors::default();
        for path in refused {
            errors.push(*path, Code::Type, "refused by the schema");
        }
        price.rules(&mut errors);
        errors.iter().skip(refused.len()).map(|p| (p.path.clone(), p.code)).collect()
    }

    fn money(amount: f64, currency: &str) -> Value {
        json!({"amount": amount, "currency": currency})
    }

    #[test]
    fn each_type_needs_its_members() {
        let one = |path: &str| vec![(path.to_owned(), Code::Required)];
        assert_eq!(found(json!({"type": "poa"}), &[]), []);
        assert_eq!(found(json!({"type": "fixed"}), &[]), one("price.pricePerUnit"));
        let min = json!({"type": "range", "minPrice": money(1.0, "GBP")});
        assert_eq!(found(min, &[]), one("price.maxPrice"));
        let more = json!({"type": "fixed", "pricePerUnit": money(5.0, "GBP"), "minPrice": money(9.0, "GBP")});
        assert_eq!(found(more, &[]), [], "members beyond its type's own may be there");
    }

    #[test]
    fn one_currency_and_a_range_that_ascends() {
        let range = |min, max| json!({"type": "range", "minPrice": min, "maxPrice": max});
        assert_eq!(found(range(money(1.0, "GBP"), money(1.0, "gbp")), &[]), []);
        let other = vec![("price.maxPrice.currency".to_owned(), Code::Inconsistent)];
        assert_eq!(found(range(money(1.0, "GBP"), money(2.0, "EUR")), &[]), other);
        let unknown = vec![("price.minPrice.currency".to_owned(), Code::Enum)];
        assert_eq!(found(range(money(1.0, "QQQ"), money(2.0, "EUR")), &[]), unknown);
        let wrong = vec![("price.minPrice.amount".to_owned(), Code::Inconsistent)];
        assert_eq!(found(range(money(2.0, "GBP"), money(1.0, "GBP")), &[]), wrong);
    }

    #[test]
    fn nothing_is_concluded_from_what_was_refused() {
        assert_eq!(found(json!({}), &["price.type"]), []);
        assert_eq!(found(json!({}), &["price"]), []);
        let half = json!({"type": "range", "minPrice": money(2.0, "GBP"), "maxPrice": {"currency": "GBP"}});
        assert_eq!(found(half, &["price.maxPrice.amount"]), []);
        let half = json!({"type": "fixed", "pricePerUnit": {"amount": 1}, "minPrice": money(2.0, "EUR")});
        assert_eq!(found(half, &["price.pricePerUnit.currency"]), []);
    }
}
