//! Matching of a text against postcodes and districts.

use crate::district;
use crate::item::Item;
use crate::layout::DistrictNumber;
use crate::postcodes;

/// The postcodes and districts that a text matches. All lists are empty if the text is not a postcode.
#[derive(Default)]
pub(crate) struct PostcodeMatch {
    /// The unit postcode or district with this code.
    pub exact: Vec<Item>,
    /// Unit postcodes or districts that start with the text, in order.
    pub prefix: Vec<Item>,
    /// The district of a unit postcode that is not in the data.
    pub district: Vec<Item>,
}

/// Length of the longest code without its space, in characters.
const MAX_CODE_CHARS: usize = 7;

/// Matches a folded text. Spaces may be missing or misplaced.
pub(crate) fn match_postcode(text: &str) -> PostcodeMatch {
    let upper = text.to_ascii_uppercase();
    let split = upper.split_once(' ');
    if let Some(matched) = split.and_then(|(outward, inward)| match_split(outward, inward)) {
        return matched;
    }
    let code = upper.replace(' ', "");
    let is_code = code.len() <= MAX_CODE_CHARS && code.is_ascii();
    // Several words without a digit are a name: "h r" is not the area HR.
    if is_code && (code == upper || code.contains(|c: char| c.is_ascii_digit())) {
        return match_compact(&code);
    }
    PostcodeMatch::default()
}

/// Matches a code without spaces: `HR`, `HR1`, `HR49`, `HR49AR`, `H91E2K3`. A code without digits matches only as an
/// area of two letters, since names have no digits either.
fn match_compact(code: &str) -> PostcodeMatch {
    let Some(last_digit) = code.rfind(|c: char| c.is_ascii_digit()) else {
        let is_in_area =
            |number: &DistrictNumber| district::code(*number)[2..].starts_with(|c: char| c.is_ascii_digit());
        let districts = if code.len() == 2 { districts(code, is_in_area) } else { vec![] };
        return PostcodeMatch { prefix: districts, ..PostcodeMatch::default() };
    };
    let (mut exact, prefix): (Vec<_>, Vec<_>) =
        districts(code, |_| true).into_iter().partition(|district| district.text() == code);
    // The zero of Dublin's "D04" is often omitted.
    if let Some(digit) = code.strip_prefix('D').filter(|digit| digit.len() == 1) {
        exact.extend(district::find_irish(&format!("D0{digit}")).map(Item::District));
    }
    if !exact.is_empty() || !prefix.is_empty() {
        return PostcodeMatch { exact, prefix, ..PostcodeMatch::default() };
    }
    match_split(&code[..last_digit], &code[last_digit..])
        .or_else(|| code.split_at_checked(3).and_then(|(key, unique)| match_split(key, unique)))
        .unwrap_or_default()
}

fn districts(prefix: &str, filter: impl Fn(&DistrictNumber) -> bool) -> Vec<Item> {
    district::with_prefix(prefix).filter(filter).map(Item::District).collect()
}

/// Matches `HR4 9`, `HR4 9A`, `HR4 9AR` or `H91 E2K3`. Returns `None` if the outward code does not exist.
fn match_split(outward: &str, inward: &str) -> Option<PostcodeMatch> {
    let (first, letters) = inward.split_at_checked(1)?;
    let is_british = first.as_bytes()[0].is_ascii_digit()
        && letters.len() <= 2
        && letters.bytes().all(|b| b.is_ascii_uppercase());
    if let Some(number) = district::find_british(outward).filter(|_| is_british) {
        let units: Vec<_> =
            postcodes::with_prefix(district::padded_code(number), inward).map(Item::Unit).collect();
        return Some(match units[..] {
            [] => PostcodeMatch { district: vec![Item::District(number)], ..PostcodeMatch::default() },
            [_] if inward.len() == 3 => PostcodeMatch { exact: units, ..PostcodeMatch::default() },
            _ => PostcodeMatch { prefix: units, ..PostcodeMatch::default() },
        });
    }
    // The data has no Irish unit postcodes.
    let is_irish = inward.len() <= 4 && inward.bytes().all(|b| b.is_ascii_alphanumeric());
    let number = district::find_irish(outward).filter(|_| is_irish)?;
    Some(PostcodeMatch { district: vec![Item::District(number)], ..PostcodeMatch::default() })
}
