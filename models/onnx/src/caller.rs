//! One call of a model, as the queue sees it: what to do with an output,
//! whatever the type of what is read from it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use quire_model::{Call, Urgency};

use crate::batch::Row;
use crate::run::{Output, RunError, TextOutput};

/// What comes back for some of a call's texts: each text's value, or why the
/// run they shared with others gave none.
pub(crate) type Reply<T> = Result<Vec<(Row, T)>, Arc<RunError>>;

/// The rows of a batch that are one caller's, and the output they are in.
struct Part<'a> {
    rows: &'a [Row],
    /// The place of the first of them in the batch.
    first: usize,
    output: &'a Output<'a>,
}

type Answer = dyn Fn(Result<Part<'_>, Arc<RunError>>) + Send + Sync;

/// Who waits for texts in the queue.
pub(crate) struct Caller {
    id: u64,
    call: Call,
    answer: Box<Answer>,
}

impl Caller {
    /// A caller that has `read` take one value a text from the output, on the
    /// worker's thread, and gets them by `replies`. A panic in `read` is a
    /// failure of this caller alone.
    pub(crate) fn new<T: Send + 'static>(
        id: u64,
        call: Call,
        read: impl Fn(&TextOutput<'_>) -> Result<T, RunError> + Send + Sync + 'static,
        replies: Sender<Reply<T>>,
    ) -> Self {
        let answer = move |part: Result<Part<'_>, Arc<RunError>>| {
            let reply = part.and_then(|part| {
                let read_all = || {
                    let numbered = part.rows.iter().zip(part.first..);
                    numbered
                        .map(|(row, at)| Ok((*row, read(&part.output.text(at, row.tokens))?)))
                        .collect::<Result<Vec<_>, RunError>>()
                };
                catch_unwind(AssertUnwindSafe(read_all))
                    .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
                    .map_err(Arc::new)
            });
            // Whoever asked may have stopped listening.
            let _ = replies.send(reply);
        };
        Self {
            id,
            call,
            answer: Box::new(answer),
        }
    }

    /// What tells callers of one queue apart.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Until when, and how urgently, it waits.
    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// Which lane its texts wait in.
    pub(crate) fn urgency(&self) -> Urgency {
        self.call.urgency()
    }

    /// Answers the texts `rows`, which begin at `first` in the batch.
    pub(crate) fn read(&self, rows: &[Row], first: usize, output: &Output<'_>) {
        (self.answer)(Ok(Part {
            rows,
            first,
            output,
        }));
    }

    /// Answers that there is no output.
    pub(crate) fn fail(&self, error: Arc<RunError>) {
        (self.answer)(Err(error));
    }
}

/// A caught panic as an error.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> RunError {
    let message = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "no message".to_owned());
    RunError::Panicked { message }
}
