//! The command line: every command and option with its help text, and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::services::Place;

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
    /// Start the services, walk through a day of haulage and farming over HTTP, check every answer, stop
    Demo(DemoArgs),
    /// Measure a release build against what this machine can do, and print tables
    Bench(BenchArgs),
    /// Send the services requests made from their OpenAPI documents, good and bad, and check every answer
    Fuzz(TrialArgs),
    /// Kill the services at random moments of their work and count what is left, on both databases
    Crash(TrialArgs),
    /// Take away what the services depend on, fill their disk, set their clock wrong; see what they answer and how
    /// they recover
    Faults(TrialArgs),
    /// Treat the services badly: slow, many, large and nested; measure their memory and how others are served meanwhile
    Abuse(TrialArgs),
    /// Check the files of a deployment, and run the services of docker-compose.yml as they stand there, without
    /// containers
    Deploy,
    /// Run several replicas of each service behind nginx over PostgreSQL, Redis and S3; restart, kill and freeze them
    /// under load
    Replicas(TrialArgs),
    /// Back up, destroy and restore the three services by the commands of docs/operations.md, on both databases
    Restore(TrialArgs),
    /// Run the last release's own tests of the services over today's migrations
    Expand(ExpandArgs),
    /// Have a Prometheus ask the services, and check the dashboard, the alerts and the list of metrics against what it
    /// hears
    Dashboards,
    /// Print a token for calling the services that `up` started, and nothing else
    Token(TokenArgs),
    /// Run every check: format, lints, licences, tidy, all tests against real servers, OpenAPI documents
    Test(TestArgs),
    /// Run private PostgreSQL, Redis and S3 servers until Ctrl-C, for running `cargo test` by hand
    Servers,
    /// Write the OpenAPI document of each service to services/<service>/openapi.json
    Openapi(OpenapiArgs),
    /// Check the rules of the house: dependency direction, file sizes, the shape of a service
    Tidy,
}

/// What the services keep things in, of `up` and `demo`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Database for all three services, such as postgres://user:password@host/name [default: a SQLite file each in DIR]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// Redis for the cache of system, such as redis://:password@host:6379/0 [default: a cache in its process]
    #[arg(long, value_name = "URL", value_parser = one_of(&["redis://", "rediss://"]))]
    pub redis: Option<String>,
    /// Where system keeps files, such as s3://bucket/folder; the bucket's place and keys come from the provider's own
    /// variables: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or GOOGLE_… and AZURE_…
    /// [default: a folder in DIR]
    #[arg(long, value_name = "URL", value_parser = one_of(&["s3://", "gs://", "az://", "file:///"]))]
    pub store: Option<String>,
}

impl KeepArgs {
    /// The services in this folder, from this port on.
    pub fn place(&self, data: PathBuf, port: u16) -> Place {
        let (database, cache, store) = (self.database.clone(), self.redis.clone(), self.store.clone());
        Place { data, port, database, cache, store, more: Vec::new() }
    }
}

/// A URL that begins with one of these.
fn one_of(schemes: &'static [&'static str]) -> impl Fn(&str) -> Result<String, String> + Clone {
    |url| {
        let right =
            schemes.iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if right { Ok(url.to_owned()) } else { Err(format!("it has to begin with {}", schemes.join(" or "))) }
    }
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Folder for databases, files, keys and logs; made if it is missing
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// Port of the system service; logistics and livestock take the next two
    #[arg(long, value_name = "PORT", default_value_t = 8081, value_parser = clap::value_parser!(u16).range(1..=65533))]
    pub port: u16,
    /// What they keep things in
    #[command(flatten)]
    pub keep: KeepArgs,
    /// First do what `demo` does, then leave the services running with its sample data
    #[arg(long)]
    pub demo: bool,
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
    /// What they keep things in
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure [default: everything]
    #[arg(value_name = "SCENARIO", value_parser = clap::builder::PossibleValuesParser::new(crate::bench::names()))]
    pub scenarios: Vec<String>,
    /// How often each scenario and its limits are run, in turn; the table has the medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub rounds: u8,
    /// How long each of these runs is, in seconds
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
    /// A PostgreSQL server, such as postgres://user:password@host/name; databases are made there and removed [default:
    /// SQLite files]
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// So many times 100,000 listings and loads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub scale: u8,
    /// Write the tables to a file too
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Options of `fuzz`, `crash`, `faults`, `abuse`, `replicas` and `restore`.
#[derive(Debug, Default, Args)]
pub struct TrialArgs {
    /// As little as `cargo xtask test` has time for
    #[arg(long)]
    pub short: bool,
    /// What all that is drawn begins with: the same seed does the same again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Options of `expand`.
#[derive(Debug, Args)]
pub struct ExpandArgs {
    /// The release, as a tag or any other revision [default: the newest tag v* that HEAD comes after]
    #[arg(long, value_name = "REV")]
    pub release: Option<String>,
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
    /// Id of the organisation that the user acts for; without it the user acts for nobody
    #[arg(long, value_name = "ID")]
    pub org: Option<String>,
    /// Name of that organisation
    #[arg(long, value_name = "NAME", requires = "org")]
    pub org_name: Option<String>,
    /// A role, may be repeated; `admin` is the only one with meaning
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<String>,
    /// How long the token is valid: 90s, 15m, 1h, 7d
    #[arg(long, default_value = "1h", value_parser = crate::token::parse_ttl)]
    pub ttl: Duration,
}

/// Options of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Run only `cargo test` with these arguments, with the servers at hand: `-- -p logistics batch`
    #[arg(last = true, value_name = "CARGO TEST ARGS")]
    pub args: Vec<String>,
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
