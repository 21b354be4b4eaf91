//! Where the servers are that all tests share.

/// What a variable says of a server.
pub fn named(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} names no server: run the tests with `cargo xtask test`, or start the servers with \
             `cargo xtask servers` and set what it prints"
        )
    })
}
