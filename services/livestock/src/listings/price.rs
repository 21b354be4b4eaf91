//! Prices (`docs/api/listings.md`, "Create"), and the ISO 4217 codes of currencies, without funds, metals and test
//! codes.

use common::validation::{Code, ValidationErrors};
use common::wire::Warning;
use database::Amount;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

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

    /// Returns whether prices of this type have the amount with this name.
    fn uses(self, amount: &str) -> bool {
        match self {
            Self::Fixed => amount == "pricePerUnit",
            Self::Range => amount == "minPrice" || amount == "maxPrice",
            Self::Poa => false,
        }
    }
}

/// Returns the warnings for amounts that the type of the price does not use, by their paths.
pub(crate) fn ignored(paths: impl IntoIterator<Item = impl Into<String>>) -> Vec<Warning> {
    let message = "is ignored: prices of this type do not have it";
    paths.into_iter().map(|path| Warning::new(path, "ignored", message)).collect()
}

/// Removes the amounts that the type of a price in JSON does not use. Returns their names.
pub(crate) fn remove_unused(price: &mut Value) -> Vec<String> {
    let Ok(kind) = serde_json::from_value::<PriceType>(price["type"].clone()) else { return Vec::new() };
    let Some(members) = price.as_object_mut() else { return Vec::new() };
    let is_unused = |name: &&String| {
        ["pricePerUnit", "minPrice", "maxPrice"].contains(&name.as_str()) && !kind.uses(name)
    };
    let unused: Vec<String> = members.keys().filter(is_unused).cloned().collect();
    for name in &unused {
        members.remove(name);
    }
    unused
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
    /// Returns the amount that listings are sorted by: the price per unit or the lower end, whichever the type uses.
    pub(crate) fn sort_amount(&self) -> Option<Amount> {
        let money = match self.kind {
            PriceType::Fixed => &self.per_unit,
            PriceType::Range => &self.min,
            PriceType::Poa => &None,
        };
        money.as_ref().map(|money| money.amount)
    }

    /// Returns the highest amount that the type uses: the price per unit or the upper end.
    pub(crate) fn max_amount(&self) -> Option<&Money> {
        match self.kind {
            PriceType::Fixed => self.per_unit.as_ref(),
            PriceType::Range => self.max.as_ref(),
            PriceType::Poa => None,
        }
    }

    /// Returns all amounts with their paths, and whether the type uses them.
    fn parts(&self) -> [(&'static str, Option<&Money>, bool); 3] {
        let uses = |name: &str| self.kind.uses(name);
        [
            ("price.pricePerUnit", self.per_unit.as_ref(), uses("pricePerUnit")),
            ("price.minPrice", self.min.as_ref(), uses("minPrice")),
            ("price.maxPrice", self.max.as_ref(), uses("maxPrice")),
        ]
    }

    /// Returns the paths of the amounts that the type does not use.
    pub(crate) fn unused(&self) -> Vec<&'static str> {
        let unused = self.parts().into_iter().filter(|(_, money, is_used)| money.is_some() && !is_used);
        unused.map(|(path, ..)| path).collect()
    }

    /// Removes the amounts that the type does not use.
    pub(crate) fn without_unused(self) -> Self {
        let Self { kind, per_unit, min, max } = self;
        let used = |name: &str, money: Option<Money>| money.filter(|_| kind.uses(name));
        let per_unit = used("pricePerUnit", per_unit);
        Self { kind, per_unit, min: used("minPrice", min), max: used("maxPrice", max) }
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
        for (path, money, is_used) in self.parts() {
            if money.is_none() && is_used {
                errors.push(path, Code::Required, "is required for a price of this type");
            }
        }
    }

    fn validate_currencies(&self, errors: &mut ValidationErrors) {
        let mut first = None;
        for (path, money, is_used) in self.parts() {
            let path = format!("{path}.currency");
            let Some(money) = money.filter(|_| is_used && !errors.failed(&path)) else { continue };
            match (find_currency(&money.currency), first) {
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
                && let Some(code) = find_currency(&money.currency)
            {
                code.clone_into(&mut money.currency);
            }
        }
        self
    }
}

/// All codes of currencies in ascending order, including ANG and BGN, which were replaced recently and are still in
/// use.
const CODES: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF \
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG \
    HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA \
    MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD \
    RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX \
    USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

/// Returns the code that equals a text without regard to case and surrounding white space.
pub(crate) fn find_currency(code: &str) -> Option<&'static str> {
    CODES.split(' ').find(|known| known.eq_ignore_ascii_case(code.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let wrong = json!({"type": "poa", "minPrice": money(9.0, "QQQ"), "pricePerUnit": money(1.0, "EUR")});
        assert_eq!(errors_of(wrong, &[]), [], "and not compared");
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
        let half = json!({"type": "range", "minPrice": {"amount": 1}, "maxPrice": money(2.0, "EUR")});
        assert_eq!(errors_of(half, &["price.minPrice.currency"]), []);
    }

    #[test]
    fn amounts_of_other_types_are_removed_and_not_sorted_by() {
        let all = |kind: &str| {
            let amounts = json!({"pricePerUnit": money(5.0, "GBP"), "minPrice": money(7.0, "GBP"), "maxPrice": money(9.0, "GBP")});
            let mut price = amounts;
            price["type"] = json!(kind);
            price
        };
        for (kind, sorted, left) in [
            ("fixed", Some(5.0), &["pricePerUnit"][..]),
            ("range", Some(7.0), &["maxPrice", "minPrice"]),
            ("poa", None, &[]),
        ] {
            let mut json = all(kind);
            let price: Price = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(
                price.sort_amount(),
                sorted.and_then(|amount| Amount::from_f64(amount).ok()),
                "{kind}"
            );
            assert_eq!(
                (price.unused().len(), remove_unused(&mut json).len()),
                (3 - left.len(), 3 - left.len())
            );
            assert_eq!(price.without_unused(), serde_json::from_value(json.clone()).unwrap());
            let names: Vec<_> = json.as_object().unwrap().keys().filter(|name| *name != "type").collect();
            assert_eq!(names, left);
        }
    }

    #[test]
    fn finds_codes_in_any_case() {
        assert!(CODES.split(' ').all(|code| code.len() == 3));
        assert!(CODES.split(' ').is_sorted());
        assert_eq!(find_currency("gbp"), Some("GBP"));
        for unknown in ["", "GB", "GBP EUR", "POUND", "XXX", "£"] {
            assert_eq!(find_currency(unknown), None, "{unknown}");
        }
    }
}
