//! One run of a session over one batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ort::session::Session;
use ort::value::Tensor;

use crate::batch::Batch;
use crate::pool::NoDirection;

/// A run that gave no result. The workers live on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// ONNX Runtime failed.
    #[error("the runtime failed on {rows} texts of {width} tokens")]
    Runtime {
        /// Texts in the batch.
        rows: usize,
        /// Their padded length.
        width: usize,
        /// What it said.
        #[source]
        source: ort::Error,
    },
    /// The output is not of the shape that the catalogue tells.
    #[error("the output {name} has the shape {found:?}, not {expected:?}")]
    Shape {
        /// The output.
        name: String,
        /// Its shape.
        found: Vec<i64>,
        /// The shape it should have.
        expected: Vec<usize>,
    },
    /// A text's vector has no direction.
    #[error(transparent)]
    NoDirection(#[from] NoDirection),
    /// A score is not a number.
    #[error("the model gave the score {score}, which is not a finite number")]
    NotFinite {
        /// The score.
        score: f32,
    },
    /// The worker panicked on this batch.
    #[error("the model's worker panicked: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// The workers have ended.
    #[error("the model's workers have ended")]
    Ended,
}

/// A model's output for one batch: `shape` with row-major `values`.
pub(crate) struct Output<'a> {
    pub(crate) name: &'a str,
    pub(crate) shape: &'a [i64],
    pub(crate) values: &'a [f32],
}

impl Output<'_> {
    /// Checks the output's shape.
    pub(crate) fn expect(&self, expected: &[usize]) -> Result<(), RunError> {
        let equal = self.shape.len() == expected.len()
            && self
                .shape
                .iter()
                .zip(expected)
                .all(|(found, expected)| usize::try_from(*found) == Ok(*expected));
        if equal {
            return Ok(());
        }
        Err(RunError::Shape {
            name: self.name.to_owned(),
            found: self.shape.to_vec(),
            expected: expected.to_vec(),
        })
    }
}

/// The names of what goes in and comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The graph's inputs, of those an XLM-RoBERTa has.
    pub(crate) inputs: Vec<String>,
    /// The output that is read.
    pub(crate) output: String,
}

/// Runs a batch and reads its output. The time the session took is added to
/// `busy`, in nanoseconds.
pub(crate) fn run<T>(
    session: &mut Session,
    ports: &Ports,
    batch: &Batch,
    busy: &AtomicU64,
    read: impl FnOnce(&Batch, &Output<'_>) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let fail = |source| RunError::Runtime {
        rows: batch.rows.len(),
        width: batch.width,
        source,
    };
    let shape = [batch.rows.len(), batch.width];
    let mut inputs = Vec::with_capacity(ports.inputs.len());
    for name in &ports.inputs {
        let values = match name.as_str() {
            "attention_mask" => batch.mask(),
            "token_type_ids" => vec![0; batch.ids.len()],
            _ => batch.ids.clone(),
        };
        let tensor = Tensor::from_array((shape, values)).map_err(fail)?;
        inputs.push((name.as_str(), tensor));
    }
    let start = Instant::now();
    let outputs = session.run(inputs).map_err(fail)?;
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    busy.fetch_add(nanoseconds, Ordering::Relaxed);
    let output = &outputs[ports.output.as_str()];
    let (shape, values) = output.try_extract_tensor::<f32>().map_err(fail)?;
    let output = Output {
        name: &ports.output,
        shape,
        values,
    };
    read(batch, &output)
}
