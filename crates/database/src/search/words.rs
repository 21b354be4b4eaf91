//! The words of a query: which texts contain them, in memory and as a condition of a database, and the full-text query
//! that a search for them begins with. Texts and words are
//! folded. A word may be anywhere in the text, also within a word of it; a word of one letter or digit matches only
//! the beginning of a word.

use diesel::dsl::sql;
use diesel::expression::{AppearsOnTable, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Text};

use crate::{AnyConnection, MultiBackend};

/// The characters before the beginning of a word, in the brackets of a pattern of SQLite: in ASCII all but letters and
/// digits, and the punctuation and spaces of other blocks. Both databases compare code points.
const SEPARATORS: &str = "\u{1}-/:-`{-\u{7f}\u{a0}-\u{bf}\u{2000}-\u{206f}\u{3000}-\u{303f}";
/// The same for PostgreSQL.
const SEPARATORS_POSTGRES: &str = r"\u0001-/:-`{-\u007f\u00a0-\u00bf\u2000-\u206f\u3000-\u303f";

/// Returns true for the characters of [`SEPARATORS`].
fn is_separator(letter: char) -> bool {
    matches!(letter, '\u{1}'..='/' | ':'..='`' | '{'..='\u{7f}' | '\u{a0}'..='\u{bf}' | '\u{2000}'..='\u{206f}'
        | '\u{3000}'..='\u{303f}')
}

/// Returns true for a word of one letter or digit.
pub fn is_initial(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_alphanumeric) && letters.next().is_none()
}

/// Returns true if a match at this position of a text is the beginning of a word.
pub fn begins_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(is_separator)
}

/// Returns true if a text has a word of a query.
pub fn has_word(text: &str, word: &str) -> bool {
    if is_initial(word) {
        text.match_indices(word).any(|(at, _)| begins_word(text, at))
    } else {
        text.contains(word)
    }
}

/// The condition that the text of a column has a word of a query, as [`has_word`] says.
#[derive(Clone, Debug)]
pub struct HasWord {
    column: &'static str,
    like: String,
    begins: Option<Begins>,
}

/// The patterns of texts in which the first word begins with a letter, and in which another one does.
#[derive(Clone, Debug)]
struct Begins {
    /// `GLOB` of SQLite.
    globs: [String; 2],
    /// `~` of PostgreSQL.
    regexes: [String; 2],
}

impl HasWord {
    /// Creates the condition for a column.
    pub fn new(column: &'static str, word: &str) -> Self {
        Self::with_end(column, word, None)
    }

    /// Creates the condition that the word is before the last `end` of the text.
    pub fn before(column: &'static str, word: &str, end: char) -> Self {
        Self::with_end(column, word, Some(end))
    }

    fn with_end(column: &'static str, word: &str, end: Option<char>) -> Self {
        let patterns = |end| (format!("{end}%"), format!("{end}*"), format!(".*\\u{:04x}", u32::from(end)));
        let (like_end, glob_end, regex_end) = end.map(patterns).unwrap_or_default();
        let begins = is_initial(word).then(|| {
            let glob = |before: &str| format!("{before}{word}*{glob_end}");
            let regex = |before: &str| format!("{before}{word}{regex_end}");
            Begins {
                globs: [glob(""), glob(&format!("*[{SEPARATORS}]"))],
                regexes: [regex("^"), regex(&format!("[{SEPARATORS_POSTGRES}]"))],
            }
        });
        Self { column, like: containing(word) + &like_end, begins }
    }
}

impl QueryFragment<MultiBackend> for HasWord {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql("(");
        out.push_sql(self.column);
        out.push_sql(" LIKE ");
        out.push_bind_param::<Text, _>(&self.like)?;
        out.push_sql(" ESCAPE '\\'");
        if let Some(Begins { globs, regexes }) = &self.begins {
            let (operator, patterns) = match out.backend() {
                MultiBackend::Sqlite(_) => (" GLOB ", globs),
                MultiBackend::Postgres(_) => (" ~ ", regexes),
            };
            for (before, pattern) in [" AND (", " OR "].into_iter().zip(patterns) {
                out.push_sql(before);
                out.push_sql(self.column);
                out.push_sql(operator);
                out.push_bind_param::<Text, _>(pattern)?;
            }
            out.push_sql(")");
        }
        out.push_sql(")");
        Ok(())
    }
}

impl Expression for HasWord {
    type SqlType = Bool;
}
impl<T> AppearsOnTable<T> for HasWord {}
impl<T> SelectableExpression<T> for HasWord {}
impl ValidGrouping<()> for HasWord {
    type IsAggregate = is_aggregate::Never;
}
impl QueryId for HasWord {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// A full-text query that matches fewer rows than this begins with the full-text index. With more matches it is cheaper
/// to read the rows in order: a page's worth is found soon.
const MAX_MATCHES: i64 = 5_000;

/// Returns the full-text query that a search for texts with all of these words begins with. `index` is a table of FTS5
/// with trigrams. `None` if the words match many rows, if none has three letters, and on PostgreSQL: only SQLite has no
/// statistics to choose the index by.
///
/// The query matches a few more texts than those that contain the words.
///
/// # Errors
/// Those of the database.
pub fn selective_query(c: &mut AnyConnection, index: &str, words: &[String]) -> QueryResult<Option<String>> {
    let (AnyConnection::Sqlite(_), Some(query)) = (&mut *c, trigrams(words)) else { return Ok(None) };
    let count = sql::<BigInt>(&format!("(SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH "))
        .bind::<Text, _>(&query)
        .sql(" LIMIT ")
        .bind::<BigInt, _>(MAX_MATCHES)
        .sql("))");
    let count: i64 = diesel::select(count).get_result(c)?;
    Ok((count < MAX_MATCHES).then_some(query))
}

/// Returns the full-text query for the texts that contain all trigrams of these words. `None` if no word has three
/// letters.
fn trigrams(words: &[String]) -> Option<String> {
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

/// Returns the pattern of texts that contain `text`, for `LIKE … ESCAPE '\'`.
pub fn containing(text: &str) -> String {
    let literal = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{literal}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_letter_begin_words() {
        for (text, word, found) in [
            ("quiet heifers", "h", true),
            ("quiet heifers", "e", false),
            ("quiet heifers", "ei", true),
            ("quiet\nheifers", "h", true),
            ("(heifers)", "h", true),
            ("\u{201c}heifers\u{201d}", "h", true),
            ("ld3 7eg", "7", true),
            ("ld3 7eg", "3", false),
            ("\u{e9}t\u{e9}", "t", false),
            ("\u{e9}t\u{e9}", "\u{e9}", true),
            ("50%", "%", true),
            ("", "h", false),
        ] {
            assert_eq!(has_word(text, word), found, "{text} {word}");
        }
    }

    #[test]
    fn three_letters_in_a_row() {
        let query = |words: &[&str]| trigrams(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(query(&["ab", "c"]), None);
        assert_eq!(query(&["abcd", "x"]).unwrap(), r#""abc" AND "bcd""#);
        assert_eq!(query(&["aaaa", "ärä"]).unwrap(), r#""aaa" AND "ärä""#);
        assert_eq!(query(&["a\"*b"]).unwrap(), r#""a""*" AND """*b""#);
    }

    #[test]
    fn wildcards_are_escaped() {
        assert_eq!(containing("c_%\\"), r"%c\_\%\\%");
    }
}
