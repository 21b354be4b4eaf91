//! What is counted of an operation. Each handle is looked for once: finding one by its name and labels costs more than
//! all else that is done with it.

use std::sync::{OnceLock, PoisonError, RwLock};

use metrics::{Counter, Histogram, counter, histogram};

/// The metrics of one operation.
pub(crate) struct Measured {
    operation: String,
    seconds: OnceLock<Histogram>,
    /// By status, of which an operation has a few.
    answers: RwLock<Vec<(u16, Counter)>>,
}

impl Measured {
    pub(crate) fn new(operation: String) -> Self {
        Self { operation, seconds: OnceLock::new(), answers: RwLock::default() }
    }

    /// Counts an answer.
    pub(crate) fn record(&self, status: u16, seconds: f64) {
        let name = || self.operation.clone();
        let histogram = || histogram!("drover_request_seconds", "operation" => name());
        self.seconds.get_or_init(histogram).record(seconds);
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = answers.iter().find(|(known, _)| *known == status) {
            return counter.increment(1);
        }
        drop(answers);
        let labels = [("operation", name()), ("status", status.to_string())];
        let counter = counter!("drover_requests_total", &labels);
        counter.increment(1);
        self.answers.write().unwrap_or_else(PoisonError::into_inner).push((status, counter));
    }

    /// What the operation is called: `none` where there is none.
    pub(crate) fn operation(&self) -> &str {
        &self.operation
    }
}
