//! The parts that several services share: the service framework, the client of the system service, and the wire types
//! that more than one service uses.
//!
//! A service implements [`Service`] and calls [`cli::main`] from its `main.rs`. Its handlers take extractors from here
//! ([`Caller`], [`Authorized`], [`Body`], [`Query`], [`Idempotency`]) and return a [`JsonResponse`] or an [`Error`].

#![warn(unreachable_pub)]

mod auth;
pub mod catalogue;
pub mod clients {
    //! Clients of other services.

    pub mod system;
}
pub mod config;
pub mod due;
mod extract;
pub mod feed;
pub mod history;
pub mod http;
mod middleware;
mod openapi;
pub mod personal_data;
mod response;
mod schema;
mod search;
mod service;
mod settings;
mod telemetry;
mod tenants;
pub mod wire;

pub use auth::{
    Admin, Authorized, Caller, CallerObserver, IssuerKeys, KeyLoader, Member, MemberOrAdmin, Organisation,
    Policy, Role, SERVICE_ACCOUNT_PREFIX, Verifier, Visitor, is_trusted as is_trusted_url,
};
pub use clients::system;
pub use config::Config;
pub use extract::idempotency::{self, Effect, Fingerprint, Idempotency};
pub use extract::{
    Body, FormBody, IdsParams, MergePatch, PathId, Query, QueryValidator, check_path_text, documents_by_ids,
    multipart, organisation_id_of_path,
};
pub use middleware::rate_limit::ClientAddress;
pub use middleware::request_lifecycle::IsHead;
pub use openapi::{Api, SchemaValidator, text_choice};
pub use response::error::{Error, ErrorBody, ErrorResponses, ItemError, Reason, redacted_json_error};
pub use response::json::JsonResponse;
pub use response::negotiate::{Format, GEO_JSON_MEDIA_TYPE, MAX_FEATURES, accepts};
pub use response::revision::{Precondition, WithEtag, first_revision};
pub use response::stream::{StreamingResponse, TableLayout, Workbook};
pub use response::validation;
pub use search::{
    Cursor, IdBatch, ListParams, OffsetParams, PageParams, PageRequest, ResultPage, SortDefinition, Sorting,
    offset_links, parse_words, stream_by_ids, stream_pages,
};
pub use service::{
    Pages, Running, Service, ServiceContext, Site, SiteContext, backfill, cli, migrations, openapi, start,
    start_site,
};
pub use telemetry::context::RequestContext;
pub use telemetry::logs::FailureStreak;
pub use telemetry::security::RefusalLog;
pub use telemetry::traces;
pub use tenants::{FairLimiter, FairPermit, Full, PeriodLimits, TenantLimits};
