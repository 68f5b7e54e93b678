//! The thread that runs the jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use quire_corpus::{SourceBook, read_books};
use quire_engine::{BuildEvent, Built, EngineError, How, Progress, build};
use quire_index::rfc3339;

use super::queue::Shared;
use super::said::in_full;
use super::{BookOutcome, BookStatus, JobId, JobProgress, JobReport, JobState, Problem};

/// Whether a job came to its end.
enum End {
    Finished,
    /// The queue stops; the rest is for the next start.
    Stopped,
}

/// Runs one job after the other until the queue stops.
pub(super) fn run(shared: &Shared) {
    while let Some(report) = shared.next() {
        let id = report.id;
        let mut run = Run { shared, report };
        // A panic costs the job, never the thread and those that wait.
        let end = catch_unwind(AssertUnwindSafe(|| run.books())).unwrap_or_else(|_| {
            tracing::error!(job = %id, "a job failed by a defect of quire");
            run.report.problem = Some(Problem {
                error: "the job failed by a defect of the server".to_owned(),
                remedy: "ask who runs the server to report what its log says".to_owned(),
            });
            End::Finished
        });
        match end {
            End::Finished => {
                run.finish();
                let hook = || (shared.hooks.finished)(&run.report);
                if catch_unwind(AssertUnwindSafe(hook)).is_err() {
                    tracing::error!(job = %id, "what was to follow a job failed by a defect");
                }
                shared.forget_oldest();
            }
            End::Stopped => run.put_back(),
        }
    }
}

/// One job while it runs. Its report is what the disk has, or is to have next.
struct Run<'a> {
    shared: &'a Shared,
    report: JobReport,
}

impl Run<'_> {
    /// Settles every book that is not settled yet.
    fn books(&mut self) -> End {
        self.report.state = JobState::Running;
        let now = || rfc3339(SystemTime::now());
        self.report.started.get_or_insert_with(now);
        for file in 0..self.report.files.len() {
            let name = self.report.files[file].name.clone();
            let files_after = self.report.files.len() - file - 1;
            self.publish_progress(name.clone(), 1 + files_after);
            if self.shared.is_stopping() {
                return End::Stopped;
            }
            let books = match self.read(file, &name) {
                Ok(books) => books,
                Err(problem) => {
                    if !self.is_settled(file, None) {
                        self.settle(unreadable(file, name, problem));
                    }
                    continue;
                }
            };
            for (at, book) in books.iter().enumerate() {
                if self.is_settled(file, Some(book)) {
                    continue;
                }
                self.publish_progress(book.source.clone(), books.len() - at + files_after);
                match self.book(file, book) {
                    Some(status) => self.settle(status),
                    None => return End::Stopped,
                }
            }
        }
        End::Finished
    }

    fn read(&self, file: usize, name: &str) -> Result<Vec<SourceBook>, Problem> {
        let Shared { folder, sayer, .. } = self.shared;
        let bytes = folder.file(&self.report, file).map_err(|error| {
            tracing::error!(job = %self.report.id, file, error = in_full(&error), "an upload is lost");
            sayer.of_file(&error)
        })?;
        read_books(name, &bytes, &self.shared.parts.read).map_err(|error| sayer.of_read(&error))
    }

    /// Whether an earlier run of this job has settled that book, or that the
    /// file has none.
    fn is_settled(&self, file: usize, book: Option<&SourceBook>) -> bool {
        let same = |status: &&BookStatus| {
            status.file == file
                && status.book == book.map(|book| book.id)
                && book.is_none_or(|book| book.source == status.source)
        };
        self.report.books.iter().any(|status| same(&status))
    }

    /// Builds a book; `None` when the queue stops before it is built.
    fn book(&self, file: usize, book: &SourceBook) -> Option<BookStatus> {
        let status = BookStatus {
            file,
            source: book.source.clone(),
            book: Some(book.id),
            title: book.title.clone(),
            outcome: BookOutcome::Failed,
            passages: None,
            tokens: None,
            problem: None,
        };
        let earlier = self.report.books.iter();
        let same_text = earlier.rev().find(|earlier| {
            earlier.book == Some(book.id) && earlier.outcome != BookOutcome::Failed
        });
        if let Some(earlier) = same_text {
            return Some(BookStatus {
                outcome: BookOutcome::SameText,
                passages: earlier.passages,
                tokens: earlier.tokens,
                ..status
            });
        }
        let parts = &self.shared.parts;
        let progress = Following::new(self.shared, self.report.id);
        let models = parts.models.as_ref();
        match build(&parts.store, book, &parts.recipe, models, &progress) {
            Ok(built) => {
                (self.shared.hooks.indexed)(book.id);
                let counts = &built.artifact.manifest().counts;
                Some(BookStatus {
                    outcome: outcome_of(&built),
                    passages: Some(counts.passages),
                    tokens: Some(counts.tokens),
                    ..status
                })
            }
            Err(EngineError::Stopped { .. }) if self.shared.is_stopping() => None,
            Err(error) => {
                let job = self.report.id;
                tracing::error!(%job, book = %book.id, error = in_full(&error), "a book failed");
                Some(BookStatus {
                    problem: Some(self.shared.sayer.of_build(&error)),
                    ..status
                })
            }
        }
    }

    /// Notes a book, on the disk and for those who follow.
    fn settle(&mut self, status: BookStatus) {
        self.report.books.push(status);
        self.save();
        self.shared.publish(&self.report);
    }

    /// Says what is done now, and how many books are left at least.
    fn publish_progress(&mut self, source: String, left: usize) {
        let books_done = self.report.books.len();
        self.report.progress = Some(JobProgress {
            books_done,
            books_known: books_done + left,
            source: Some(source),
            ..JobProgress::default()
        });
        self.shared.publish(&self.report);
    }

    fn finish(&mut self) {
        self.report.progress = None;
        self.report.state = self.report.outcome();
        self.report.finished = Some(rfc3339(SystemTime::now()));
        let id = self.report.id;
        // Without its record a finished job is run again, for which it needs
        // its files.
        if self.save()
            && let Err(error) = self.shared.folder.remove_files(id)
        {
            tracing::warn!(job = %id, error = in_full(&error), "an upload is left to the next start");
        }
        tracing::info!(
            job = %id, state = ?self.report.state, books = self.report.books.len(), "job finished"
        );
        self.shared.publish(&self.report);
    }

    fn put_back(&mut self) {
        self.report.progress = None;
        self.report.state = JobState::Waiting;
        self.save();
        tracing::info!(job = %self.report.id, "job stopped, to be taken up at the next start");
        self.shared.publish(&self.report);
    }

    /// Whether the record is on the disk. If not, no work is lost: the record
    /// before it has the job run again, which finds what is finished.
    fn save(&self) -> bool {
        let mut record = self.report.clone();
        record.progress = None;
        match self.shared.folder.save(&record) {
            Ok(()) => true,
            Err(error) => {
                let error = in_full(&error);
                tracing::error!(job = %record.id, error, "a job's record cannot be saved");
                false
            }
        }
    }
}

