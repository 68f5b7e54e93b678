//! One run of a session over one batch.

use std::sync::Arc;

use ort::session::Session;
use ort::value::Tensor;

use crate::batch::Batch;
use crate::pool::NoDirection;
use crate::worker::Compute;

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
    /// Texts in the batch.
    pub(crate) rows: usize,
    /// Their padded length.
    pub(crate) width: usize,
}

impl<'a> Output<'a> {
    /// The part that is the text's at `row`, which has that many `tokens`.
    pub(crate) fn text(&'a self, row: usize, tokens: usize) -> TextOutput<'a> {
        TextOutput {
            output: self,
            row,
            tokens,
        }
    }
}

/// A model's output for one text of a batch.
pub(crate) struct TextOutput<'a> {
    output: &'a Output<'a>,
    row: usize,
    tokens: usize,
}

impl<'a> TextOutput<'a> {
    /// The text's vectors of `dims` values, one a token, without padding.
    pub(crate) fn tokens(&self, dims: usize) -> Result<&'a [f32], RunError> {
        let values = self.values(&[self.output.width, dims])?;
        Ok(&values[..self.tokens * dims])
    }

    /// The text's values, which have the shape `expected`.
    pub(crate) fn values(&self, expected: &[usize]) -> Result<&'a [f32], RunError> {
        let Output {
            name,
            shape,
            values,
            rows,
            ..
        } = self.output;
        let expected = [&[*rows], expected].concat();
        let same = |(found, expected): (&i64, &usize)| usize::try_from(*found) == Ok(*expected);
        if shape.len() != expected.len() || !shape.iter().zip(&expected).all(same) {
            return Err(RunError::Shape {
                name: (*name).to_owned(),
                found: shape.to_vec(),
                expected,
            });
        }
        let each = values.len() / rows;
        Ok(&values[self.row * each..][..each])
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

/// A session and what it is asked for.
pub(crate) struct GraphSession {
    pub(crate) session: Session,
    pub(crate) ports: Arc<Ports>,
}

impl Compute for GraphSession {
    fn compute(
        &mut self,
        batch: &Batch,
        read: &mut dyn FnMut(&Output<'_>),
    ) -> Result<(), RunError> {
        run(&mut self.session, &self.ports, batch, read)
    }
}

/// Runs a batch and has its output read.
pub(crate) fn run(
    session: &mut Session,
    ports: &Ports,
    batch: &Batch,
    read: &mut dyn FnMut(&Output<'_>),
) -> Result<(), RunError> {
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
    let outputs = session.run(inputs).map_err(fail)?;
    let output = &outputs[ports.output.as_str()];
    let (shape, values) = output.try_extract_tensor::<f32>().map_err(fail)?;
    read(&Output {
        name: &ports.output,
        shape,
        values,
        rows: batch.rows.len(),
        width: batch.width,
    });
    Ok(())
}
