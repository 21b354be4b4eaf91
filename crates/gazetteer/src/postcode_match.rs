//! A text read as a postcode or the beginning of one.

use crate::district;
use crate::item::Item;
use crate::postcodes;

/// What a text names as a postcode: all empty if it is none.
#[derive(Default)]
pub struct PostcodeMatch {
    /// The unit, or the district.
    pub exact: Vec<Item>,
    /// What begins so, in order.
    pub prefix: Vec<Item>,
    /// The district of a unit that is not known.
    pub near: Vec<Item>,
}

/// Letters and digits of the longest code.
const LONGEST: usize = 7;

/// Reads folded text, in which spaces may be missing or in odd places.
pub fn read(text: &str) -> PostcodeMatch {
    let upper = text.to_ascii_uppercase();
    if let Some(reading) = upper.split_once(' ').and_then(|(outward, inward)| parted(outward, inward)) {
        return reading;
    }
    let code = upper.replace(' ', "");
    let is_code = code.len() <= LONGEST && code.is_ascii();
    // Words without a digit are a name: "h r" is no area.
    if is_code && (code == upper || code.contains(|c: char| c.is_ascii_digit())) {
        return compact(&code);
    }
    PostcodeMatch::default()
}

/// `HR`, `HR1`, `HR49`, `HR49AR`, `H91E2K3`; names of places have no digits and are no area of two letters.
fn compact(code: &str) -> PostcodeMatch {
    let Some(last_digit) = code.rfind(|c: char| c.is_ascii_digit()) else {
        let of_area = |number: &u16| district::code(*number)[2..].starts_with(|c: char| c.is_ascii_digit());
        let districts = if code.len() == 2 { districts(code, of_area) } else { vec![] };
        return PostcodeMatch { prefix: districts, ..PostcodeMatch::default() };
    };
    let (mut exact, prefix): (Vec<_>, Vec<_>) =
        districts(code, |_| true).into_iter().partition(|district| district.text() == code);
    // In Dublin the zero of "D04" is often left out.
    if let Some(digit) = code.strip_prefix('D').filter(|digit| digit.len() == 1) {
        exact.extend(district::irish(&format!("D0{digit}")).map(Item::District));
    }
    if !exact.is_empty() || !prefix.is_empty() {
        return PostcodeMatch { exact, prefix, ..PostcodeMatch::default() };
    }
    let british = parted(&code[..last_digit], &code[last_digit..]);
    british.or_else(|| code.split_at_checked(3).and_then(|(key, rest)| parted(key, rest))).unwrap_or_default()
}

fn districts(start: &str, of: impl Fn(&u16) -> bool) -> Vec<Item> {
    district::beginning(start).filter(of).map(Item::District).collect()
}

/// `HR4 9`, `HR4 9A`, `HR4 9AR`, `H91 E2K3`: the outward code has to be known.
fn parted(outward: &str, inward: &str) -> Option<PostcodeMatch> {
    let (first, letters) = inward.split_at_checked(1)?;
    let is_british = first.as_bytes()[0].is_ascii_digit()
        && letters.len() <= 2
        && letters.bytes().all(|b| b.is_ascii_uppercase());
    if let Some(number) = district::british(outward).filter(|_| is_british) {
        let units: Vec<_> =
            postcodes::beginning(district::padded_code(number), inward).map(Item::Unit).collect();
        return Some(match units[..] {
            [] => PostcodeMatch { near: vec![Item::District(number)], ..PostcodeMatch::default() },
            [_] if inward.len() == 3 => PostcodeMatch { exact: units, ..PostcodeMatch::default() },
            _ => PostcodeMatch { prefix: units, ..PostcodeMatch::default() },
        });
    }
    // Irish units are not in the data.
    let is_irish = inward.len() <= 4 && inward.bytes().all(|b| b.is_ascii_alphanumeric());
    let number = district::irish(outward).filter(|_| is_irish)?;
    Some(PostcodeMatch { near: vec![Item::District(number)], ..PostcodeMatch::default() })
}
