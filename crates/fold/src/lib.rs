//! The folding with which texts are compared (docs/api/conventions.md, "Comparison").

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most characters of a folded text in a key: folding can make a text eighteen times as long, and an entry of an
/// index of PostgreSQL has at most 2,700 bytes.
const MAX_KEY_CHARS: usize = 200;
/// Ends the folded text in a sort key. No text has it.
pub const END_OF_FOLDED: char = '\u{1}';

/// Returns the form in which equal names are the same: folded, at most 200 characters. A name of punctuation alone is
/// in lower case.
pub fn comparison_key(name: &str) -> String {
    let folded = fold(name);
    let key = if folded.is_empty() { name.trim().to_lowercase() } else { folded };
    first_chars(key, MAX_KEY_CHARS)
}

/// Returns the text by which texts are sorted: by their folded form, then by their code points.
pub fn sort_key(text: &str) -> String {
    let mut key = first_chars(fold(text), MAX_KEY_CHARS);
    key.push(END_OF_FOLDED);
    key.push_str(text);
    key
}

/// Returns the first characters of a text.
pub fn first_chars(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
    text
}

/// Returns the words of a text as they are compared, separated by single spaces: NFKD without marks, case folded, with
/// the usual Latin letters, without apostrophes and without punctuation at the edges of words. Dashes separate words,
/// `&` is `and`, and a comma between digits is left out. Folding twice changes nothing more.
pub fn fold(text: &str) -> String {
    let mut letters = String::with_capacity(text.len());
    // Some apostrophes decompose into a space and a mark. Others are there only after the decomposition.
    for c in text.chars().filter(|c| !is_apostrophe(*c)).nfkd().filter(|c| !is_apostrophe(*c)) {
        match c {
            'a'..='z' | '0'..='9' | ' ' => letters.push(c),
            '&' => letters.push_str(" and "),
            _ if is_dash(c) => letters.push(' '),
            _ if is_combining_mark(c) => {}
            // Only the upper case is the same for all forms of some letters, such as ß and ẞ.
            _ => {
                let lower = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
                lower.for_each(|c| push_latin(c, &mut letters));
            }
        }
    }
    let words = letters.split_whitespace().map(|word| word.trim_matches(is_punctuation));
    let mut folded = String::with_capacity(letters.len());
    for word in words.filter(|word| !word.is_empty()) {
        if !folded.is_empty() {
            folded.push(' ');
        }
        push_without_thousands(word, &mut folded);
    }
    folded
}

/// Adds a lower-case letter, or the usual Latin ones for one without decomposition.
fn push_latin(c: char, text: &mut String) {
    match c {
        'æ' => text.push_str("ae"),
        'œ' => text.push_str("oe"),
        'þ' => text.push_str("th"),
        'ø' => text.push('o'),
        'ł' => text.push('l'),
        'đ' | 'ð' => text.push('d'),
        _ => text.push(c),
    }
}

/// Adds a word without the commas between its digits.
fn push_without_thousands(word: &str, text: &mut String) {
    let mut letters = word.chars().peekable();
    let mut is_after_digit = false;
    while let Some(c) = letters.next() {
        if c == ',' && is_after_digit && letters.peek().is_some_and(|next| next.is_numeric()) {
            continue;
        }
        is_after_digit = c.is_numeric();
        text.push(c);
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '`' | '´' | '‘' | '’' | '‛' | 'ʻ' | 'ʼ' | '′')
}

fn is_dash(c: char) -> bool {
    c == '\u{2212}' || get_general_category(c) == GeneralCategory::DashPunctuation
}

fn is_punctuation(c: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation,
        OpenPunctuation, OtherPunctuation,
    };
    matches!(
        get_general_category(c),
        ClosePunctuation
            | ConnectorPunctuation
            | DashPunctuation
            | FinalPunctuation
            | InitialPunctuation
            | OpenPunctuation
            | OtherPunctuation
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{comparison_key, fold, sort_key};

    #[test]
    fn folds_what_people_write_differently() {
        for (written, folded) in [
            ("Welsh  Black\u{a0}\u{2009}Heifers\t", "welsh black heifers"),
            (
                "O'Neill O’Neill O´Neill O`Neill O′Neill OʼNeill O\u{ff07}Neill",
                "oneill oneill oneill oneill oneill oneill oneill",
            ),
            ("\u{149}", "n"),
            (
                "PB-1 PB\u{2011}1 PB\u{2013}1 PB\u{2014}1 PB\u{2212}1 PB\u{ff0d}1",
                "pb 1 pb 1 pb 1 pb 1 pb 1 pb 1",
            ),
            ("Straße STRASSE STRA\u{1e9e}E", "strasse strasse strasse"),
            ("Crème brûlée \u{ff21}\u{ff11} ﬁne ½", "creme brulee a1 fine 1\u{2044}2"),
            (
                "Ørsted Łódź Æther Œuvre Đakovo Ðorn Þing Iğdır",
                "orsted lodz aether oeuvre dakovo dorn thing igdir",
            ),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"),
            ("Smith & Sons, Smith&Sons", "smith and sons smith and sons"),
            ("(Limousin), \"x\"; “y”! ¿z? _w_", "limousin x y z w"),
            ("U.S.A. 1/2. a,b", "u.s.a 1/2 a,b"),
            ("1,234,567 1,a ,5 5,", "1234567 1,a 5 5"),
            ("£5 +1 #7", "£5 +1 7"),
            (" .,- \u{2013} ' ", ""),
            ("", ""),
        ] {
            assert_eq!(fold(written), folded, "{written}");
        }
    }

    #[test]
    fn texts_are_sorted_by_their_folded_form_first() {
        let mut texts = ["zebra", "Éa", "e b", "ea", "Ea b", "E-a", ""];
        texts.sort_by_key(|text| sort_key(text));
        assert_eq!(texts, ["", "E-a", "e b", "ea", "Éa", "Ea b", "zebra"]);
    }

    #[test]
    fn keys_are_short_and_never_empty() {
        assert_eq!(comparison_key("\u{fdfa}".repeat(60).as_str()).chars().count(), 200);
        assert_eq!(
            (comparison_key(" ?! "), comparison_key("Blonde d’Aquitaine")),
            ("?!".into(), "blonde daquitaine".into())
        );
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing_more(text in "\\PC{0,30}", latin in "[ -~äßøſ’–½,]{0,30}") {
            for text in [&text, &latin] {
                let once = fold(text);
                prop_assert_eq!(fold(&once), once);
            }
            prop_assert_eq!(fold(&latin.to_uppercase()), fold(&latin));
        }
    }
}
