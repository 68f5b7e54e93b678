//! The texts that wait, in one lane for questions and one for bulk work.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use quire_model::{Stop, Urgency};

use crate::batch::{BatchRule, Row};
use crate::caller::Caller;

/// How many batches of questions run before one of bulk work, when both wait:
/// indexing goes on, slowly, under any flood of questions.
pub(crate) const QUESTIONS_TO_ONE_BULK: usize = 8;

/// One text that waits for a run.
pub(crate) struct Waiting {
    pub(crate) caller: Arc<Caller>,
    pub(crate) row: Row,
    pub(crate) ids: Vec<u32>,
    pub(crate) since: Instant,
}

/// Texts of one urgency, by padded length, each in the order they came.
#[derive(Default)]
pub(crate) struct Lane {
    by_width: BTreeMap<usize, VecDeque<(u64, Waiting)>>,
    texts: usize,
    /// Counts arrivals: the oldest text has the lowest number.
    arrivals: u64,
}

/// What the next batch of a lane would be.
pub(crate) struct Head {
    /// When its oldest text came.
    pub(crate) since: Instant,
    /// Whether no further text would fit.
    pub(crate) full: bool,
}

impl Lane {
    /// How many texts wait.
    pub(crate) fn len(&self) -> usize {
        self.texts
    }

    /// Puts texts in, those of greater padded length first: so of one window
    /// the longest run first, memory is asked for once, and the last runs are
    /// short.
    pub(crate) fn put(&mut self, rule: &BatchRule, texts: Vec<Waiting>) {
        let mut texts: Vec<(usize, Waiting)> = texts
            .into_iter()
            .map(|text| (rule.width(text.row.tokens), text))
            .collect();
        texts.sort_by_key(|(width, _)| std::cmp::Reverse(*width));
        self.texts += texts.len();
        for (width, text) in texts {
            let queue = self.by_width.entry(width).or_default();
            queue.push_back((self.arrivals, text));
            self.arrivals += 1;
        }
    }

    /// The padded length of the oldest text.
    fn oldest(&self) -> Option<usize> {
        let fronts = self
            .by_width
            .iter()
            .filter_map(|(width, queue)| Some((queue.front()?.0, *width)));
        fronts.min().map(|(_, width)| width)
    }

    /// What the next batch would be now; `None` if nothing waits.
    pub(crate) fn head(&self, rule: &BatchRule) -> Option<Head> {
        let width = self.oldest()?;
        let queue = self.by_width.get(&width)?;
        Some(Head {
            since: queue.front()?.1.since,
            full: queue.len() >= rule.rows_of(width),
        })
    }

    /// Takes the next batch out: the oldest text and as many others of its
    /// padded length as there is room for, oldest first. Texts that nobody
    /// wants any more are told to `unwanted` and left out; when none is left,
    /// there is no batch.
    pub(crate) fn take(
        &mut self,
        rule: &BatchRule,
        unwanted: &mut dyn FnMut(Stop),
    ) -> Option<(usize, Vec<Waiting>)> {
        while let Some(width) = self.oldest() {
            let room = rule.rows_of(width);
            let queue = self.by_width.get_mut(&width)?;
            let mut batch = Vec::with_capacity(room.min(queue.len()));
            while batch.len() < room
                && let Some((_, text)) = queue.pop_front()
            {
                self.texts -= 1;
                match text.caller.call().stop() {
                    Some(stop) => unwanted(stop),
                    None => batch.push(text),
                }
            }
            if queue.is_empty() {
                self.by_width.remove(&width);
            }
            if !batch.is_empty() {
                return Some((width, batch));
            }
        }
        None
    }

    /// Drops what waits for a caller; how much it was.
    pub(crate) fn forget(&mut self, caller: u64) -> usize {
        let before = self.texts;
        self.by_width.retain(|_, queue| {
            let held = queue.len();
            queue.retain(|(_, text)| text.caller.id() != caller);
            self.texts -= held - queue.len();
            !queue.is_empty()
        });
        before - self.texts
    }
}

/// Both lanes, and whose turn it is.
#[derive(Default)]
pub(crate) struct Lanes {
    pub(crate) questions: Lane,
    pub(crate) bulk: Lane,
    /// Batches of questions since bulk work had its turn, or had nothing.
    passed_over: usize,
}

impl Lanes {
    /// The lane of an urgency.
    pub(crate) fn of(&mut self, urgency: Urgency) -> &mut Lane {
        match urgency {
            Urgency::Question => &mut self.questions,
            Urgency::Bulk => &mut self.bulk,
        }
    }

    /// The lane whose turn it is; `None` if nothing waits.
    pub(crate) fn turn(&self) -> Option<Urgency> {
        match (self.questions.len(), self.bulk.len()) {
            (0, 0) => None,
            (0, _) => Some(Urgency::Bulk),
            (_, 0) => Some(Urgency::Question),
            _ if self.passed_over >= QUESTIONS_TO_ONE_BULK => Some(Urgency::Bulk),
            _ => Some(Urgency::Question),
        }
    }

