//! Rules that keep the code safe by default: lints in force everywhere, secrets wrapped, none of them checked in.

use super::Violation;

/// What begins a key that nobody else may have; put together so that this file does not contain it.
const PRIVATE_KEY: &str = concat!("PRIVATE", " KEY-----");
/// Endings of the names of settings that hold secrets.
const SECRET: [&str; 5] = ["_key", "secret", "secrets", "password", "token"];
/// It ends like a secret and is the name of an account.
const ACCOUNT: &str = "store_access_key";

/// Every rule that this file breaks.
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |wrong: &str, mend: &str| violations.push(Violation::new(path, wrong, mend));
    if text.lines().any(|line| line.trim_start().starts_with("-----BEGIN") && line.ends_with(PRIVATE_KEY)) {
        broken("holds a private key", "make it where it is needed; whoever has the repository has the key");
    }
    if path == "Cargo.toml" {
        if !text.contains("unsafe_code = \"forbid\"") {
            broken("unsafe code is not forbidden", "add unsafe_code = \"forbid\" to [workspace.lints.rust]");
        }
    } else if path.ends_with("/Cargo.toml") && !text.contains("[lints]\nworkspace = true") {
        broken("the workspace's lints are not in force", "add [lints] with workspace = true");
    }
    if path.ends_with("/config.rs") {
        for name in text.lines().filter_map(bare_secret) {
            broken(
                &format!("{name} is a bare secret"),
                "make it a SecretString, which is not shown and is wiped",
            );
        }
    }
    violations
}

/// The name of a setting that is a secret by its name and not by its type.
fn bare_secret(line: &str) -> Option<&str> {
    let (name, kind) = line.trim_start().strip_prefix("pub ")?.split_once(": ")?;
    let secret = SECRET.iter().any(|ending| name.ends_with(ending)) && name != ACCOUNT;
    (secret && !kind.contains("SecretString")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn lints_are_in_force() {
        assert_eq!(wrong("Cargo.toml", "unsafe_code = \"warn\""), ["unsafe code is not forbidden"]);
        assert_eq!(wrong("a/Cargo.toml", "[lints]\n"), ["the workspace's lints are not in force"]);
        assert!(wrong("a/Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
    }

    #[test]
    fn secrets_are_wrapped() {
        assert_eq!(
            wrong("a/config.rs", "    pub words_key: Option<String>,"),
            ["words_key is a bare secret"]
        );
        for fine in [
            "pub words_key: Option<SecretString>,",
            "pub store_access_key: Option<String>,",
            "pub host: String,",
        ] {
            assert!(wrong("a/config.rs", fine).is_empty(), "{fine}");
        }
    }

    #[test]
    fn private_keys_stay_out() {
        assert_eq!(wrong("a.pem", &format!("-----BEGIN {PRIVATE_KEY}")), ["holds a private key"]);
    }
}
