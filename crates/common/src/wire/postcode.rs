//! Postcodes, normalised by rule (contract, section 6, "Postcodes").

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::TextForm;
use super::text;

/// A postcode: up to 20 characters. Those of the UK and of Ireland are normalised as they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Postcode(pub String);

impl<'de> Deserialize<'de> for Postcode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(normalise(&text)))
    }
}

impl PartialSchema for Postcode {
    fn schema() -> RefOr<Schema> {
        text::schema(1, 20, text::NAME, TextForm::Postcode)
    }
}
impl ToSchema for Postcode {}

/// UK and Irish postcodes in upper case with one space; anything else trimmed.
pub(super) fn normalise(text: &str) -> String {
    let compact: String =
        text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
    let split = if is_uk(compact.as_bytes()) {
        compact.len() - 3
    } else if is_irish(compact.as_bytes()) {
        3
    } else {
        return text.trim().to_owned();
    };
    format!("{} {}", &compact[..split], &compact[split..])
}

/// `A9 9AA`, `A99 9AA`, `A9A 9AA`, `AA9 9AA`, `AA99 9AA`, `AA9A 9AA`, `GIR 0AA`.
fn is_uk(code: &[u8]) -> bool {
    if !(5..=7).contains(&code.len()) {
        return false;
    }
    let (outward, inward) = code.split_at(code.len() - 3);
    let shape: Vec<u8> = outward
        .iter()
        .map(|b| {
            if b.is_ascii_digit() {
                b'9'
            } else if b.is_ascii_uppercase() {
                b'A'
            } else {
                b'?'
            }
        })
        .collect();
    let inward = inward[0].is_ascii_digit() && inward[1..].iter().all(u8::is_ascii_uppercase);
    inward
        && (matches!(&shape[..], b"A9" | b"A99" | b"A9A" | b"AA9" | b"AA99" | b"AA9A") || outward == b"GIR")
}

/// Routing key (`H91`, and the one exception `D6W`) and four more.
fn is_irish(code: &[u8]) -> bool {
    let letter = |b: &u8| b"ACDEFHKNPRTVWXY".contains(b);
    code.len() == 7
        && letter(&code[0])
        && (code[1..3].iter().all(u8::is_ascii_digit) || &code[..3] == b"D6W")
        && code[3..].iter().all(|b| b.is_ascii_digit() || letter(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_normalised_once(text in "\\PC{0,12}", code in "[ A-Za-z0-9\u{a0}]{0,10}") {
            for text in [text, code] {
                let kept = normalise(&text);
                prop_assert_eq!(&normalise(&kept), &kept);
                let letters = |text: &str| text.split_whitespace().collect::<String>().to_uppercase();
                prop_assert_eq!(letters(&kept), letters(&text));
            }
        }
    }

    #[test]
    fn uk_irish_and_other() {
        let cases = [
            ("hr49ar", "HR4 9AR"),
            (" HR4  9AR ", "HR4 9AR"),
            ("w1a 1aa", "W1A 1AA"),
            ("m11ae", "M1 1AE"),
            ("h91e2k3", "H91 E2K3"),
            ("d6w xy00", "D6W XY00"),
            (" 75008 ", "75008"),
            ("HR4", "HR4"),
            ("Ballina", "Ballina"),
            ("hr49arx", "hr49arx"),
            ("", ""),
        ];
        for (given, kept) in cases {
            assert_eq!(normalise(given), kept, "{given}");
        }
    }
}
