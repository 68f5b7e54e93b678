//! The trace log, as the service writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quire_traces::{TraceEntry, TraceError, TraceId, TraceLog, TraceLogOptions, TraceRecord};

use crate::problem::chain;
use crate::telemetry::Metrics;

/// The trace log, or none where it is off.
pub(crate) struct Traces {
    log: Option<TraceLog>,
    /// Whether the last trace could be written.
    healthy: AtomicBool,
    metrics: Arc<Metrics>,
}

impl Traces {
    /// Opens the log in a data folder.
    pub(crate) fn open(
        data: &std::path::Path,
        options: TraceLogOptions,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TraceError> {
        Ok(Self {
            log: Some(TraceLog::open(data.join("traces"), options)?),
            ..Self::off(metrics)
        })
    }

    /// No log.
    pub(crate) fn off(metrics: Arc<Metrics>) -> Self {
        Self {
            log: None,
            healthy: AtomicBool::new(true),
            metrics,
        }
    }

    /// Writes a trace. One that cannot be written is none, and told in the log
    /// and the metrics: the query is answered all the same.
    pub(crate) fn append(&self, entry: &TraceEntry<'_>) -> Option<TraceId> {
        let appended = self.log.as_ref()?.append(entry);
        self.healthy.store(appended.is_ok(), Ordering::Relaxed);
        match appended {
            Ok(id) => {
                self.metrics.trace_appended();
                Some(id)
            }
            Err(error) => {
                self.metrics.trace_failed();
                let request_id = entry.request_id.unwrap_or_default();
                tracing::error!(request_id, error = chain(&error), "trace not logged");
                None
            }
        }
    }

    /// Whether there is a log.
    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// Whether the last trace could be written.
    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// The record of that name. Waits for the disk.
    pub(crate) fn get(&self, id: &TraceId) -> Result<Option<TraceRecord>, TraceError> {
        match &self.log {
            Some(log) => log.get(id),
            None => Ok(None),
        }
    }

    /// Waits until all is on the disk.
    pub(crate) fn sync(&self) {
        if let Some(log) = &self.log
            && let Err(error) = log.sync()
        {
            tracing::error!(error = chain(&error), "the traces are not all on the disk");
        }
    }
}
