//! Postcodes of the UK and Ireland.

/// Returns a postcode of the UK or Ireland in upper case with one space, and any other text trimmed.
pub(super) fn normalize(text: &str) -> String {
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

/// Returns true for the formats `A9 9AA`, `A99 9AA`, `A9A 9AA`, `AA9 9AA`, `AA99 9AA`, `AA9A 9AA` and for `GIR 0AA`.
fn is_uk(code: &[u8]) -> bool {
    if !(5..=7).contains(&code.len()) {
        return false;
    }
    let (outward, inward) = code.split_at(code.len() - 3);
    let pattern: Vec<u8> = outward
        .iter()
        .map(|b| match b {
            b'0'..=b'9' => b'9',
            b'A'..=b'Z' => b'A',
            _ => b'?',
        })
        .collect();
    let is_inward = inward[0].is_ascii_digit() && inward[1..].iter().all(u8::is_ascii_uppercase);
    let is_outward =
        matches!(&pattern[..], b"A9" | b"A99" | b"A9A" | b"AA9" | b"AA99" | b"AA9A") || outward == b"GIR";
    is_inward && is_outward
}

/// Returns true for a normalized postcode of Ireland.
pub fn is_eircode(postcode: &str) -> bool {
    is_irish(postcode.replace(' ', "").as_bytes())
}

/// Returns true for a routing key (`H91`, or the exception `D6W`) and four more characters.
fn is_irish(code: &[u8]) -> bool {
    let is_letter = |b: &u8| b"ACDEFHKNPRTVWXY".contains(b);
    code.len() == 7
        && is_letter(&code[0])
        && (code[1..3].iter().all(u8::is_ascii_digit) || &code[..3] == b"D6W")
        && code[3..].iter().all(|b| b.is_ascii_digit() || is_letter(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing_more(text in "\\PC{0,12}", code in "[ A-Za-z0-9\u{a0}]{0,10}") {
            for text in [text, code] {
                let normalized = normalize(&text);
                prop_assert_eq!(&normalize(&normalized), &normalized);
                let letters = |text: &str| text.split_whitespace().collect::<String>().to_uppercase();
                prop_assert_eq!(letters(&normalized), letters(&text));
            }
        }
    }

    #[test]
    fn normalizes_only_uk_and_irish_postcodes() {
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
        for (text, normalized) in cases {
            assert_eq!(normalize(text), normalized, "{text}");
        }
    }
}
