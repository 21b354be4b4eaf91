//! Merging an edit with what somebody else changed meanwhile.

use crate::fields::Fields;

/// A field that both changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) name: String,
    /// What the load has now.
    pub(crate) theirs: String,
}

/// Returns the names of the fields that differ from what they were when the form was made (`was.NAME`).
pub(crate) fn changed<'a>(typed: &Fields, names: &[&'a str]) -> Vec<&'a str> {
    let is_changed =
        |name: &&str| typed.find(name).is_some_and(|value| value.trim() != typed.get(&format!("was.{name}")));
    names.iter().copied().filter(is_changed).collect()
}

/// Returns the fields among `changed` that the load has otherwise than when the form was made. What both changed alike
/// is no conflict. `now` are the fields of the load as it is.
pub(crate) fn conflicts(typed: &Fields, changed: &[&str], now: &Fields) -> Vec<Conflict> {
    let conflict = |name: &&str| {
        let (was, theirs) = (typed.get(&format!("was.{name}")), now.get(name));
        let differs = theirs != was && theirs != typed.get(name);
        differs.then(|| Conflict { name: (*name).to_owned(), theirs: theirs.to_owned() })
    };
    changed.iter().filter_map(conflict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn only_what_both_changed_differently_is_a_conflict() {
        let names = ["reference", "weight", "tags", "ticketNumber"];
        let typed = fields(&[
            ("reference", "A-2"),
            ("was.reference", "A-1"),
            ("weight", "29 "),
            ("was.weight", "29"),
            ("tags", "new"),
            ("was.tags", ""),
            ("ticketNumber", "T-1"),
            ("was.ticketNumber", ""),
        ]);
        let changed = changed(&typed, &names);
        assert_eq!(changed, ["reference", "tags", "ticketNumber"]);
        // Meanwhile: another reference, another weight, the same ticket.
        let now = fields(&[("reference", "A-3"), ("weight", "30"), ("tags", ""), ("ticketNumber", "T-1")]);
        let expected = Conflict { name: "reference".to_owned(), theirs: "A-3".to_owned() };
        assert_eq!(conflicts(&typed, &changed, &now), [expected]);
    }
}
