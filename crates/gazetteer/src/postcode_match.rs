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
/// Length of the longest outward code.
const MAX_OUTWARD_CHARS: usize = 4;
/// Length of a routing key of Ireland.
const IRISH_KEY_CHARS: usize = 3;
/// Length of the second part of a British code.
const INWARD_CHARS: usize = 3;

impl PostcodeMatch {
    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.prefix.is_empty() && self.district.is_empty()
    }
}

/// Matches a folded text. Spaces may be missing or misplaced. In a code that is none, O and 0 are read as the other one
/// where only that makes a postcode, and so are I, L and 1.
pub(crate) fn match_postcode(text: &str) -> PostcodeMatch {
    let upper = text.to_ascii_uppercase();
    let matched = match_typed(&upper);
    if matched.is_empty() { match_misread(&upper).unwrap_or_default() } else { matched }
}

fn match_typed(upper: &str) -> PostcodeMatch {
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

/// Matches a code with letters for digits or digits for letters: `SW1A OAA`, `SY2O8EW`, `SY2O`, `H9I E2K3`. A code
/// without digits matches only as a unit postcode with its space, `SWIA OAA`, since names have no digits either.
fn match_misread(upper: &str) -> Option<PostcodeMatch> {
    let is_code = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    let has_digit = upper.contains(|c: char| c.is_ascii_digit());
    let is_split = upper.find(' ').is_some_and(|space| space + 1 + INWARD_CHARS == upper.len());
    let is_misread =
        (has_digit || is_split) && upper.contains(['O', '0', 'I', 'L', '1']) && upper.chars().all(is_code);
    if !is_misread || upper.len() > MAX_CODE_CHARS + 1 {
        return None;
    }
    if upper.len() <= MAX_OUTWARD_CHARS {
        let is_typed = |code: &String| code.as_bytes()[0] == upper.as_bytes()[0];
        let find = |code: String| district::find_british(&code).or_else(|| district::find_irish(&code));
        let number = readings(upper).filter(is_typed).find_map(find)?;
        return Some(PostcodeMatch { exact: vec![Item::District(number)], ..PostcodeMatch::default() });
    }
    let british = upper.split_at(upper.len() - INWARD_CHARS);
    let irish = (upper.len() == MAX_CODE_CHARS).then(|| upper.split_at(IRISH_KEY_CHARS));
    let splits = match upper.split_once(' ') {
        Some(split) => [Some(split), None],
        None => [Some(british), irish],
    };
    splits.into_iter().flatten().find_map(|(outward, inward)| {
        let inward = if inward.len() <= INWARD_CHARS { read_inward(inward) } else { inward.to_owned() };
        // Of a code whose first letter is misread, the whole must exist: "11 8JQ" may be a house number.
        let is_certain = |code: &str, matched: &PostcodeMatch| {
            matches!(matched.exact[..], [Item::Unit(_)])
                || (has_digit && code.as_bytes()[0] == upper.as_bytes()[0] && !matched.is_empty())
        };
        readings(outward)
            .find_map(|code| match_split(&code, &inward).filter(|matched| is_certain(&code, matched)))
    })
}

/// Returns the ways to read an outward code, as it is typed first: those that begin with a letter and have a digit.
fn readings(outward: &str) -> impl Iterator<Item = String> {
    let mut all = vec![String::new()];
    for typed in outward.chars().take(MAX_OUTWARD_CHARS) {
        let alike: &[char] = match typed {
            'O' | '0' => &['0', 'O'],
            'I' | 'L' | '1' => &['1', 'I', 'L'],
            _ => &[],
        };
        let others = alike.iter().copied().filter(|c| *c != typed);
        let letters: Vec<char> = std::iter::once(typed).chain(others).collect();
        all = letters.iter().flat_map(|c| all.iter().map(move |start| format!("{start}{c}"))).collect();
    }
    let is_code = |code: &String| {
        code.starts_with(|c: char| c.is_ascii_uppercase())
            && code.len() == outward.len()
            && code[1..].find(|c: char| c.is_ascii_digit()).is_some_and(|at| at < 2)
    };
    all.into_iter().filter(move |code| is_code(code))
}

/// Reads an inward code of Great Britain: a digit, then two letters, which are never I or O.
fn read_inward(typed: &str) -> String {
    let digit = |c| match c {
        'O' => '0',
        'I' | 'L' => '1',
        _ => c,
    };
    let letter = |c| if c == 'I' || c == '1' { 'L' } else { c };
    typed.chars().zip(0..).map(|(c, at)| if at == 0 { digit(c) } else { letter(c) }).collect()
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

#[cfg(test)]
mod tests {
    use super::match_misread;
    use crate::tables::FOLDED;

    #[test]
    fn no_name_is_a_misread_postcode() {
        let names = FOLDED.split(|byte| *byte == b'\n').map(|name| str::from_utf8(name).unwrap());
        for name in names.filter(|name| !name.contains(|c: char| c.is_ascii_digit())) {
            let words: Vec<_> = name.split(' ').collect();
            for pair in words.windows(2) {
                assert!(match_misread(&pair.join(" ").to_ascii_uppercase()).is_none(), "{name}");
            }
        }
    }
}
