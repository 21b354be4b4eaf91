//! Free text: full-text queries of SQLite, which begin a search with the matches of its words.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use crate::AnyConnection;

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
