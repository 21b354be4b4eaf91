//! The table of metrics in docs/metrics.md, compared with what services expose and what their sources name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::trial::Trial;

use crate::observability::Prometheus;

/// Type and labels of each metric, by its name.
type Metrics = BTreeMap<String, (String, BTreeSet<String>)>;

/// Labels that Prometheus adds, and the one that each histogram has.
const IMPLICIT_LABELS: [&str; 4] = ["__name__", "job", "instance", "le"];

/// Checks that the table has the metrics of each service and all names in the sources.
pub fn check(trial: &Trial<'_>, prometheus: &Prometheus) -> Result<()> {
    let root = checkout::root();
    let table = fs::read_to_string(root.join("docs/metrics.md")).context("cannot read docs/metrics.md")?;
    let mut different = Vec::new();
    for service in SERVICES {
        let documented = documented(&table, Some(service));
        let found = differences(&documented, &exposed(prometheus, service)?);
        different.extend(found.into_iter().map(|found| format!("{service}: {found}")));
        let count = documented.len().to_string();
        trial.note(format!("dashboards: metrics of {service}"), count, "as docs/metrics.md has them");
    }
    let all: BTreeSet<_> = documented(&table, None).into_keys().collect();
    let mut folders = vec![root.join("crates/common/src"), root.join("crates/database/src")];
    folders.extend(SERVICES.map(|name| root.join("services").join(name).join("src")));
    for folder in folders {
        let missing: Vec<_> = named_in_sources(&folder)?.difference(&all).cloned().collect();
        different.extend(missing.iter().map(|name| format!("{name} of {} has no row", folder.display())));
    }
    ensure!(different.is_empty(), "docs/metrics.md differs:\n{}", different.join("\n"));
    Ok(())
}

/// Reads the rows of a service, or all rows. A row without a meaning counts as missing.
fn documented(table: &str, service: Option<&str>) -> Metrics {
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" |").map(str::trim).collect();
        let [name, kind, labels, of, meaning] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let applies = service.is_none_or(|service| of == "all" || of.split(", ").any(|of| of == service));
        let labels = labels.split(", ").map(|label| label.trim_matches('`').to_owned());
        let labels = labels.filter(|label| !label.is_empty()).collect();
        (applies && !meaning.is_empty()).then(|| (name.to_owned(), (kind.to_owned(), labels)))
    });
    rows.collect()
}

/// Returns what Prometheus has scraped from a service.
fn exposed(prometheus: &Prometheus, service: &str) -> Result<Metrics> {
    let mut metrics: Metrics = prometheus
        .metadata(service)?
        .into_iter()
        .map(|(name, kind)| (name, (kind, BTreeSet::new())))
        .collect();
    for series in prometheus.series(&format!("{{job=\"{service}\"}}"))? {
        let name = series["__name__"].as_str().unwrap_or_default();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let known = [Some(name), base].into_iter().flatten().find(|name| metrics.contains_key(*name));
        // `up` and the like are Prometheus' own.
        let Some(metric) = known.and_then(|name| metrics.get_mut(name)) else { continue };
        let labels = series.as_object().into_iter().flatten().map(|(label, _)| label.clone());
        metric.1.extend(labels.filter(|label| !IMPLICIT_LABELS.contains(&label.as_str())));
    }
    Ok(metrics)
}

fn differences(documented: &Metrics, exposed: &Metrics) -> Vec<String> {
    let names: BTreeSet<_> = documented.keys().chain(exposed.keys()).collect();
    let different = names.into_iter().filter(|name| documented.get(*name) != exposed.get(*name));
    let describe = |name: &String| {
        format!("{name}: documented {:?}, exposed {:?}", documented.get(name), exposed.get(name))
    };
    different.map(describe).collect()
}

/// Finds names of metrics in the string literals of Rust files.
fn named_in_sources(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            names.extend(named_in_sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let literals = text.split('"').filter(|part| part.starts_with("drover_"));
            let is_name = |part: &&str| {
                part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && !part.ends_with('_')
            };
            names.extend(literals.filter(is_name).map(str::to_owned));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| name | type | labels | of | meaning |\n|---|---|---|---|---|\n\
        | `a_total` | counter | `x`, `y` | all | A |\n| `b` | gauge | | system | B |\n\
        | `c_seconds` | histogram | `z` | logistics | C |\n| `d` | gauge | | logistics | |\n";

    #[test]
    fn differences_in_both_directions() {
        let metric = |kind: &str, labels: &[&str]| {
            (kind.to_owned(), labels.iter().map(|label| (*label).to_owned()).collect())
        };
        let exposed = Metrics::from([
            ("a_total".to_owned(), metric("counter", &["x", "y"])),
            ("c_seconds".to_owned(), metric("histogram", &["z"])),
        ]);
        assert_eq!(differences(&documented(TABLE, Some("logistics")), &exposed), Vec::<String>::new());
        let other = differences(&documented(TABLE, Some("system")), &exposed);
        assert!(
            other.len() == 2 && other[0].starts_with("b:") && other[1].starts_with("c_seconds:"),
            "{other:?}"
        );
        assert_eq!(documented(TABLE, None).len(), 3);
        let relabelled = Metrics::from([("a_total".to_owned(), metric("counter", &["x"]))]);
        assert_eq!(differences(&documented(TABLE, Some("livestock")), &relabelled).len(), 1);
    }
}
