//! A service under the load generator, and what that takes of the cores.

use anyhow::Result;

use super::sample::Sample;
use super::wrk::Requests;
use crate::proc;
use crate::service::Service;

impl Service {
    /// Loads it with requests, and says what they took of the cores.
    pub fn load(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Sample> {
        self.timed(|| requests.send(&self.url(""), clients, seconds))
    }

    /// What a piece of work took of the cores here.
    pub fn timed(&self, work: impl FnOnce() -> Result<Sample>) -> Result<Sample> {
        let before = proc::cpu_us(self.pid())?;
        let sample = work()?;
        Ok(Sample { cpu_us: Some(proc::cpu_us(self.pid())? - before), ..sample })
    }
}
