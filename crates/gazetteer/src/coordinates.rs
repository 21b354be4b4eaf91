//! Points as texts: `51.9469,-3.3915`.

/// Degrees have at most this many decimals, about a centimetre.
const DECIMALS: f64 = 1e7;

/// Parses a latitude and a longitude in degrees, which commas, semicolons or spaces separate, with minus signs or the
/// letters of the directions. Whole numbers need more than a space between them: `12 14` may be house numbers.
pub(crate) fn parse(text: &str) -> Option<(f64, f64)> {
    let plain = text.replace('\u{2212}', "-").replace('°', " ").to_ascii_uppercase();
    let is_separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let mut numbers: Vec<f64> = Vec::new();
    let mut letters: Vec<Option<char>> = Vec::new();
    for part in plain.split(is_separator).filter(|part| !part.is_empty()) {
        let (number, letter) = match part.strip_suffix(['N', 'S', 'E', 'W']) {
            Some(number) => (number, part.chars().last()),
            None => (part, None),
        };
        if number.is_empty() {
            *letters.last_mut().filter(|letter| letter.is_none())? = letter;
        } else {
            let is_digit = |c: char| c.is_ascii_digit() || "+-.".contains(c);
            numbers.push(number.parse().ok().filter(|_| number.chars().all(is_digit))?);
            letters.push(letter);
        }
    }
    let is_certain = plain.contains(['.', '-', ',', ';']) || letters.contains(&Some('N'));
    let [(lat, lon)] = [(*numbers.first()?, *numbers.get(1)?)];
    let (lat, lon) = match letters[..] {
        [None, None] => (lat, lon),
        [Some(north @ ('N' | 'S')), Some(east @ ('E' | 'W'))] => {
            (if north == 'S' { -lat } else { lat }, if east == 'W' { -lon } else { lon })
        }
        _ => return None,
    };
    let is_on_earth = lat.abs() <= 90.0 && lon.abs() <= 180.0;
    // Adding 0 turns -0 into 0.
    let round = |degrees: f64| (degrees * DECIMALS).round() / DECIMALS + 0.0;
    (is_certain && is_on_earth).then(|| (round(lat), round(lon)))
}

/// Formats a point as [`parse`] reads it.
pub(crate) fn format((lat, lon): (f64, f64)) -> String {
    format!("{lat},{lon}")
}

#[cfg(test)]
mod tests {
    use super::{format, parse};

    #[test]
    fn reads_points_in_various_forms() {
        for text in [
            "51.9469,-3.3915",
            " 51.9469 , -3.3915 ",
            "51.9469 -3.3915",
            "51.9469;-3.3915",
            "+51.94690,\u{2212}3.3915",
            "51.9469N 3.3915W",
            "51.9469° n, 3.3915° w",
        ] {
            assert_eq!(parse(text), Some((51.9469, -3.3915)), "{text}");
        }
        assert_eq!(parse("-33.9S 18.4E"), Some((33.9, 18.4)));
        assert_eq!(parse("52,-3").map(format), Some("52,-3".into()));
        assert_eq!(parse("52, 1").map(format), Some("52,1".into()));
        assert_eq!(parse("-0.0 0.12345678").map(format), Some("0,0.1234568".into()));
    }

    #[test]
    fn other_texts_are_no_points() {
        for text in [
            "",
            "52 94",
            "51,9469",
            "90.1,0",
            "0,180.1",
            "51.9",
            "1.5,2.5,3.5",
            "51.9N",
            "51.9N 3.4",
            "51.9W 3.4N",
            "N 51.9, W 3.4",
            "1e1,2.5",
            "inf,1.5",
            "NaN,NaN",
            "51.9NN,3.4W",
            "HR4 9AR",
            "12 High St., -",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
