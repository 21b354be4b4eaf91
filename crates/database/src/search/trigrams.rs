//! Queries on trigram indexes of SQLite.

/// Returns the full-text query (FTS5 of SQLite) for the texts that contain all trigrams of these words: a few more
/// than the texts that contain the words. `None` if no word has three letters.
pub fn trigrams(words: &[String]) -> Option<String> {
    let mut all = Vec::new();
    for word in words {
        let letters: Vec<_> = word.chars().collect();
        for three in letters.windows(3) {
            let quoted = format!("\"{}\"", three.iter().collect::<String>().replace('"', "\"\""));
            if !all.contains(&quoted) {
                all.push(quoted);
            }
        }
    }
    (!all.is_empty()).then(|| all.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_letters_in_a_row() {
        let query = |words: &[&str]| trigrams(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(query(&["ab", "c"]), None);
        assert_eq!(query(&["abcd", "x"]).unwrap(), r#""abc" AND "bcd""#);
        assert_eq!(query(&["aaaa", "ärä"]).unwrap(), r#""aaa" AND "ärä""#);
        assert_eq!(query(&["a\"*b"]).unwrap(), r#""a""*" AND """*b""#);
    }
}
