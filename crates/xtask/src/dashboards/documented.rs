//! The table of metrics (docs/metrics.md) against what services show, and against what their sources name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// A metric: its type, its labels.
pub type Metric = (String, BTreeSet<String>);
/// By name.
pub type Metrics = BTreeMap<String, Metric>;

/// The rows of the table for a service; all of them without one.
pub fn rows(table: &str, service: Option<&str>) -> Metrics {
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" |").map(str::trim).collect();
        let [name, kind, labels, of, meaning] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let is_here = service.is_none_or(|service| of == "all" || of.split(", ").any(|of| of == service));
        let labels =
            labels.split(", ").map(|label| label.trim_matches('`').to_owned()).filter(|l| !l.is_empty());
        let documented = is_here && !meaning.is_empty();
        documented.then(|| (name.to_owned(), (kind.to_owned(), labels.collect())))
    });
    rows.collect()
}

/// What a service shows, in Prometheus' text format.
///
/// # Errors
/// A metric that is not described.
pub fn shown(text: &str) -> Result<Metrics> {
    let (mut metrics, mut described) = (Metrics::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some((name, _)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            described.insert(name);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            ensure!(described.contains(name), "/metrics does not describe {name}");
            metrics.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        } else if let Some((name, rest)) = line.split_once('{') {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
            let known = if metrics.contains_key(name) { Some(name) } else { base };
            let labels = rest.split_once('}').map_or("", |(labels, _)| labels).split(',');
            let labels = labels.filter_map(|label| label.split_once('=')).map(|(label, _)| label.to_owned());
            let metric = known
                .and_then(|name| metrics.get_mut(name))
                .with_context(|| format!("{name} has no type"))?;
            metric.1.extend(labels.filter(|label| label != "le"));
        }
    }
    Ok(metrics)
}

/// What is in one and not in the other, or otherwise.
pub fn differences(documented: &Metrics, shown: &Metrics) -> Vec<String> {
    let names: BTreeSet<_> = documented.keys().chain(shown.keys()).collect();
    let differ = names.into_iter().filter(|name| documented.get(*name) != shown.get(*name));
    differ
        .map(|name| {
            format!("{name}: the table has {:?}, /metrics {:?}", documented.get(name), shown.get(name))
        })
        .collect()
}

/// Names of metrics in the sources below a folder.
pub fn named(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            names.extend(named(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let literals = text.split('"').filter(|part| part.starts_with("drover_"));
            let is_name = |part: &&str| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            names.extend(literals.filter(is_name).map(str::to_owned));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| name | type | labels | of | meaning |\n|---|---|---|---|---|\n\
        | `a_total` | counter | `x`, `y` | all | A |\n| `b` | gauge | | system | B |\n| `c_seconds` | histogram | `z` | logistics | C |\n";

    #[test]
    fn a_row_without_metric_and_a_metric_without_row_are_found() {
        let text = "# HELP a_total A\n# TYPE a_total counter\na_total{x=\"1\",y=\"{\"} 5\n\n# HELP c_seconds C\n\
            # TYPE c_seconds histogram\nc_seconds_bucket{z=\"1\",le=\"1\"} 0\nc_seconds_sum{z=\"1\"} 0\n";
        let shown = shown(text).unwrap();
        assert_eq!(differences(&rows(TABLE, Some("logistics")), &shown), Vec::<String>::new());
        let other = differences(&rows(TABLE, Some("system")), &shown);
        assert!(
            other.len() == 2 && other[0].starts_with("b:") && other[1].starts_with("c_seconds:"),
            "{other:?}"
        );
        assert_eq!(rows(TABLE, None).len(), 3);
        assert!(super::shown("# TYPE a_total counter\n").is_err());
    }
}
