//! `drover`: the command line of the API, and its MCP server for assistants (docs/api/command-line.md).

mod args;
mod client;
mod error;
mod feed;
mod generate;
mod http;
mod import;
mod loads;
mod login;
mod market;
mod mcp;
mod oauth;
mod openapi;
mod output;
mod profile;
mod session;
mod webhooks;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, EventsCommand, LoadsCommand, WebhooksCommand};
use client::{Client, Request};
use error::Failure;
use output::Output;
use profile::Service;
use session::Session;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output { json: cli.json };
    let failure = match run(&cli, output).await.and_then(|()| output::flush()) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    match &failure {
        Failure::ClosedPipe => {}
        failure if output.json => output::json_note(&failure.document()),
        failure => output::note(&format!("error: {failure}")),
    }
    ExitCode::from(failure.exit_code())
}

async fn run(cli: &Cli, output: Output) -> Result<(), Failure> {
    match &cli.command {
        Command::Login(args) => return login::login(args, &cli.connection, output).await,
        Command::Logout => return login::logout(output),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "drover", &mut script);
            return output::bytes(&script);
        }
        Command::Generate { root } => return generate::write(root),
        _ => {}
    }
    let client = Client::new(Session::open(&cli.connection)?)?;
    match &cli.command {
        Command::Loads(command) => loads(&client, output, command).await,
        Command::Listings(command) => market::listings(&client, output, command).await,
        Command::Files(command) => market::files(&client, output, command).await,
        Command::Places(command) => market::places(&client, output, command).await,
        Command::Events(EventsCommand::Follow { feed, with_resource }) => {
            feed::follow(&client, output, feed, *with_resource).await
        }
        Command::Webhooks(WebhooksCommand::Listen { feed, forward, secret_file }) => {
            webhooks::listen(&client, output, feed, forward, secret_file.as_deref()).await
        }
        Command::Mcp(args) => mcp::serve(client, args.allow_write).await,
        Command::Login(_) | Command::Logout | Command::Completions { .. } | Command::Generate { .. } => {
            Ok(())
        }
    }
}

async fn loads(client: &Client, output: Output, command: &LoadsCommand) -> Result<(), Failure> {
    match command {
        LoadsCommand::List { list, status, from, to, overdue } => {
            let mut filters = Request::get(Service::Logistics, "/v1/loads")
                .with("startDateISO", from.as_ref())
                .with("endDateISO", to.as_ref())
                .with("overdue", overdue.then_some(true));
            for status in status {
                filters = filters.with("f:status", Some(status));
            }
            loads::list(client, output, list, filters).await
        }
        LoadsCommand::Show { id } => loads::show(client, output, id).await,
        LoadsCommand::Create(args) => loads::create(client, output, args).await,
        LoadsCommand::Import(args) => import::import(client, output, args).await,
        LoadsCommand::Export(args) => loads::export(client, args).await,
        LoadsCommand::Prove(args) => loads::prove(client, output, args).await,
    }
}
