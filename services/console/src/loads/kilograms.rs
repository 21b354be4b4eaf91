//! Weights as a weighbridge prints them: in whole kilograms.

use crate::api::FieldError;
use crate::fields::Fields;
use crate::format::typed_number;

/// The fields of weights, which a driver types in kilograms and the API takes in tonnes.
pub(crate) const WEIGHTS: [&str; 3] = ["weightGross", "weightTare", "weightNet"];

/// The least weight in kilograms. A smaller number was probably typed in tonnes.
const LEAST: u32 = 100;

/// Reads a typed weight: `43780`, `43 780`, `43,780` or `43.780`.
///
/// # Errors
/// What is wrong, and what to type instead.
fn parse(text: &str) -> Result<u32, &'static str> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let text = text.strip_suffix("kg").unwrap_or(&text);
    let parts: Vec<&str> = text.split([',', '.', '\'']).collect();
    let is_grouped = parts[1..].iter().all(|part| part.len() == 3)
        && (parts.len() == 1 || (1..=3).contains(&parts[0].len()));
    let is_digits = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let kilograms = parts.concat().parse::<u32>().ok().filter(|_| is_grouped && is_digits);
    match kilograms {
        Some(kilograms) if kilograms >= LEAST || kilograms == 0 => Ok(kilograms),
        Some(_) => Err("seems to be in tonnes: write kilograms, as 43780"),
        None => Err("is not a weight in kilograms: write it as 43780"),
    }
}

/// Returns the fields with weights in tonnes. The net weight is the difference of the others if it is left out.
///
/// # Errors
/// The texts that are no weights.
pub(crate) fn in_tonnes(typed: &Fields) -> Result<Fields, Vec<FieldError>> {
    let (mut fields, mut errors) = (Vec::new(), Vec::new());
    let [mut gross, mut tare, mut net] = [None; 3];
    for (name, value) in &typed.0 {
        let Some(index) = WEIGHTS.iter().position(|weight| weight == name) else {
            fields.push((name.clone(), value.clone()));
            continue;
        };
        if value.trim().is_empty() {
            continue;
        }
        match parse(value) {
            Ok(kilograms) => *[&mut gross, &mut tare, &mut net][index] = Some(kilograms),
            Err(message) => errors.push(FieldError { path: name.clone(), message: message.to_owned() }),
        }
    }
    let net = net.or_else(|| gross?.checked_sub(tare?));
    for (name, weight) in WEIGHTS.into_iter().zip([gross, tare, net]) {
        fields.extend(weight.map(|weight| (name.to_owned(), typed_number(f64::from(weight) / 1000.0))));
    }
    if errors.is_empty() { Ok(Fields(fields)) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilograms_are_read_as_tickets_have_them() {
        for text in ["43780", " 43 780 ", "43,780", "43.780", "43'780", "43780 kg"] {
            assert_eq!(parse(text), Ok(43_780), "{text}");
        }
        assert_eq!(parse("0"), Ok(0));
        for text in ["43.78", "4378,0", "x", "-1", "", "1e4", "4,3,780", "99999999999", "43..780"] {
            assert!(parse(text).unwrap_err().contains("is not a weight"), "{text}");
        }
        assert!(parse("43").unwrap_err().contains("tonnes"));
    }

    #[test]
    fn the_net_weight_follows_from_the_others() {
        let typed = |pairs: &[(&str, &str)]| {
            Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let fields = in_tonnes(&typed(&[
            ("weightGross", "43780"),
            ("weightTare", "14 760"),
            ("weightNet", ""),
            ("ticketNumber", "T-1"),
        ]));
        let fields = fields.unwrap();
        assert_eq!((fields.get("weightNet"), fields.get("weightGross")), ("29.02", "43.78"));
        assert_eq!(fields.get("ticketNumber"), "T-1");
        let fields = in_tonnes(&typed(&[("weightNet", "29020")])).unwrap();
        assert_eq!((fields.get("weightNet"), fields.find("weightGross")), ("29.02", None));
        let errors = in_tonnes(&typed(&[("weightGross", "43.78"), ("weightTare", "14")])).unwrap_err();
        assert_eq!(
            errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(),
            ["weightGross", "weightTare"]
        );
    }
}
