//! Warnings of the API after a write. The address of the next page carries their codes, and the page has the sentences.

use serde_json::Value;

/// The most warnings that an address carries.
const MAX_WARNINGS: usize = 5;

/// Returns the codes of the warnings of an answer, each once.
pub(crate) fn warning_codes(answer: &Value) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        if let Some(code) = warning["code"].as_str()
            && !codes.iter().any(|known| known == code)
        {
            codes.push(code.to_owned());
        }
    }
    codes.truncate(MAX_WARNINGS);
    codes
}

/// Returns what a warning means. `None` for a word that is none.
pub(crate) fn warning_sentence(code: &str) -> Option<&'static str> {
    Some(match code {
        "weight_differs" => {
            "The net weight differs by more than 10 % from what was collected or planned. Compare it with the ticket."
        }
        "gross_over_limit" => {
            "The gross weight is more than lorries may have on the road. Compare it with the ticket."
        }
        "unknown_organisation" => {
            "Nobody of this organisation has used Drover yet. Check its id: with a wrong one, they do not see the load."
        }
        "unknown_driver" => {
            "This driver has not used Drover yet. Check the id: with a wrong one, the load is not seen."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_code_is_named_once() {
        let answer =
            json!({"warnings": [{"code": "weight_differs"}, {"code": "weight_differs"}, {"code": "x"}]});
        assert_eq!(warning_codes(&answer), ["weight_differs", "x"]);
        assert!(warning_codes(&json!({})).is_empty());
        assert!(warning_sentence("weight_differs").is_some() && warning_sentence("<script>").is_none());
    }
}
