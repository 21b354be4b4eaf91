//! The arguments of the program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use reqwest::Url;

use crate::profile::Service;

/// The command line of Drover: loads, listings, files, places, events.
#[derive(Debug, Parser)]
#[command(name = "drover", version, about, after_help = AFTER_HELP)]
pub struct Cli {
    /// Where the services are, and who calls them.
    #[command(flatten)]
    pub connection: Connection,
    /// Print JSON: one document, or for lists and events one object a line. Errors are JSON on stderr.
    #[arg(long, global = true)]
    pub json: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  the service refused the request (its invalid fields are printed one a line), or a file cannot be read or written
  2  wrong usage
  3  a service cannot be reached, or cannot answer now
  4  not logged in, or the token is not accepted

The token is that of --token-file, else of DROVER_TOKEN, else of the profile that `drover login` stored.
The environment variable SSL_CERT_FILE names further certificates that are trusted (PEM).";

/// Where the services are, and who calls them.
#[derive(Args, Debug)]
pub struct Connection {
    /// Base URL of system
    #[arg(long, env = "SYSTEM", global = true, value_name = "URL", hide_env_values = true)]
    pub system_url: Option<Url>,
    /// Base URL of logistics
    #[arg(long, env = "LOGISTICS", global = true, value_name = "URL", hide_env_values = true)]
    pub logistics_url: Option<Url>,
    /// Base URL of livestock
    #[arg(long, env = "LIVESTOCK", global = true, value_name = "URL", hide_env_values = true)]
    pub livestock_url: Option<Url>,
    /// File with a token
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl Connection {
    /// Returns the base URLs that were given, in the order of [`Service::ALL`].
    pub fn urls(&self) -> [Option<Url>; 3] {
        [self.system_url.clone(), self.logistics_url.clone(), self.livestock_url.clone()]
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Log in, and store the profile
    Login(LoginArgs),
    /// Delete the stored profile
    Logout,
    /// List, create, import, export and prove loads
    #[command(subcommand)]
    Loads(LoadsCommand),
    /// Search listings
    #[command(subcommand)]
    Listings(ListingsCommand),
    /// Upload and download files
    #[command(subcommand)]
    Files(FilesCommand),
    /// Find places, addresses and postcodes
    #[command(subcommand)]
    Places(PlacesCommand),
    /// Follow what changed
    #[command(subcommand)]
    Events(EventsCommand),
    /// Try a receiver of webhooks on this machine
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Serve the API to an assistant: an MCP server on standard input and output
    Mcp(McpArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write docs/api/llms.txt and clients/bruno from the OpenAPI documents, in a checkout of Drover
    #[command(hide = true)]
    Generate {
        /// The root of the checkout
        root: PathBuf,
    },
}

/// How to log in.
#[derive(Args, Debug)]
pub struct LoginArgs {
    /// Issuer of the OpenID provider: log in with a browser, on any device
    #[arg(long, value_name = "URL", conflicts_with = "client_secret_file")]
    pub issuer: Option<Url>,
    /// Service account, or with --issuer the client of the provider [default there: drover-cli]
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// File with the secret of the service account; without it or with `-`, standard input
    #[arg(long, value_name = "FILE", requires = "client_id")]
    pub client_secret_file: Option<PathBuf>,
    /// Scope to request from the provider; add `offline_access` if it needs that for refresh tokens
    #[arg(long, default_value = "openid")]
    pub scope: String,
}

/// Options that all commands that write share.
#[derive(Args, Debug)]
pub struct WriteArgs {
    /// Check, and change nothing. What the service cannot check is printed instead of sent
    #[arg(long)]
    pub dry_run: bool,
    /// Key of an earlier attempt whose outcome is unknown, to repeat it safely
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Options that all commands that list share.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Words that must all occur
    pub query: Option<String>,
    /// Maximum number of rows
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// List all rows
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// Sort key
    #[arg(long, value_name = "KEY")]
    pub sort: Option<String>,
    /// Sort in descending order
    #[arg(long)]
    pub desc: bool,
    /// Further parameter of the operation, for example f:tag=spring
    #[arg(long = "parameter", short, value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
}

/// Commands about loads.
#[derive(Debug, Subcommand)]
pub enum LoadsCommand {
    /// List loads
    List {
        /// Words, order, number of rows.
        #[command(flatten)]
        list: ListArgs,
        /// Status: upcoming, collected, completed, rejected, cancelled
        #[arg(long)]
        status: Vec<String>,
        /// First delivery date
        #[arg(long, value_name = "DATE")]
        from: Option<String>,
        /// Last delivery date
        #[arg(long, value_name = "DATE")]
        to: Option<String>,
        /// Only loads whose delivery is overdue
        #[arg(long)]
        overdue: bool,
    },
    /// Show a load
    Show {
        /// Id of the load
        id: String,
    },
    /// Create a load
    Create(CreateArgs),
    /// Import loads from spreadsheets (CSV, XLSX)
    Import(ImportArgs),
    /// Download completed loads, or with --all those that a search finds
    Export(ExportArgs),
    /// Prove the delivery of a load
    Prove(ProveArgs),
}

/// The form in which a load is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The caller's organisation orders the load.
    Organiser,
    /// The caller's organisation moves the load.
    Carrier,
}

/// A new load.
#[derive(Args, Debug)]
pub struct CreateArgs {
    /// Role of your organisation
    #[arg(long = "as", value_enum, default_value = "organiser")]
    pub role: Role,
    /// JSON file with the load, `-` for standard input; options replace its members
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Your reference
    #[arg(long)]
    pub reference: Option<String>,
    /// Delivery date
    #[arg(long, value_name = "DATE")]
    pub date: Option<String>,
    /// Id of the commodity, or its name
    #[arg(long, value_name = "ID|NAME")]
    pub commodity: Option<String>,
    /// Tonnes
    #[arg(long, value_name = "TONNES")]
    pub weight: Option<f64>,
    /// Id of your organisation [default: that of the token]
    #[arg(long, value_name = "ID")]
    pub organisation_id: Option<String>,
    /// With --as carrier: id of the organiser
    #[arg(long, value_name = "ID")]
    pub organiser_id: Option<String>,
    /// With --as carrier: name of the organiser
    #[arg(long, value_name = "NAME")]
    pub organiser_name: Option<String>,
    /// Postcode of the collection
    #[arg(long, value_name = "POSTCODE")]
    pub pickup: Option<String>,
    /// Postcode of the delivery
    #[arg(long, value_name = "POSTCODE")]
    pub dropoff: Option<String>,
    /// Registration of the vehicle
    #[arg(long)]
    pub vehicle: Option<String>,
    /// Number of the weighbridge ticket
    #[arg(long)]
    pub ticket: Option<String>,
    /// Tag; repeat it for several
    #[arg(long = "tag")]
    pub tags: Vec<String>,
    /// Id of a file; repeat it for several
    #[arg(long = "file", value_name = "ID")]
    pub files: Vec<String>,
    /// Dry run and key.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// A proof of delivery.
#[derive(Args, Debug)]
pub struct ProveArgs {
    /// Id of the load
    pub id: String,
    /// Net weight in tonnes
    #[arg(long, value_name = "TONNES")]
    pub weight_net: f64,
    /// Number of the weighbridge ticket
    #[arg(long)]
    pub ticket: String,
    /// Registration of the vehicle
    #[arg(long)]
    pub vehicle: String,
    /// Gross weight in tonnes
    #[arg(long, value_name = "TONNES")]
    pub weight_gross: Option<f64>,
    /// Tare weight in tonnes
    #[arg(long, value_name = "TONNES")]
    pub weight_tare: Option<f64>,
    /// When the proof was signed [default: now]
    #[arg(long, value_name = "TIME")]
    pub captured_at: Option<String>,
    /// Id of a file, for example the ticket; repeat it for several
    #[arg(long = "file", value_name = "ID")]
    pub files: Vec<String>,
    /// Dry run and key.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// An import (docs/api/batches.md).
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// CSV or XLSX files, `-` for CSV from standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Organiser of rows that name none [default: your organisation]
    #[arg(long, value_name = "ID")]
    pub organisation_id: Option<String>,
    /// Name of that organiser
    #[arg(long, value_name = "NAME")]
    pub organisation_name: Option<String>,
    /// Order of day and month: iso, dmy, mdy, auto
    #[arg(long, default_value = "auto", value_name = "ORDER")]
    pub date_order: String,
    /// Decimal sign: point, comma, auto
    #[arg(long, default_value = "auto", value_name = "SIGN")]
    pub decimal: String,
    /// Encoding of CSV: utf-8, windows-1252, auto
    #[arg(long, default_value = "auto")]
    pub encoding: String,
    /// What happens to rows whose loads exist: create, skip, refuse, update
    #[arg(long, value_name = "ACTION")]
    pub if_exists: Option<String>,
    /// What identifies the load of a row: referenceAndDate, reference
    #[arg(long, value_name = "KEY")]
    pub match_by: Option<String>,
    /// Leave out invalid rows instead of refusing all
    #[arg(long)]
    pub leave_out_invalid: bool,
    /// Accept content that was imported before
    #[arg(long)]
    pub repeat: bool,
    /// Worksheet to read
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// Column of a heading with another name; an empty column leaves the heading out
    #[arg(long = "heading", value_name = "HEADING=COLUMN", value_parser = pair)]
    pub headings: Vec<(String, String)>,
    /// Text that replaces a cell; rows count from 0 as in the list of problems
    #[arg(long = "correct", value_name = "ROW:COLUMN=VALUE", value_parser = correction)]
    pub corrections: Vec<Correction>,
    /// With --dry-run: write the sheet with a column of its problems to this file (.csv or .xlsx)
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    pub problems: Option<PathBuf>,
    /// Dry run and key.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// A text that replaces a cell.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Correction {
    /// The number of the row, from 0.
    pub row: u32,
    /// The name of the column.
    pub column: String,
    /// The text.
    pub value: String,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// A workbook.
    Xlsx,
    /// JSON.
    Json,
}

/// An export.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// First day: of the completion, or with --all of the delivery
    #[arg(long, value_name = "DATE")]
    pub from: Option<String>,
    /// Last day
    #[arg(long, value_name = "DATE")]
    pub to: Option<String>,
    /// Format [default: that of the ending of --output, else csv]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Begin CSV with a byte order mark, which Excel needs
    #[arg(long)]
    pub bom: bool,
    /// Export the loads of every status that the search finds (csv or xlsx)
    #[arg(long)]
    pub all: bool,
    /// With --all: parameter of the search, for example f:status=upcoming
    #[arg(long = "parameter", short, value_name = "NAME=VALUE", value_parser = pair, requires = "all")]
    pub parameters: Vec<(String, String)>,
}

/// Commands about listings.
#[derive(Debug, Subcommand)]
pub enum ListingsCommand {
    /// Search listings
    Search {
        /// Words, order, number of rows.
        #[command(flatten)]
        list: ListArgs,
        /// Category or type: sheep, cattle, working-dog, feed, bedding, store …
        #[arg(long = "type", value_name = "TYPE")]
        commodity_type: Option<String>,
        /// Breed; repeat it for several
        #[arg(long)]
        breed: Vec<String>,
        /// Status: active-selling, active-buying, sold, found, cancelled, draft
        #[arg(long)]
        status: Option<String>,
        /// Postcode or outward code to search around
        #[arg(long, value_name = "POSTCODE")]
        near: Option<String>,
        /// Maximum distance from --near
        #[arg(long, value_name = "KM", requires = "near")]
        distance: Option<f64>,
        /// Search the public listings, without a token
        #[arg(long)]
        public: bool,
    },
}

/// Commands about files.
#[derive(Debug, Subcommand)]
pub enum FilesCommand {
    /// Upload files
    Upload {
        /// Files to upload
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// What they are used for: weighbridge, contract, image, misc …
        #[arg(long = "type", value_name = "TYPE", default_value = "misc")]
        file_type: String,
        /// Bucket: files, images
        #[arg(long, default_value = "files")]
        bucket: String,
        /// Name of the first file [default: its file name]
        #[arg(long)]
        name: Option<String>,
        /// Organisation that may read them too, `*` for everybody; repeat it for several
        #[arg(long, value_name = "ID")]
        share_with: Vec<String>,
        /// Dry run and key.
        #[command(flatten)]
        write: WriteArgs,
    },
    /// Download a file
    Get {
        /// Id of the file
        id: String,
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Width of a smaller copy of an image: 160, 320, 640, 1280
        #[arg(long, value_name = "PIXELS")]
        width: Option<u32>,
    },
}

/// Commands about places.
#[derive(Debug, Subcommand)]
pub enum PlacesCommand {
    /// Find places, addresses and postcodes
    Find {
        /// Name, postcode, or coordinates such as 51.9469,-3.3915
        query: String,
        /// ISO code of the country, for example GB
        #[arg(long, value_name = "CODE")]
        country: Option<String>,
        /// Maximum number of matches
        #[arg(long, default_value_t = 10)]
        limit: u32,
    },
}

/// Which part of a feed is followed (docs/api/events.md).
#[derive(Args, Debug)]
pub struct FeedArgs {
    /// Service whose feed is followed
    #[arg(long, value_enum, default_value = "logistics")]
    pub service: Service,
    /// Cursor to begin after [default: that in --store, else events from now on]
    #[arg(long, value_name = "CURSOR", conflicts_with = "from_start")]
    pub after: Option<String>,
    /// Begin with the oldest event, if --store has no cursor yet
    #[arg(long)]
    pub from_start: bool,
    /// File that keeps the cursor of this feed, so that the next start continues there
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Only these types of events, for example load.completed
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<String>,
    /// Further parameter of the feed, for example scope=market or f:driverId=me
    #[arg(long = "parameter", short, value_name = "NAME=VALUE", value_parser = pair)]
    pub parameters: Vec<(String, String)>,
    /// End when there are no more events, instead of waiting for the next
    #[arg(long)]
    pub once: bool,
}

/// Commands about events.
#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Print events as they happen
    Follow {
        /// Which events.
        #[command(flatten)]
        feed: FeedArgs,
        /// Print the load or listing of each event too (with --json)
        #[arg(long)]
        with_resource: bool,
    },
}

/// Commands about webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Send events to a receiver as a webhook would
    Listen {
        /// Which events.
        #[command(flatten)]
        feed: FeedArgs,
        /// URL of the receiver
        #[arg(long, value_name = "URL")]
        forward: Url,
        /// File with the secret that signs, `whsec_…` [default: DROVER_WEBHOOK_SECRET, else a new one, which is
        /// printed]
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
    },
}

/// The MCP server.
#[derive(Args, Debug)]
pub struct McpArgs {
    /// Offer tools that write, too
    #[arg(long)]
    pub allow_write: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if name.is_empty() {
        Err("the name is empty".to_owned())
    } else {
        Ok((name.to_owned(), value.to_owned()))
    }
}

fn correction(text: &str) -> Result<Correction, String> {
    let parts = || {
        let (place, value) = text.split_once('=')?;
        let (row, column) = place.split_once(':')?;
        Some(Correction { row: row.parse().ok()?, column: column.to_owned(), value: value.to_owned() })
    };
    parts().ok_or_else(|| "write ROW:COLUMN=VALUE, for example 1:weight=28.5".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_correction_may_contain_any_text() {
        let expected = Correction { row: 1, column: "tags".to_owned(), value: "a=b:c".to_owned() };
        assert_eq!(correction("1:tags=a=b:c"), Ok(expected));
        assert!(correction("tags=1").is_err());
        assert!(correction("-1:tags=x").is_err());
    }
}
