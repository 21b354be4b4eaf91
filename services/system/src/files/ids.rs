//! Lists of ids in requests.

use std::ops::Deref;

use database::Id;

/// Returns the ids among texts without duplicates, in their order.
pub(super) fn distinct_ids(texts: &[impl Deref<Target = str>]) -> Vec<Id> {
    let mut ids = Vec::with_capacity(texts.len());
    for id in texts.iter().filter_map(|id| Id::parse(id)) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_returned_once() {
        let [a, b] = [Id::new(), Id::new()];
        let texts = [b.to_string(), "7".into(), a.to_string(), b.to_string().to_uppercase(), String::new()];
        assert_eq!(distinct_ids(&texts), [b, a]);
    }
}