fn unreadable(file: usize, source: String, problem: Problem) -> BookStatus {
    BookStatus {
        file,
        source,
        book: None,
        title: None,
        outcome: BookOutcome::Failed,
        passages: None,
        tokens: None,
        problem: Some(problem),
    }
}

fn outcome_of(built: &Built) -> BookOutcome {
    match built.how {
        How::Fresh => BookOutcome::Indexed,
        How::Resumed => BookOutcome::Resumed,
        How::Found => BookOutcome::AlreadyIndexed,
    }
}

/// Passes on how a build gets on.
struct Following<'a> {
    shared: &'a Shared,
    id: JobId,
    /// When embedding began, and the tokens that were embedded by then.
    since: Mutex<(Instant, u64)>,
}

impl<'a> Following<'a> {
    fn new(shared: &'a Shared, id: JobId) -> Self {
        Self {
            shared,
            id,
            since: Mutex::new((Instant::now(), 0)),
        }
    }
}

impl Progress for Following<'_> {
    fn event(&self, event: BuildEvent) {
        let mut since = self
            .since
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        let (done, total) = match event {
            BuildEvent::Waiting => return,
            BuildEvent::Cut {
                tokens, resumed, ..
            } => {
                *since = (Instant::now(), resumed);
                (resumed, tokens)
            }
            BuildEvent::Embedded { done, total } => (done, total),
        };
        let rate = rate(
            done.saturating_sub(since.1),
            since.0.elapsed().as_secs_f64(),
        );
        self.shared.update(self.id, |report| {
            if let Some(progress) = &mut report.progress {
                progress.tokens_done = done;
                progress.tokens_total = total;
                progress.tokens_per_second = rate;
                progress.eta_seconds = rate.map(|rate| total.saturating_sub(done) as f64 / rate);
            }
        });
    }

    fn stopped(&self) -> bool {
        self.shared.is_stopping()
    }
}

/// Tokens a second; `None` until there is something to divide.
fn rate(tokens: u64, seconds: f64) -> Option<f64> {
    (tokens > 0 && seconds > 0.0).then(|| tokens as f64 / seconds)
}
