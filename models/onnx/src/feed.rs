//! One call of a model: its texts into the queue, its results out of it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};

use quire_model::{Call, Stop};

use crate::batch::Row;
use crate::caller::{Caller, Reply};
use crate::queue::{Queue, Text};
use crate::run::{RunError, TextOutput};
use crate::text::{Encoded, TokenizerError};

/// Texts that are tokenized and put in at a time: enough to fill batches, few
/// enough that a resumed run loses little. A call has at most two of these in
/// the queue.
pub(crate) const WINDOW: usize = 256;

/// How often a waiting caller looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(10);

/// Gives the tokens of the text of that number.
pub(crate) type Encode<'a> = dyn Fn(usize) -> Result<Encoded, TokenizerError> + Sync + 'a;

/// Gets the values of some texts.
pub(crate) type Done<'a, T> = dyn FnMut(Vec<(Row, T)>) -> ControlFlow<()> + 'a;

/// A call that did not get all its results.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was not run, or not to the end.
    Stopped(Stop),
    /// A text has no tokens.
    Tokenizer(TokenizerError),
    /// A run failed, perhaps for others, too.
    Run(Arc<RunError>),
}

/// Runs the model over `texts` texts. `encode` gives each one's tokens, `read`
/// takes one value a text from the output, on the worker's thread, and `done`
/// gets values as soon as there are any, until it breaks. Tokenizing the next
/// window overlaps the model's work on this one.
pub(crate) fn run_each<T: Send + 'static>(
    queue: &Queue,
    texts: usize,
    call: &Call,
    encode: &Encode<'_>,
    read: impl Fn(&TextOutput<'_>) -> Result<T, RunError> + Send + Sync + 'static,
    done: &mut Done<'_, T>,
) -> Result<(), Failure> {
    go_on(call)?;
    if texts == 0 {
        return Ok(());
    }
    // Before tokenizing, which takes longer than a refusal may.
    if !queue.has_room(call.urgency(), texts.min(WINDOW)) {
        return Err(refused(queue, call, texts));
    }
    let (replies, inbox) = channel();
    let caller = queue.caller(call, read, replies);
    let feeder = Feeder {
        queue,
        caller,
        inbox,
        waiting: 0,
        texts,
    };
    let over = AtomicBool::new(false);
    let window = |start: usize| -> Result<Vec<Text>, Failure> {
        let mut window = Vec::with_capacity(WINDOW.min(texts - start));
        for index in start..texts.min(start + WINDOW) {
            go_on(call)?;
            if over.load(Ordering::Relaxed) {
                break;
            }
            window.push((index, encode(index).map_err(Failure::Tokenizer)?));
        }
        Ok(window)
    };
    if texts <= WINDOW {
        return feeder.feed(std::iter::once_with(|| window(0)), done);
    }
    std::thread::scope(|scope| {
        let (windows, ready) = sync_channel(1);
        let window = &window;
        scope.spawn(move || {
            for start in (0..texts).step_by(WINDOW) {
                // An error, or nobody listening: either way the last.
                let window = window(start);
                let last = window.is_err();
                if windows.send(window).is_err() || last {
                    return;
                }
            }
        });
        let fed = feeder.feed(ready, done);
        over.store(true, Ordering::Relaxed);
        fed
    })
}

fn go_on(call: &Call) -> Result<(), Failure> {
    call.stop()
        .map_or(Ok(()), |stop| Err(Failure::Stopped(stop)))
}

fn refused(queue: &Queue, call: &Call, texts: usize) -> Failure {
    queue
        .counters()
        .dropped(call.urgency(), Stop::QueueFull, texts);
    Failure::Stopped(Stop::QueueFull)
}

/// A call with texts in the queue. However it ends, what is left there is
/// dropped.
struct Feeder<'a, T> {
    queue: &'a Queue,
    caller: Arc<Caller>,
    inbox: Receiver<Reply<T>>,
    /// Texts put in and not answered.
    waiting: usize,
    /// Texts of the whole call.
    texts: usize,
}

impl<T> Feeder<'_, T> {
    fn feed(
        mut self,
        windows: impl IntoIterator<Item = Result<Vec<Text>, Failure>>,
        done: &mut Done<'_, T>,
    ) -> Result<(), Failure> {
        let mut let_in = false;
        for window in windows {
            let mut window = window?;
            loop {
                if self.waiting <= WINDOW {
                    let texts = window.len();
                    match self.queue.put(&self.caller, window) {
                        Ok(()) => {
                            self.waiting += texts;
                            break;
                        }
                        Err(_) if !let_in => {
                            return Err(refused(self.queue, self.caller.call(), self.texts));
                        }
                        Err(back) => window = back,
                    }
                }
                if self.take(done)?.is_break() {
                    return Ok(());
                }
            }
            let_in = true;
        }
        while self.waiting > 0 {
            if self.take(done)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for values and hands them on, but not for long: comes back
    /// without any after a tick.
    fn take(&mut self, done: &mut Done<'_, T>) -> Result<ControlFlow<()>, Failure> {
        let call = self.caller.call();
        let stop = call.stop();
        let patience = match (stop, call.deadline()) {
            // What is there already is not to be lost.
            (Some(_), _) => Duration::ZERO,
            (None, Some(at)) => TICK.min(at.saturating_duration_since(Instant::now())),
            (None, None) => TICK,
        };
        match self.inbox.recv_timeout(patience) {
            Ok(reply) => {
                let values = reply.map_err(Failure::Run)?;
                self.waiting -= values.len();
                Ok(done(values))
            }
            Err(RecvTimeoutError::Timeout) => match stop {
                Some(stop) => Err(Failure::Stopped(stop)),
                None => Ok(ControlFlow::Continue(())),
            },
            Err(RecvTimeoutError::Disconnected) => Err(Failure::Run(Arc::new(RunError::Ended))),
        }
    }
}

impl<T> Drop for Feeder<'_, T> {
    fn drop(&mut self) {
        if self.waiting > 0 {
            let stop = self.caller.call().stop().unwrap_or(Stop::Cancelled);
            self.queue.forget(&self.caller, stop);
        }
    }
}

#[cfg(test)]
mod tests;
