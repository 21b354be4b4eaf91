//! The console: pages for people who look and click. It has no database and no right of its own: it calls the services
//! with the token of the person who is logged in.

#![warn(unreachable_pub)]

mod api;
mod config;
mod counting;
mod fields;
mod format;
mod guard;
mod handlers;
mod import;
mod loads;
mod login;
mod market;
mod metrics;
mod session;
mod user;
mod views;

use std::time::SystemTime;

use actix_web::HttpMessage;
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderValue, SET_COOKIE};
use actix_web::web::Data;
use common::cli::Checks;
use common::config::Claims;
use common::{Pages, Site, SiteContext};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use url::Url;

use api::{Api, Service};
use format::Clock;
use login::Login;
use metrics::{Reading, Readings};
use session::{CookieStyle, Keys, Sessions};
use user::Failure;
use views::Tiles;

pub use config::Settings;

/// The state that all handlers share.
pub struct Console {
    api: Api,
    login: Login,
    sessions: Sessions,
    claims: Claims,
    clock: Clock,
    /// The console's own origin, as browsers send it.
    origin: String,
    /// Header `Content-Security-Policy` of pages.
    policy: HeaderValue,
    tiles: Option<Tiles>,
    /// The metrics of each service in the last hour, for administrators.
    readings: [Mutex<Readings>; Service::ALL.len()],
    /// Whether the console stops, for responses that would not end by themselves.
    stopping: watch::Sender<bool>,
}

impl Site for Console {
    const NAME: &'static str = "console";
    const ABOUT: &'static str = "Pages for people, made of the API of the three services";
    const PORT: u16 = 8084;
    const NEEDS: &'static str = "service.system_url, service.logistics_url, service.livestock_url, \
        service.provider_url, service.client_id, service.session_keys, server.public_url";
    type Settings = Settings;

    fn pages(pages: &mut Pages<'_>) {
        handlers::pages(pages);
    }

    fn complete(site: &Self, response: ServiceResponse) -> ServiceResponse {
        let failure = response.response().error().map(|error| match error.as_error::<Failure>() {
            Some(failure) => handlers::failure_response(failure),
            None => handlers::failure_response(&Failure::of_status(error.as_response_error().status_code())),
        });
        let is_unknown =
            response.status() == StatusCode::NOT_FOUND && !response.headers().contains_key(CONTENT_TYPE);
        let failure = failure.or_else(|| is_unknown.then(|| handlers::failure_response(&Failure::NotFound)));
        let mut response = match failure {
            Some(page) => response.into_response(page),
            None => response,
        };
        let cookies = response.request().extensions_mut().remove::<handlers::NewCookies>();
        for cookie in cookies.into_iter().flat_map(|cookies| cookies.0) {
            if let Ok(value) = HeaderValue::try_from(cookie) {
                response.headers_mut().append(SET_COOKIE, value);
            }
        }
        guard::add_headers(response.status(), response.headers_mut(), &site.policy);
        response
    }

    async fn check(settings: &Settings, context: &SiteContext, checks: &mut Checks) -> anyhow::Result<()> {
        let console = Self::open(settings, context)?;
        for service in Service::ALL {
            let (name, variable) = (service.name(), service.name().to_uppercase());
            let remedy =
                format!("start {name}, or change service.{name}_url (DROVER_SERVICE__{variable}_URL)");
            let check = async { console.api.probe(service).await.map(|()| "it answers".to_owned()) };
            checks.run_online(name, &remedy, check).await;
        }
        if let Login::Provider(provider) = &console.login {
            let remedy = "service.provider_url (DROVER_SERVICE__PROVIDER_URL) must be the issuer of the provider, \
                          exactly as its metadata names it";
            let check =
                async { provider.check().await.map(|()| "its metadata and keys are read".to_owned()) };
            checks.run_online("provider", remedy, check).await;
        }
        Ok(())
    }

    fn open(settings: &Settings, context: &SiteContext) -> anyhow::Result<Self> {
        let login = Login::open(settings, &context.public_url)?;
        let url = Url::parse(&context.public_url)?;
        let attribution = settings.tiles_attribution.clone();
        let tiles = settings.tiles_url.clone().map(|url| Tiles { url, attribution });
        let tiles_url = tiles.as_ref().map(|tiles| Url::parse(&tiles.url)).transpose()?;
        Ok(Self {
            api: Api::new(settings)?,
            login,
            sessions: Sessions {
                keys: Keys::open(&settings.session_keys)?,
                style: CookieStyle { is_secure: url.scheme() == "https" },
            },
            claims: settings.claims.clone(),
            clock: Clock {
                zone: settings.time_zone.parse().map_err(|_| anyhow::anyhow!("an unknown time zone"))?,
            },
            origin: guard::origin(&url),
            policy: guard::security_policy(tiles_url.as_ref())?,
            tiles,
            readings: Default::default(),
            stopping: watch::Sender::new(false),
        })
    }

    async fn background(site: Data<Self>) {
        loop {
            for service in Service::ALL {
                if let Ok(text) = site.api.peek(service, "/metrics").await {
                    site.readings[service as usize].lock().add(Reading::parse(&text, SystemTime::now()));
                }
            }
            tokio::time::sleep(metrics::INTERVAL).await;
        }
    }

    fn stop(&self) {
        self.stopping.send_replace(true);
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        let probes =
            Service::ALL.map(async |service| (service.name(), self.api.probe(service).await.is_ok()));
        join_all(probes).await
    }
}