    /// Remembers that a batch of that lane runs.
    pub(crate) fn took(&mut self, urgency: Urgency) {
        let passes_over = urgency == Urgency::Question && self.bulk.len() > 0;
        self.passed_over = if passes_over { self.passed_over + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::BatchMates;
    use quire_model::{Call, CancelFlag};
    use std::sync::mpsc::channel;

    const RULE: BatchRule = BatchRule {
        budget: 24,
        mates: BatchMates::Any,
        max_tokens: 60,
        pad_id: 1,
    };

    fn caller(id: u64, call: Call) -> Arc<Caller> {
        Arc::new(Caller::new(id, call, |_| Ok(()), channel().0))
    }

    /// Texts of those lengths, numbered from `first`.
    fn texts(caller: &Arc<Caller>, first: usize, lengths: &[usize]) -> Vec<Waiting> {
        (first..)
            .zip(lengths)
            .map(|(index, &tokens)| Waiting {
                caller: Arc::clone(caller),
                row: Row {
                    index,
                    tokens,
                    truncated: false,
                },
                ids: vec![7; tokens],
                since: Instant::now(),
            })
            .collect()
    }

    fn batches(lane: &mut Lane) -> Vec<(usize, Vec<usize>)> {
        std::iter::from_fn(|| lane.take(&RULE, &mut |stop| panic!("{stop}")))
            .map(|(width, texts)| (width, texts.iter().map(|text| text.row.index).collect()))
            .collect()
    }

    #[test]
    fn a_batch_is_the_oldest_text_and_others_of_its_padded_length() {
        let mut lane = Lane::default();
        let (one, other) = (caller(1, Call::new()), caller(2, Call::new()));
        lane.put(&RULE, texts(&one, 0, &[3, 17, 5]));
        lane.put(&RULE, texts(&other, 3, &[60, 8, 1, 2]));
        assert_eq!(lane.len(), 7);
        assert_eq!(
            batches(&mut lane),
            [
                (24, vec![1]),
                (8, vec![0, 2, 4]),
                (60, vec![3]),
                (8, vec![5, 6]),
            ]
        );
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn the_head_is_full_when_no_further_text_fits() {
        let mut lane = Lane::default();
        assert!(lane.head(&RULE).is_none());
        let caller = caller(1, Call::new());
        lane.put(&RULE, texts(&caller, 0, &[3, 4]));
        assert!(!lane.head(&RULE).unwrap().full);
        lane.put(&RULE, texts(&caller, 2, &[5]));
        assert!(lane.head(&RULE).unwrap().full);
    }

    #[test]
    fn unwanted_texts_make_room_for_wanted_ones() {
        let mut lane = Lane::default();
        let flag = CancelFlag::default();
        let gone = caller(1, Call::new().cancelled_by(&flag));
        let late = caller(2, Call::new().until(Instant::now()));
        let waits = caller(3, Call::new());
        lane.put(&RULE, texts(&gone, 0, &[3, 3, 20]));
        lane.put(&RULE, texts(&late, 3, &[3]));
        lane.put(&RULE, texts(&waits, 4, &[3, 3, 3]));
        flag.cancel();
        let mut stops = Vec::new();
        let (width, batch) = lane.take(&RULE, &mut |stop| stops.push(stop)).unwrap();
        let taken: Vec<usize> = batch.iter().map(|text| text.row.index).collect();
        assert_eq!((width, taken), (8, vec![4, 5, 6]));
        use Stop::{Cancelled, DeadlinePassed};
        assert_eq!(stops, [Cancelled, Cancelled, Cancelled, DeadlinePassed]);
        assert!(lane.take(&RULE, &mut |stop| stops.push(stop)).is_none());
        assert_eq!((lane.len(), stops.len()), (0, 4));
    }

    #[test]
    fn what_a_caller_left_is_forgotten_and_nothing_else() {
        let mut lane = Lane::default();
        let (one, other) = (caller(1, Call::new()), caller(2, Call::new()));
        lane.put(&RULE, texts(&one, 0, &[3, 17]));
        lane.put(&RULE, texts(&other, 2, &[3, 30]));
        assert_eq!(lane.forget(1), 2);
        assert_eq!((lane.forget(1), lane.len()), (0, 2));
        assert_eq!(batches(&mut lane), [(32, vec![3]), (8, vec![2])]);
    }

    #[test]
    fn questions_come_first_but_bulk_work_has_its_turn() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.turn(), None);
        lanes
            .bulk
            .put(&RULE, texts(&caller(1, Call::bulk()), 0, &[40; 3]));
        assert_eq!(lanes.turn(), Some(Urgency::Bulk));
        let asked = texts(&caller(2, Call::new()), 0, &[40; 30]);
        lanes.questions.put(&RULE, asked);
        let mut order = String::new();
        while let Some(urgency) = lanes.turn() {
            lanes.of(urgency).take(&RULE, &mut |_| ()).unwrap();
            lanes.took(urgency);
            order.push(if urgency == Urgency::Bulk { 'b' } else { 'q' });
        }
        let eight = "q".repeat(QUESTIONS_TO_ONE_BULK);
        assert_eq!(order, format!("{eight}b{eight}b{eight}bqqqqqq"));
    }
}
