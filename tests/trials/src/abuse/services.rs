//! The three services, filled with data, and their honest clients.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use testkit::market::{batch, carried_load, listings, upload};
use testkit::processes::environment::{Environment, variables};
use testkit::processes::http::{Body, Form};
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;

use super::target::Target;
use crate::traffic::Request;

/// The organisation of attackers and honest clients.
pub const ORG: &str = "hereford-haulage";
/// Time that a service may take beyond its timeouts.
pub const MARGIN: Duration = Duration::from_secs(2);
/// Size of the largest file that is accepted, in bytes.
pub const MAX_FILE_SIZE: usize = 25 << 20;

/// The services under attack.
pub struct Services<'a> {
    /// The trial.
    pub trial: &'a Trial<'a>,
    /// Files and places.
    pub system: Target<'a>,
    /// Loads.
    pub logistics: Target<'a>,
    /// Listings.
    pub livestock: Target<'a>,
    /// Path of a file of [`MAX_FILE_SIZE`].
    pub large_file: String,
}

impl<'a> Services<'a> {
    /// Starts and fills the services.
    pub fn start(trial: &'a Trial<'a>) -> Result<Self> {
        let mut config = trial.stack_config("abuse", false)?;
        config.environment = std::array::from_fn(|_| Timeouts::environment(trial.short));
        let services: [ServiceProcess; 3] =
            trial.stack(&config)?.services.try_into().map_err(|_| anyhow!("there are three services"))?;
        let [system, logistics, livestock] = services;
        let token = system.token(Some(ORG));
        let upload = |size| {
            let form = Form { media_type: "application/octet-stream", ..upload("a", vec![b'A'; size]) };
            Ok::<_, anyhow::Error>(format!(
                "/v1/files/{}",
                create(&system, "/v1/files", &token, Body::Form(form))?
            ))
        };
        let (large_file, small_file) = (upload(MAX_FILE_SIZE)?, upload(10_000)?);
        let loads = batch(ORG, "batch", if trial.short { 2000 } else { 20_000 });
        logistics.send("POST", "/v1/loads/batch", &token, &Body::Form(loads))?;
        for listing in (0..if trial.short { 60 } else { 5000 }).map(listings::listing) {
            create(&livestock, &format!("/v1/listings/{}", listing.path), &token, Body::Json(listing.body))?;
        }
        let target = |service: ServiceProcess, post: Option<(&str, Body)>, paths: &[&str]| {
            let post = post.map(|(path, body)| Request::new("POST", &service.url(path), &token, body));
            let get = |path: &&str| Request::new("GET", &service.url(path), &token, Body::Empty);
            let requests = paths.iter().map(get).chain(post).collect();
            let name = service.name.to_owned();
            Target::new(trial, service, name, token.clone(), requests)
        };
        let info = format!("{small_file}/info");
        let places = ["/v1/addresses?query=hereford", "/v1/locations/coordinates?lat=52.05&lon=-2.71"];
        let load = Body::Json(carried_load(ORG, "honest"));
        let loads = ["/v1/loads?query=batch-17", "/v1/loads?sortBy=reference", "/v1/commodities"];
        let sheep = "/v1/listings?f:commodityType=sheep";
        let listings = ["/v1/listings", "/v1/listings?docs=false", "/v1/categories", sheep];
        Ok(Self {
            trial,
            system: target(system, None, &[places[0], &small_file, &info, places[1]])?,
            logistics: target(logistics, Some(("/v1/loads/carrier", load)), &loads)?,
            livestock: target(livestock, None, &listings)?,
            large_file,
        })
    }

    /// Checks the memory that the services keep after all attacks.
    pub fn check_memory(&self) -> Result<()> {
        [&self.system, &self.logistics, &self.livestock].into_iter().try_for_each(Target::check_memory)
    }
}

/// Creates something and returns its id.
fn create(service: &ServiceProcess, path: &str, token: &str, body: Body) -> Result<String> {
    let response = service.send("POST", path, token, &body)?;
    let id = response.json["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("POST {path} returned no id"))
}

/// Timeouts of the services for their clients.
pub struct Timeouts {
    /// For the head of a request.
    pub head: Duration,
    /// For the next request on a connection.
    pub idle: Duration,
    /// For progress of a request or response.
    pub stalled: Duration,
}

impl Timeouts {
    /// The defaults of the services, or shorter ones in the short form.
    pub fn new(short: bool) -> Self {
        let [head, idle, stalled] = if short { [2, 2, 3] } else { [10, 75, 60] }.map(Duration::from_secs);
        Self { head, idle, stalled }
    }

    /// Variables that set the timeouts. The long form runs with the defaults.
    pub fn environment(short: bool) -> Environment {
        let Self { head, idle, stalled } = Self::new(short);
        let seconds = [("HEAD", head), ("IDLE", idle), ("STALLED", stalled)];
        let seconds =
            seconds.map(|(name, time)| (format!("SERVER__{name}_SECONDS"), time.as_secs().to_string()));
        let all = variables(seconds.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if short { all } else { Vec::new() }
    }
}
