//! The events of an answer as a stream for a body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::ask::{AnswerEvent, AnswerEvents};

type Next = Pin<Box<dyn Future<Output = (AnswerEvents, Option<AnswerEvent>)> + Send>>;

/// A stream that asks for the next event when it is polled and makes something
/// of it. Dropped, it drops the events, which ends the query.
pub(crate) struct Pulled<F> {
    next: Option<Next>,
    make: F,
}

/// A stream of what `make` makes of each event.
pub(crate) fn pulled<T, F>(events: AnswerEvents, make: F) -> Pulled<F>
where
    F: FnMut(AnswerEvent) -> T,
{
    Pulled {
        next: Some(pull(events)),
        make,
    }
}

fn pull(mut events: AnswerEvents) -> Next {
    Box::pin(async move {
        let event = events.next().await;
        (events, event)
    })
}

impl<T, F> Stream for Pulled<F>
where
    F: FnMut(AnswerEvent) -> T + Unpin,
{
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let Poll::Ready((events, event)) = next.as_mut().poll(context) else {
            return Poll::Pending;
        };
        self.next = event.is_some().then(|| pull(events));
        Poll::Ready(event.map(|event| (self.make)(event)))
    }
}
