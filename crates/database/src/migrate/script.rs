//! Scripts of PostgreSQL.

/// Splits a script into its statements, without the semicolons between them.
///
/// Knows strings, quoted names, dollar quotes, comments and parentheses, not the bodies of functions that begin with
/// `BEGIN ATOMIC`.
pub fn split_statements(script: &str) -> Vec<&str> {
    let (mut statements, mut start, mut at, mut depth, mut is_empty) = (Vec::new(), 0, 0, 0_i32, true);
    while let Some(first) = script[at..].chars().next() {
        let comment = comment(&script[at..]);
        match first {
            '(' => depth += 1,
            ')' => depth -= 1,
            ';' if depth <= 0 => {
                statements.extend((!is_empty).then(|| script[start..at].trim()));
                (start, depth, is_empty) = (at + 1, 0, true);
            }
            _ => is_empty &= comment.is_some() || first.is_whitespace(),
        }
        at += comment.or_else(|| quoted(script, at)).unwrap_or(first.len_utf8());
    }
    statements.extend((!is_empty).then(|| script[start..].trim()));
    statements
}

/// Returns the length of the comment that a text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("--") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        (depth, at) = match rest {
            [b'/', b'*', ..] => (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth - 1, at + 2),
            _ => (depth, at + 1),
        };
        if depth == 0 {
            break;
        }
    }
    Some(at)
}

/// Returns the length of the string or name in quotes that begins at a position.
fn quoted(script: &str, at: usize) -> Option<usize> {
    let text = &script[at..];
    let before = script[..at].chars().next_back();
    let end = match text.chars().next()? {
        // A doubled quote is the end of one string and the start of the next one.
        '\'' if matches!(before, Some('e' | 'E')) => escaped_string(text),
        quote @ ('\'' | '"') => text[1..].find(quote).map(|length| length + 2),
        '$' if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') => {
            let tag = &text[..text[1..].find('$')? + 2];
            let is_tag = tag[1..tag.len() - 1].chars().all(|c| c.is_alphanumeric() || c == '_');
            let body = is_tag.then(|| &text[tag.len()..])?;
            body.find(tag).map(|length| length + 2 * tag.len())
        }
        _ => return None,
    };
    Some(end.unwrap_or(text.len()))
}

/// Returns the length of a string in which a backslash, or a quote before a quote, quotes the next character.
fn escaped_string(text: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.as_bytes().get(at..)? {
            [b'\\', _, ..] | [b'\'', b'\'', ..] => at += 2,
            [b'\'', ..] => return Some(at + 1),
            [] => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_quotes_comments_and_parentheses_end_no_statement() {
        let script = "-- first; still first\nCREATE TABLE a (b TEXT DEFAULT 'it''s; b'); /* c; /* d; */ */\n\n\
                      CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;\n\
                      DO $x$ BEGIN PERFORM '$$;'; END $x$;;\nSELECT \";\", E'\\';', a$b; SELECT $1 -- end;\n;\
                      CREATE RULE r AS ON UPDATE TO a DO (SELECT 1; SELECT 2); SELECT E'é''b\\'; c'";
        let expected = [
            "-- first; still first\nCREATE TABLE a (b TEXT DEFAULT 'it''s; b')",
            "/* c; /* d; */ */\n\nCREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
            "DO $x$ BEGIN PERFORM '$$;'; END $x$",
            "SELECT \";\", E'\\';', a$b",
            "SELECT $1 -- end;",
            "CREATE RULE r AS ON UPDATE TO a DO (SELECT 1; SELECT 2)",
            "SELECT E'é''b\\'; c'",
        ];
        assert_eq!(split_statements(script), expected);
        assert_eq!(split_statements(" -- nothing;\n ; /* ; */"), [""; 0]);
    }

    #[test]
    fn unfinished_quotes_end_with_the_script() {
        for script in ["SELECT 'a; b", "SELECT $$ a; b", "/* a; b", "SELECT E'a\\'; b", "SELECT \"a; b"] {
            let found = split_statements(script);
            assert!(found.is_empty() && script.starts_with("/*") || found == [script], "{found:?}");
        }
    }
}
