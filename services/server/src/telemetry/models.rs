//! What the models' batching queues say of themselves.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// What one model has done since it was loaded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFigures {
    /// Which model, such as `embedder`.
    pub model: String,
    /// Texts, or pairs of question and passage.
    pub texts: u64,
    /// Texts that were cut short.
    pub truncated: u64,
    /// Tokens of those.
    pub tokens: u64,
    /// Tokens that were only padding.
    pub padding: u64,
    /// Batches that were run.
    pub batches: u64,
    /// Batches that failed.
    pub failed: u64,
    /// How many batches had at most so many texts, ascending by texts; not
    /// counting those of the entry before.
    pub batch_sizes: Vec<(f64, u64)>,
    /// The queue in front of it, by urgency.
    pub lanes: Vec<LaneFigures>,
}

/// Texts of one urgency in front of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaneFigures {
    /// `question` or `bulk`.
    pub lane: &'static str,
    /// Texts that wait now.
    pub waiting: u64,
    /// Texts that nobody waited for any more when their turn came.
    pub dropped: u64,
    /// Texts that were refused because too much waited.
    pub refused: u64,
    /// How many texts waited at most so many seconds, ascending; not counting
    /// those of the entry before.
    pub waits: Vec<(f64, u64)>,
    /// How many texts have waited.
    pub waited: u64,
    /// How long, together.
    pub seconds_waited: f64,
}

/// Says what the models have done. Asked whenever metrics are.
pub trait ModelStats: Send + Sync {
    /// The figures of each model, always of the same models.
    fn figures(&self) -> Vec<ModelFigures>;
}

pub(super) struct ModelsCollector(pub Arc<dyn ModelStats>);

impl fmt::Debug for ModelsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelsCollector")
    }
}

type Figure = fn(&ModelFigures) -> u64;

const COUNTERS: [(&str, &str, Figure); 6] = [
    ("quire_model_texts", "Texts a model has read", |f| f.texts),
    (
        "quire_model_truncated_texts",
        "Texts of which a model has read only the beginning",
        |f| f.truncated,
    ),
    ("quire_model_tokens", "Tokens a model has read", |f| {
        f.tokens
    }),
    (
        "quire_model_padding_tokens",
        "Tokens a model has read that were only padding",
        |f| f.padding,
    ),
    ("quire_model_batches", "Batches a model has run", |f| {
        f.batches
    }),
    (
        "quire_model_failed_batches",
        "Batches that a model has failed on",
        |f| f.failed,
    ),
];

type LaneFigure = fn(&LaneFigures) -> u64;

const LANE_COUNTERS: [(&str, &str, LaneFigure); 2] = [
    (
        "quire_model_dropped_texts",
        "Texts that nobody waited for any more when their turn came",
        |f| f.dropped,
    ),
    (
        "quire_model_refused_texts",
        "Texts refused because too much waited for a model",
        |f| f.refused,
    ),
];

impl Collector for ModelsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let models = self.0.figures();
        for (name, help, figure) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for model in &models {
                let labels = [("model", model.model.as_str())];
                family
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, u64, u64>(&figure(model), None)?;
            }
        }
        let mut share = encoder.encode_descriptor(
            "quire_model_padding_share",
            "Share of all tokens a model has read that were only padding",
            None,
            MetricType::Gauge,
        )?;
        for model in &models {
            let all = (model.tokens + model.padding).max(1);
            let value = model.padding as f64 / all as f64;
            let labels = [("model", model.model.as_str())];
            share.encode_family(&labels)?.encode_gauge(&value)?;
        }
        let mut sizes = encoder.encode_descriptor(
            "quire_model_batch_size",
            "Texts in a batch of a model",
            None,
            MetricType::Histogram,
        )?;
        for model in &models {
            let labels = [("model", model.model.as_str())];
            sizes
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(
                    model.texts as f64,
                    model.batches,
                    &buckets(&model.batch_sizes, model.batches),
                    None,
                )?;
        }
        encode_lanes(&mut encoder, &models)
    }
}

fn encode_lanes(
    encoder: &mut DescriptorEncoder,
    models: &[ModelFigures],
) -> Result<(), fmt::Error> {
    let lanes: Vec<([(&str, &str); 2], &LaneFigures)> = models
        .iter()
        .flat_map(|model| model.lanes.iter().map(move |lane| (model, lane)))
        .map(|(model, lane)| ([("model", model.model.as_str()), ("lane", lane.lane)], lane))
        .collect();
    for (name, help, figure) in LANE_COUNTERS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, lane) in &lanes {
            family
                .encode_family(labels)?
                .encode_counter::<NoLabelSet, u64, u64>(&figure(lane), None)?;
        }
    }
    let mut waiting = encoder.encode_descriptor(
        "quire_model_queue_depth",
        "Texts that wait for a model",
        None,
        MetricType::Gauge,
    )?;
    for (labels, lane) in &lanes {
        let value = lane.waiting as i64;
        waiting.encode_family(labels)?.encode_gauge(&value)?;
    }
    let mut waits = encoder.encode_descriptor(
        "quire_model_queue_wait_seconds",
        "How long texts wait for a model",
        None,
        MetricType::Histogram,
    )?;
    for (labels, lane) in &lanes {
        waits
            .encode_family(labels)?
            .encode_histogram::<NoLabelSet>(
                lane.seconds_waited,
                lane.waited,
                &buckets(&lane.waits, lane.waited),
                None,
            )?;
    }
    Ok(())
}

/// The buckets, and one without an upper bound for what is beyond them.
fn buckets(bounded: &[(f64, u64)], all: u64) -> Vec<(f64, u64)> {
    let counted: u64 = bounded.iter().map(|(_, count)| count).sum();
    let mut buckets = bounded.to_vec();
    buckets.push((f64::MAX, all.saturating_sub(counted)));
    buckets
}
