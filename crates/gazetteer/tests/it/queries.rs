//! Well-known queries with their right first answers (`queries.csv`).

use crate::{rows, search};

#[test]
fn well_known_queries_have_the_right_first_answer() {
    let table = rows(include_str!("queries.csv"));
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|row| {
            let [query, text, within, _source] = [0, 1, 2, 3].map(|column: usize| row[column].as_str());
            let hits = search(query);
            let first = hits.first().map(|hit| (hit.text.as_str(), hit.description.as_str()));
            let is_right = first.is_some_and(|(found, around)| found == text && around.contains(within));
            (!is_right).then(|| format!("{query}: {first:?} for {text}, {within}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), table.len(), wrong.join("\n"));
    assert!(table.len() >= 200);
}
