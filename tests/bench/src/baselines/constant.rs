//! The cost of HTTP without any work: an actix handler with a constant response.

use anyhow::Result;

use super::limits;
use super::server::BaselineServer;
use crate::benchmark::Baseline;
use crate::environment::BenchEnvironment;
use crate::wrk::Requests;

/// Starts a server that answers every request with `bytes` bytes, and returns a baseline that sends it `requests`.
pub fn response<'a>(
    env: &BenchEnvironment,
    bytes: usize,
    requests: &'a Requests,
    clients: usize,
) -> Result<Baseline<'a>> {
    let server = BaselineServer::start(env, "limits", |_, port| {
        let mut command = limits::command(env);
        command.args(["constant", &port.to_string(), &bytes.to_string()]);
        Ok(command)
    })?;
    let seconds = env.seconds;
    Ok(Baseline { name: "constant response", run: Box::new(move || server.send(requests, clients, seconds)) })
}
