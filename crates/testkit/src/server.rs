//! URLs of the servers that all tests share.

/// Returns the URL of a server from an environment variable.
///
/// # Panics
/// If the variable is not set.
pub(crate) fn url_from_env(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: run the tests with `cargo xtask test`, or start the servers with \
             `cargo xtask servers` and set the variables that it prints"
        )
    })
}
