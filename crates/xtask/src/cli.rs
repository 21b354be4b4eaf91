//! The command line: every command and option with its help text, and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// What a person does with this repository, one command each.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build and run the three services on this machine until Ctrl-C
    Up(UpArgs),
    /// Start the services, run the examples of deploy/examples, stop
    Demo(DemoArgs),
    /// Measure a release build against what this machine can do, and print tables
    #[command(disable_help_flag = true)]
    Bench(ToolArgs),
    /// Run the trials: the services as they run, under failure, load and abuse. All of them, or those that you name
    #[command(disable_help_flag = true)]
    Trials(ToolArgs),
    /// Print a token for calling the services that `up` started, and nothing else
    Token(TokenArgs),
    /// Run what a change must pass: format, lints, dependencies, tidy, all tests, the demo, five trials in short form
    Test(TestArgs),
    /// Run private PostgreSQL, Redis and S3 servers until Ctrl-C, for running `cargo test` by hand
    Servers(ServersArgs),
    /// Write the OpenAPI document of each service to services/<service>/openapi.json
    Openapi(OpenapiArgs),
    /// Check the rules that no other tool checks: import circles, Diesel outside stores, long files
    Tidy,
}

/// Backends of `up` and `demo`.
#[derive(Debug, Clone, Default, Args)]
pub struct BackendArgs {
    /// Database of all three services, such as postgres://user:password@host/name [default: a SQLite file each in DIR]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Redis for the cache of system, such as redis://:password@host:6379/0 [default: a cache in its process]
    #[arg(long, value_name = "URL", value_parser = one_of(&["redis://", "rediss://"]))]
    pub redis: Option<String>,
    /// Store for the files of system, such as s3://bucket/folder. The provider's own variables name endpoint and keys:
    /// AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or GOOGLE_… and AZURE_…
    /// [default: a folder in DIR]
    #[arg(long, value_name = "URL", value_parser = one_of(&["s3://", "gs://", "az://", "file:///"]))]
    pub store: Option<String>,
}

/// Parses a URL with one of these schemes.
fn one_of(schemes: &'static [&'static str]) -> impl Fn(&str) -> Result<String, String> + Clone {
    |url| {
        let right =
            schemes.iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if right { Ok(url.to_owned()) } else { Err(format!("it has to begin with {}", schemes.join(" or "))) }
    }
}

/// Options of `servers`.
#[derive(Debug, Args)]
pub struct ServersArgs {
    /// Load Citus into PostgreSQL, for tests with rows that it distributes (it has to be installed)
    #[arg(long)]
    pub citus: bool,
    /// Let the tests place whole schemas on the worker of Citus instead of rows
    #[arg(long, requires = "citus")]
    pub schemas: bool,
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Folder for databases, files, keys and logs; made if it is missing
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// Port of the system service; logistics, livestock and the console take the next three
    #[arg(long, value_name = "PORT", default_value_t = 8081, value_parser = clap::value_parser!(u16).range(1..=65532))]
    pub port: u16,
    /// Backends
    #[command(flatten)]
    pub backends: BackendArgs,
    /// Optimize the services: faster requests, a build three times as long
    #[arg(long)]
    pub release: bool,
    /// URL to which logistics sends notifications of drivers and carriers (setting service.webhook_url), also on this
    /// machine and without TLS. The secret that signs them is kept in DIR/auth/webhook-secret and printed
    #[arg(long, value_name = "URL", value_parser = one_of(&["https://", "http://"]), conflicts_with = "demo")]
    pub webhook: Option<String>,
    /// Fill the services with a sample market, run the examples of deploy/examples, print the events of logistics and
    /// start the console
    #[arg(long)]
    pub demo: bool,
    /// With --demo: print the requests and responses of the examples
    #[arg(long, requires = "demo")]
    pub verbose: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for databases, files, keys and logs; kept [default: a temporary folder, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Port of the system service; logistics and livestock take the next two
    #[arg(long, value_name = "PORT", default_value_t = 18081, value_parser = clap::value_parser!(u16).range(1..=65533))]
    pub port: u16,
    /// Backends
    #[command(flatten)]
    pub backends: BackendArgs,
    /// Optimize the services: faster requests, a build three times as long
    #[arg(long)]
    pub release: bool,
    /// Fill the services with the sample market of `up --demo` first
    #[arg(long)]
    pub market: bool,
    /// Print requests and responses
    #[arg(long)]
    pub verbose: bool,
}

/// Arguments that a program of tests/ gets as they are; `--help` lists them.
#[derive(Debug, Args)]
pub struct ToolArgs {
    /// Arguments of that program
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
}

/// Options of `token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// Data folder of `up`, where the development key is; the key is made if it is missing
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// User id (claim `sub`)
    #[arg(long, value_name = "ID")]
    pub user: String,
    /// Name of the user
    #[arg(long)]
    pub name: Option<String>,
    /// Id of the organisation that the user acts for; without it the user acts for no organisation
    #[arg(long, value_name = "ID")]
    pub org: Option<String>,
    /// Name of that organisation
    #[arg(long, value_name = "NAME", requires = "org")]
    pub org_name: Option<String>,
    /// A role, may be repeated: `admin`, `viewer` or `weighbridge`; others have no meaning
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<String>,
    /// How long the token is valid: 90s, 15m, 1h, 7d
    #[arg(long, default_value = "1h", value_parser = testkit::processes::tokens::parse_ttl)]
    pub ttl: Duration,
}

/// Options of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Which stages to run [default: all]
    #[arg(value_enum)]
    pub scope: Option<TestScope>,
    /// Start the servers and run only `cargo test` with these arguments: `-- -p logistics batch`
    #[arg(last = true, value_name = "CARGO TEST ARGS", conflicts_with = "scope")]
    pub args: Vec<String>,
}

/// Stages of `test`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TestScope {
    /// Format, and the tests that need no servers
    Quick,
}

/// Options of `openapi`.
#[derive(Debug, Args)]
pub struct OpenapiArgs {
    /// Write nothing; fail if a checked-in document is not what its service says
    #[arg(long)]
    pub check: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_address_of_another_kind_is_refused_with_those_that_are_known() {
        let parse = |option, url| Cli::command().try_get_matches_from(["xtask", "up", option, url]);
        for (option, good, bad) in
            [("--redis", "redis://h:6379/0", "redis:h"), ("--store", "s3://bucket", "https://bucket")]
        {
            assert!(parse(option, good).is_ok());
            let message = parse(option, bad).unwrap_err().to_string();
            assert!(message.contains("it has to begin with") && message.contains(option), "{message}");
        }
    }
}
