//! `LIKE` patterns.

/// Returns the pattern of texts that contain `text`, for `LIKE … ESCAPE '\'`.
pub fn containing(text: &str) -> String {
    let literal = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{literal}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_escaped() {
        assert_eq!(containing("c_%\\"), r"%c\_\%\\%");
    }
}
