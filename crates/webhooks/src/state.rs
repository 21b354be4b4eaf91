//! The webhooks of a service: its settings, the delivery in the background, and the metrics.

use std::sync::Arc;

use common::{Error, ServiceContext};
use database::Database;
use metrics::{describe_gauge, gauge};
use outbox::{Channel, DeliveryOptions, Dispatcher};
use serde_json::{Value, json};

use crate::delivery::{DISABLED, Held, Receivers, maintain};
use crate::demo::create_demo_data;
use crate::event::TEST_EVENT;
use crate::sending::Sender;

/// The settings of webhooks.
#[derive(Clone, Copy, Debug)]
pub struct WebhookOptions {
    /// Allows receivers in private networks and on this machine, and those without TLS.
    pub allow_private: bool,
    /// The most that an organisation holds of deliveries.
    pub held: Held,
    /// The durations of deliveries.
    pub delivery: DeliveryOptions,
}

/// The webhooks that organisations registered with a service.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) db: Database,
    /// Base URL that clients use, without a slash at the end.
    pub(crate) public_url: String,
    pub(crate) allow_private: bool,
    held: Held,
    samples: Arc<Vec<(&'static str, Value)>>,
    dispatcher: Arc<Dispatcher<Receivers>>,
}

impl Webhooks {
    /// Opens the webhooks of a service. `samples` have `data` of an event of each name, for tests.
    ///
    /// # Errors
    /// If the HTTP client cannot be built.
    pub fn open(
        options: WebhookOptions,
        context: &ServiceContext,
        samples: Vec<(&'static str, Value)>,
    ) -> anyhow::Result<Self> {
        let WebhookOptions { allow_private, held, delivery } = options;
        let sender = Sender::new(delivery.timeout, allow_private)?;
        let receivers = Receivers::new(context.db.clone(), sender, allow_private);
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            allow_private,
            held,
            samples: Arc::new(samples),
            dispatcher: Arc::new(Dispatcher::new(receivers, delivery, context)?),
        })
    }

    /// Returns `data` of a sample of an event, marked as a test.
    ///
    /// # Errors
    /// 500 if the service has none.
    pub(crate) fn sample(&self, event: &str) -> Result<Value, Error> {
        let sample = self.samples.iter().find(|(name, _)| *name == event);
        let mut data = sample
            .map(|(_, data)| data.clone())
            .ok_or_else(|| Error::Internal(anyhow::anyhow!("there is no sample of the event {event}")))?;
        data["test"] = json!(true);
        Ok(data)
    }

    /// Looks for due deliveries now. Call it after the commit that stores some.
    pub fn wake(&self) {
        self.dispatcher.wake();
    }

    /// Delivers events for as long as the service runs.
    pub async fn run(&self) {
        tokio::join!(self.dispatcher.clone().run(), maintain(&self.db, self.held));
    }

    /// Creates the webhooks that the examples of the OpenAPI document name, with a subscription to this event.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn create_demo_data(&self, event: &'static str) -> Result<(), Error> {
        create_demo_data(&self.db, event).await
    }

    /// Starts no more deliveries and waits until the running ones are recorded.
    pub async fn finish(&self) {
        self.dispatcher.finish().await;
    }
}

/// Describes the metrics of webhooks and sets them to 0. `events` are those that webhooks can subscribe to.
pub fn register_metrics(events: &[&'static str]) {
    Receivers::METRICS.register(&Receivers::OUTBOX, events.iter().copied().chain([TEST_EVENT]));
    describe_gauge!(DISABLED, "Webhooks that are disabled");
    gauge!(DISABLED).set(0.0);
}
