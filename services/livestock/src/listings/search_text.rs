//! Free text: which text of a listing the words of a query are compared with (`docs/api/listings.md`, "Search").
//! Queries are split into words by [`common::parse_words`].

use common::wire::{first_chars, fold};
use database::search::words::has_word;

use super::location::Address;
use super::model::Listing;

/// Separates what visitors see of a listing from the rest of its [`search_text`]. No text of a client has it.
pub(crate) const END_OF_PUBLIC_TEXT: char = '\u{1f}';

/// The most characters of the public part of a [`search_text`]. The longest texts of a listing fold to fewer: `&` to
/// four characters, and only some rare signs, which stand for phrases, to more.
const MAX_PUBLIC_CHARS: usize = 60_000;

/// Returns the text that words are compared with: folded, one line for each field, with the outward code of the
/// postcode. What only callers see follows [`END_OF_PUBLIC_TEXT`]: the postcode, if it has a space also without.
pub(crate) fn search_text(listing: &Listing) -> String {
    let property = |name| listing.properties.as_ref()?.get(name)?.as_str();
    let address = listing.location.as_ref().and_then(|location| location.address.as_ref());
    let postcode = address.and_then(|address| address.postcode.as_ref()).map(|postcode| postcode.0.as_str());
    let outward = address.and_then(Address::outward_code);
    let compact = postcode.filter(|code| code.contains(char::is_whitespace));
    let compact = compact.map(|code| code.split_whitespace().collect::<String>());
    let fields = [
        Some(listing.organisation_name.as_str()),
        property("title"),
        property("breed"),
        property("breedType"),
        property("breedSociety"),
        address.and_then(|address| address.city.as_deref()),
        address.and_then(|address| address.region.as_deref()),
        outward,
    ];
    let tags = listing.tags.iter().map(String::as_str);
    let public: Vec<_> =
        fields.into_iter().flatten().chain(tags).chain([listing.description.as_str()]).collect();
    let private: Vec<_> = [postcode, compact.as_deref()].into_iter().flatten().collect();
    let folded = |lines: &[&str]| lines.iter().map(|line| fold(line)).collect::<Vec<_>>().join("\n");
    format!("{}\n{END_OF_PUBLIC_TEXT}{}", first_chars(folded(&public), MAX_PUBLIC_CHARS), folded(&private))
}

/// Returns whether a [`search_text`] [has](has_word) all words of a query, which are folded.
pub(crate) fn has_all_words(search_text: &str, words: &[String]) -> bool {
    words.iter().all(|word| has_word(search_text, word))
}

#[cfg(test)]
mod tests {
    use common::validation::ValidationErrors;
    use common::wire::QueryText;
    use serde_json::{Value, json};

    use super::*;

    fn text_of(members: &Value) -> String {
        let mut listing = json!({
            "id": "01955bf1-6c00-7a10-8000-000000000101", "userId": "USER", "organisationId": "ID",
            "organisationName": "Penybont Farm", "type": "selling", "status": "active", "categoryIds": [2],
            "price": {"type": "poa"}, "files": [], "description": "", "tags": [],
            "createdAtUTC": "2026-03-01T09:30:00.000Z",
        });
        listing.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        search_text(&serde_json::from_value(listing).unwrap())
    }

    #[test]
    fn has_the_named_fields_only() {
        let address = json!({
            "name": "NAME", "line1": "LINE", "city": "Brecon", "region": "Powys", "postcode": "LD3 7EG", "countryISO": "GB",
        });
        let text = text_of(&json!({
            "location": {"threeWords": "a.b.c", "address": address}, "description": "Two lines,\nQUIET",
            "tags": ["Store", "Cafe\u{301}"],
            "properties": {
                "title": "Heifers", "breed": "Hereford", "breedType": "cross", "breedSociety": "Hereford Society",
                "type": "calves", "sexes": "heifers", "societyNumber": "1",
            },
        }));
        assert_eq!(
            text,
            "penybont farm\nheifers\nhereford\ncross\nhereford society\nbrecon\npowys\nld3\nstore\ncafe\n\
             two lines quiet\n\u{1f}ld3 7eg\nld37eg"
        );
        assert_eq!(text_of(&json!({})), "penybont farm\n\n\u{1f}");
        assert_eq!(
            text_of(&json!({"location": {"address": {"postcode": "75008"}}})),
            "penybont farm\n\n\u{1f}75008"
        );
    }

    #[test]
    fn the_last_word_of_a_long_description_counts() {
        let description = format!("{} last", "&".repeat(9_995));
        let text = text_of(&json!({"tags": vec!["x".repeat(50); 50], "description": description}));
        assert!(has_all_words(&text, &["last".to_owned()]), "{}", text.len());
    }

    #[test]
    fn every_word_must_occur() {
        let text = text_of(&json!({"description": "Quiet to HANDLE", "tags": ["50%"]}));
        for (query, found) in [
            ("", true),
            ("QUIET", true),
            ("andl \u{a0}  penybont", true),
            ("50%", true),
            ("5_0", false),
            ("quiet loud", false),
            ("farmquiet", false),
        ] {
            let words =
                common::parse_words(Some(&QueryText(query.to_owned())), &mut ValidationErrors::default());
            assert_eq!(has_all_words(&text, &words), found, "{query}");
        }
    }
}
