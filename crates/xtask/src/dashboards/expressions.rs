//! What an expression of PromQL asks for: a selector without series is no error to Prometheus, and an empty panel to us.

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
}
