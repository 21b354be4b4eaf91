//! What an expression of PromQL asks for: a selector without series is no error to Prometheus, and an empty panel to
//! us.

/// What stands in an expression.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `up`, `drover_requests_total{status="200"}`
    pub selectors: Vec<String>,
    /// Those that it is grouped or matched by.
    pub labels: Vec<String>,
}

const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// Reads an expression. Names of metrics are told from other words by an underscore or a colon in them.
pub fn read(expression: &str) -> Asked {
    let (mut asked, mut rest) = (Asked::default(), expression);
    while let Some(first) = rest.chars().next() {
        let word =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
        if first == '"' || first == '[' {
            let close = if first == '"' { '"' } else { ']' };
            rest = rest[1..].split_once(close).map_or("", |(_, after)| after);
        } else if word == 0 {
            rest = &rest[first.len_utf8()..];
        } else {
            let name;
            (name, rest) = rest.split_at(word);
            let next = rest.trim_start();
            if let Some(list) = next.strip_prefix('(').filter(|_| GROUPING.contains(&name)) {
                let (labels, after) = list.split_once(')').unwrap_or((list, ""));
                asked
                    .labels
                    .extend(labels.split(',').map(|label| label.trim().to_owned()).filter(|l| !l.is_empty()));
                rest = after;
            } else if !next.starts_with('(') && is_metric(name) {
                let end = matchers(rest);
                asked.selectors.push(format!("{name}{}", &rest[..end]));
                rest = &rest[end..];
            }
        }
    }
    asked
}

/// A selector as several, of which each must have series: one for each alternative of a regular expression, also of
/// one that is not to match, for what nothing is called needs no exception.
pub fn alternatives(selector: &str) -> Vec<String> {
    let found = ["=~\"", "!~\""].iter().filter_map(|sign| selector.find(sign)).min();
    let Some((at, end)) = found.and_then(|at| Some((at, at + 3 + selector[at + 3..].find('"')?))) else {
        return vec![selector.to_owned()];
    };
    let rest = alternatives(&selector[end..]);
    let each = selector[at + 3..end].split('|').map(|one| {
        let sign = if one.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') { "=" } else { "=~" };
        format!("{}{sign}\"{one}", &selector[..at])
    });
    each.flat_map(|one| rest.iter().map(move |rest| format!("{one}{rest}"))).collect()
}

fn is_metric(name: &str) -> bool {
    name == "up" || (name.contains(['_', ':']) && !GROUPING.contains(&name))
}

/// Where the matchers end that begin here; 0 if none do.
fn matchers(text: &str) -> usize {
    let mut quoted = false;
    if !text.starts_with('{') {
        return 0;
    }
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '}' if !quoted => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_and_labels_are_found() {
        let expression = "histogram_quantile(0.99, sum by (job, le) (rate(a_b{x=~\"}|y_z\"}[5m]))) > 14.4 * 0.001\n\
             and on (kind) up == 0 or max(c:d) / ignoring (state) group_left e_f offset 1h";
        let asked = read(expression);
        assert_eq!(asked.selectors, ["a_b{x=~\"}|y_z\"}", "up", "c:d", "e_f"]);
        assert_eq!(asked.labels, ["job", "le", "kind", "state"]);
        assert_eq!(read("label_values(a_b{x=\"1\"}, job)").selectors, ["a_b{x=\"1\"}"]);
        assert_eq!(read("time() - 5 > bool 3"), Asked::default());
    }

    #[test]
    fn each_alternative_is_asked_for() {
        assert_eq!(alternatives("a_b{x=\"1\"}"), ["a_b{x=\"1\"}"]);
        assert_eq!(
            alternatives("a_b{x!~\"1|b_c\",y=~\"5..|.*\"}"),
            [
                "a_b{x=\"1\",y=~\"5..\"}",
                "a_b{x=\"1\",y=~\".*\"}",
                "a_b{x=\"b_c\",y=~\"5..\"}",
                "a_b{x=\"b_c\",y=~\".*\"}"
            ]
        );
    }
}
