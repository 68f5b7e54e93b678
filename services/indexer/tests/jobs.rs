//! Jobs with a model made of arithmetic, which counts what it embeds and can
//! be held at any text.

#![allow(clippy::unwrap_used)] // A test may.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use quire_corpus::{BookId, ReadOptions};
use quire_engine::{CutSettings, ModelSource, Models, recipe};
use quire_index::Store;
use quire_indexer::jobs::{
    BookOutcome, JobError, JobHooks, JobId, JobOptions, JobParts, JobQueue, JobReport, JobState,
};
use quire_model::{
    Call, Embedder, EmbedderInfo, Embedding, ModelError, Pooling, RerankMethod, RerankScore,
    Reranker, RerankerInfo, Role, Tokenizer, Weights,
};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// How many texts may be embedded, and how many were.
#[derive(Default)]
struct Gate {
    counts: Mutex<(usize, usize)>,
    moved: Condvar,
}

impl Gate {
    /// Lets that many texts pass in all.
    fn open_for(&self, texts: usize) {
        self.counts.lock().unwrap().0 = texts;
        self.moved.notify_all();
    }

    fn pass(&self) {
        let counts = self.counts.lock().unwrap();
        let mut counts = self.moved.wait_while(counts, |c| c.1 >= c.0).unwrap();
        counts.1 += 1;
        self.moved.notify_all();
    }

    fn passed(&self) -> usize {
        self.counts.lock().unwrap().1
    }

    /// Waits until all that were let through have passed.
    fn wait_until_closed(&self) {
        let counts = self.counts.lock().unwrap();
        let (_counts, waited) = self
            .moved
            .wait_timeout_while(counts, PATIENCE, |c| c.1 < c.0)
            .unwrap();
        assert!(!waited.timed_out());
    }
}

struct Fake {
    embedder: EmbedderInfo,
    reranker: RerankerInfo,
    gate: Arc<Gate>,
}

impl Embedder for Fake {
    fn info(&self) -> &EmbedderInfo {
        &self.embedder
    }

    fn embed(&self, texts: &[&str], _: Role, _: &Call) -> Result<Vec<Embedding>, ModelError> {
        let embed = |text: &&str| {
            assert!(!text.contains("panic"), "it was told to panic");
            if text.contains("refuse") {
                return Err(ModelError::new("fake", "/secret/models/fake.onnx is gone"));
            }
            self.gate.pass();
            Ok(Embedding {
                vector: vec![0.6, 0.8],
                tokens: 3,
                truncated: false,
            })
        };
        texts.iter().map(embed).collect()
    }

    /// A text at a time, so that a stop comes between any two.
    fn embed_each(
        &self,
        texts: &[&str],
        role: Role,
        call: &Call,
        done: &mut dyn FnMut(Vec<(usize, Embedding)>) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        for (at, text) in texts.iter().enumerate() {
            let embedded = self.embed(&[text], role, call)?;
            if done((at..).zip(embedded).collect()).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Reranker for Fake {
    fn info(&self) -> &RerankerInfo {
        &self.reranker
    }

    fn rerank(&self, _: &str, _: &[&str], _: &Call) -> Result<Vec<RerankScore>, ModelError> {
        unreachable!("indexing scores nothing")
    }
}

/// One token a word.
struct Words;

impl Tokenizer for Words {
    fn token_ends(&self, text: &str) -> Result<Vec<usize>, ModelError> {
        let start = text.as_ptr() as usize;
        let end = |word: &str| word.as_ptr() as usize - start + word.len();
        Ok(text.split_whitespace().map(end).collect())
    }
}

struct Source(Models);

impl ModelSource for Source {
    fn models(&self) -> Result<Models, ModelError> {
        Ok(self.0.clone())
    }
}

fn models(gate: &Arc<Gate>) -> Models {
    let fake = Arc::new(Fake {
        embedder: EmbedderInfo {
            name: "fake".to_owned(),
            revision: "1".to_owned(),
            digest: "0".repeat(64),
            precision: "fp32".to_owned(),
            pooling: Pooling::Mean,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            dims: 2,
            max_tokens: 64,
        },
        reranker: RerankerInfo {
            name: "fake".to_owned(),
            revision: "1".to_owned(),
            digest: "1".repeat(64),
            precision: "fp32".to_owned(),
            method: RerankMethod::CrossEncoder,
            max_tokens: 64,
        },
        gate: Arc::clone(gate),
    });
    Models {
        embedder: Arc::clone(&fake) as Arc<dyn Embedder>,
        tokenizer: Arc::new(Words),
        reranker: fake,
        weights: Weights::of(RerankMethod::CrossEncoder),
        device: "none".to_owned(),
    }
}

/// A gate that holds nothing back.
fn no_gate() -> Arc<Gate> {
    let gate = Arc::new(Gate::default());
    gate.open_for(usize::MAX);
    gate
}

fn start_with(
    data: &Path,
    gate: &Arc<Gate>,
    options: JobOptions,
    hooks: JobHooks,
) -> Result<JobQueue, JobError> {
    let models = models(gate);
    let cut = CutSettings {
        max_tokens: 16,
        keep_boilerplate: false,
    };
    let parts = JobParts {
        store: Store::open(data).unwrap(),
        recipe: recipe(&cut, models.embedder.info(), "tokenizer").unwrap(),
        read: ReadOptions::default(),
        models: Arc::new(Source(models)),
    };
    JobQueue::start(parts, options, hooks)
}

fn start(data: &Path, gate: &Arc<Gate>) -> JobQueue {
    start_with(data, gate, JobOptions::default(), JobHooks::default()).unwrap()
}

fn upload(queue: &JobQueue, files: &[(&str, &[u8])]) -> JobReport {
    let mut receiving = queue.receive().unwrap();
    for (name, bytes) in files {
        receiving.add_file(name).unwrap();
        for part in bytes.chunks(100) {
            receiving.write(part).unwrap();
        }
    }
    receiving.commit().unwrap()
}

/// What is known of a job when it is finished.
fn finished(queue: &JobQueue, id: JobId) -> JobReport {
    let mut report = queue.get(id).unwrap();
    while !report.state.is_finished() {
        let next = queue.wait_change(id, report.version, PATIENCE).unwrap();
        assert_ne!(next.version, report.version, "{report:?}");
        report = next;
    }
    report
}

/// Sentences of nine words, each about another room: as many passages.
fn rooms(colour: &str, count: usize) -> String {
    (0..count)
        .map(|room| format!("In room{room} of the house stood a {colour} lamp. "))
        .collect()
}

fn outcomes(report: &JobReport) -> Vec<BookOutcome> {
    report.books.iter().map(|book| book.outcome).collect()
}

/// What a kill at this moment would leave on the disk.
fn snapshot(data: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                // Another stage may be at work on files of its own.
                match fs::copy(entry.path(), target) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    copied => drop(copied.unwrap()),
                }
            }
        }
    }
    let copied = TempDir::new().unwrap();
    copy(data, copied.path());
    copied
}

fn job_folder(data: &Path, id: JobId) -> std::path::PathBuf {
    data.join("jobs").join(id.to_string())
}

#[test]
fn a_job_whose_files_are_not_all_books_is_done_partly_and_says_what_failed() {
    let data = TempDir::new().unwrap();
    let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let [books, jobs] = [Arc::clone(&seen), Arc::clone(&seen)];
    let hooks = JobHooks {
        indexed: Box::new(move |book| books.lock().unwrap().0.push(book)),
        finished: Box::new(move |job| jobs.lock().unwrap().1.push(job.state)),
    };
    let queue = start_with(data.path(), &no_gate(), JobOptions::default(), hooks).unwrap();
    let green = rooms("green", 12);
    let job = upload(
        &queue,
        &[
            ("../../green.txt", green.as_bytes()),
            ("broken.epub", b"PK\x03\x04 no archive"),
            ("again.txt", green.as_bytes()),
        ],
    );
    assert_eq!(job.state, JobState::Waiting);
    let report = finished(&queue, job.id);
    assert_eq!(report.state, JobState::Partly);
    assert_eq!(
        outcomes(&report),
        [
            BookOutcome::Indexed,
            BookOutcome::Failed,
            BookOutcome::SameText
        ]
    );
    let [first, second, third] = &report.books[..] else {
        panic!("{report:?}")
    };
    assert_eq!(
        (first.source.as_str(), first.passages),
        ("green.txt", Some(12))
    );
    assert_eq!(first.book, Some(BookId::of_text(&green)));
    assert_eq!((third.book, third.tokens), (first.book, first.tokens));
    let problem = second.problem.as_ref().unwrap();
    assert!(
        problem
            .error
            .starts_with("broken.epub is not a readable EPUB"),
        "{problem:?}"
    );
    assert_eq!((second.file, second.book), (1, None));
    assert!(report.started.is_some() && report.finished.is_some() && report.progress.is_none());

    queue.stop();
    let (books, jobs) = &*seen.lock().unwrap();
    assert_eq!(
        books.iter().copied().map(Some).collect::<Vec<_>>(),
        [first.book]
    );
    assert_eq!(*jobs, [JobState::Partly]);
    // What was uploaded is gone; the record stays, also for the next start.
    let names: Vec<_> = fs::read_dir(job_folder(data.path(), job.id))
        .unwrap()
        .collect();
    assert_eq!(names.len(), 1);
    drop(queue);
    let mut again = start(data.path(), &no_gate()).get(job.id).unwrap();
    again.version = report.version;
    assert_eq!(again, report);
}

#[test]
fn what_is_indexed_already_is_found_and_embedded_no_second_time() {
    let data = TempDir::new().unwrap();
    let gate = no_gate();
    let queue = start(data.path(), &gate);
    let text = rooms("green", 12);
    let first = upload(&queue, &[("a.txt", text.as_bytes())]);
    let second = upload(&queue, &[("b.txt", text.as_bytes())]);
    assert!(first.id < second.id);
    assert_eq!(
        outcomes(&finished(&queue, first.id)),
        [BookOutcome::Indexed]
    );
    let report = finished(&queue, second.id);
    assert_eq!(outcomes(&report), [BookOutcome::AlreadyIndexed]);
    assert_eq!((report.state, gate.passed()), (JobState::Done, 12));
    assert_eq!(queue.list().len(), 2);
}

#[test]
fn a_job_that_runs_says_how_far_it_is() {
    let data = TempDir::new().unwrap();
    let gate = Arc::new(Gate::default());
    let queue = start(data.path(), &gate);
    let text = rooms("green", 12);
    let job = upload(
        &queue,
        &[("a.txt", text.as_bytes()), ("b.txt", b"another book")],
    );
    gate.open_for(5);
    gate.wait_until_closed();
    let mut report = queue.get(job.id).unwrap();
    let tokens = |report: &JobReport| report.progress.as_ref().map_or(0, |p| p.tokens_done);
    while tokens(&report) < 5 * 9 {
        report = queue.wait_change(job.id, report.version, PATIENCE).unwrap();
    }
    let progress = report.progress.unwrap();
    assert_eq!(
        (report.state, progress.source.as_deref()),
        (JobState::Running, Some("a.txt"))
    );
    assert_eq!((progress.books_done, progress.books_known), (0, 2));
    assert_eq!(
        (progress.tokens_done, progress.tokens_total),
        (5 * 9, 12 * 9)
    );
    let rate = progress.tokens_per_second.unwrap();
    assert!(rate > 0.0 && progress.eta_seconds.unwrap() > 0.0);
    // Nothing changes until a text is let through.
    let same = queue
        .wait_change(job.id, report.version, Duration::from_millis(20))
        .unwrap();
    assert_eq!(same.version, report.version);
    gate.open_for(usize::MAX);
    assert_eq!(finished(&queue, job.id).state, JobState::Done);
}

#[test]
fn a_stopped_queue_keeps_its_jobs_and_the_next_one_embeds_only_what_is_missing() {
    let data = TempDir::new().unwrap();
    let gate = Arc::new(Gate::default());
    let queue = start(data.path(), &gate);
    let (green, red) = (rooms("green", 40), rooms("red", 10));
    let first = upload(&queue, &[("green.txt", green.as_bytes())]);
    let second = upload(&queue, &[("red.txt", red.as_bytes())]);
    gate.open_for(15);
    gate.wait_until_closed();
    std::thread::scope(|threads| {
        threads.spawn(|| queue.stop());
        while queue.receive().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The batch that is being embedded is finished.
        gate.open_for(usize::MAX);
    });
    let embedded = gate.passed();
    assert!((15..40).contains(&embedded), "{embedded}");
    assert_eq!(queue.get(first.id).unwrap().state, JobState::Waiting);
    assert!(matches!(queue.receive(), Err(JobError::Stopping)));
    drop(queue);

    let gate = no_gate();
    let queue = start(data.path(), &gate);
    assert_eq!(
        outcomes(&finished(&queue, first.id)),
        [BookOutcome::Resumed]
    );
    assert_eq!(
        outcomes(&finished(&queue, second.id)),
        [BookOutcome::Indexed]
    );
    assert_eq!(gate.passed(), 40 - embedded + 10);
}

#[test]
fn a_kill_loses_no_job_and_no_finished_batch() {
    let data = TempDir::new().unwrap();
    let gate = Arc::new(Gate::default());
    let queue = start(data.path(), &gate);
    let (green, red) = (rooms("green", 10), rooms("red", 20));
    let files = [("green.txt", green.as_bytes()), ("red.txt", red.as_bytes())];
    let job = upload(&queue, &files);
    let waiting = upload(&queue, &[("blue.txt", b"A blue lamp.")]);
    let mut never = queue.receive().unwrap();
    never.add_file("half.txt").unwrap();
    never.write(b"half a bo").unwrap();
    gate.open_for(18);
    gate.wait_until_closed();
    // The eighteenth is at the gate's other side, but maybe not logged yet.
    let mut report = queue.get(job.id).unwrap();
    while report.progress.as_ref().map_or(0, |p| p.tokens_done) < 8 * 9 {
        report = queue.wait_change(job.id, report.version, PATIENCE).unwrap();
    }
    let killed = snapshot(data.path());
    gate.open_for(usize::MAX);
    drop(never);
    drop(queue);

    let gate = no_gate();
    let queue = start(killed.path(), &gate);
    let report = finished(&queue, job.id);
    // The first book's outcome is the one it had before the kill.
    assert_eq!(
        outcomes(&report),
        [BookOutcome::Indexed, BookOutcome::Resumed]
    );
    assert_eq!(finished(&queue, waiting.id).state, JobState::Done);
    assert_eq!(gate.passed(), 12 + 1);
    assert_eq!(queue.list().len(), 2);
    queue.stop();
    let left: Vec<_> = fs::read_dir(killed.path().join("jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("receiving"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_upload_that_is_not_committed_leaves_nothing() {
    let data = TempDir::new().unwrap();
    let queue = start(data.path(), &no_gate());
    let mut receiving = queue.receive().unwrap();
    assert!(matches!(receiving.write(b"x"), Err(JobError::NoFileBegun)));
    receiving.add_file("a.txt").unwrap();
    receiving.write(b"half").unwrap();
    drop(receiving);
    assert!(matches!(
        queue.receive().unwrap().commit(),
        Err(JobError::NoFile)
    ));
    assert!(queue.list().is_empty());
    let names: Vec<_> = fs::read_dir(data.path().join("jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["lock"]);
}

#[test]
fn uploads_are_bounded_in_bytes_files_and_number() {
    let data = TempDir::new().unwrap();
    let gate = Arc::new(Gate::default());
    let options = JobOptions {
        max_job_bytes: 1000,
        max_files: 2,
        max_waiting: 2,
        ..JobOptions::default()
    };
    let queue = start_with(data.path(), &gate, options, JobHooks::default()).unwrap();
    let mut receiving = queue.receive().unwrap();
    receiving.add_file("a.txt").unwrap();
    receiving.write(&[b'a'; 600]).unwrap();
    receiving.add_file("b.txt").unwrap();
    let refused = receiving.write(&[b'a'; 401]).unwrap_err();
    assert!(matches!(refused, JobError::TooLarge { most: 1000 }));
    receiving.write(&[b'a'; 400]).unwrap();
    let refused = receiving.add_file("c.txt").unwrap_err();
    assert!(matches!(refused, JobError::TooManyFiles { most: 2 }));

    // One is being received, so one more may be.
    let second = queue.receive().unwrap();
    assert!(matches!(
        queue.receive(),
        Err(JobError::QueueFull { waiting: 2 })
    ));
    drop(second);
    let job = receiving.commit().unwrap();
    let running = |report: &JobReport| report.state == JobState::Running;
    let mut report = queue.get(job.id).unwrap();
    while !running(&report) {
        report = queue.wait_change(job.id, report.version, PATIENCE).unwrap();
    }
    // The one that runs takes no place.
    for name in ["c.txt", "d.txt"] {
        upload(&queue, &[(name, b"A lamp.")]);
    }
    assert_eq!(queue.waiting(), 2);
    assert!(matches!(
        queue.receive(),
        Err(JobError::QueueFull { waiting: 2 })
    ));
    gate.open_for(usize::MAX);
    finished(&queue, queue.list()[2].id);
    assert!(queue.receive().is_ok());
}

#[test]
fn a_failed_book_says_why_without_a_path_of_the_server_and_the_next_job_runs() {
    let data = TempDir::new().unwrap();
    let queue = start(data.path(), &no_gate());
    let refused = upload(&queue, &[("a.txt", b"Please refuse this.")]);
    let defect = upload(&queue, &[("a.txt", b"Please panic now.")]);
    let good = upload(&queue, &[("a.txt", b"A lamp.")]);
    let report = finished(&queue, refused.id);
    assert_eq!(report.state, JobState::Failed);
    let problem = report.books[0].problem.as_ref().unwrap();
    assert_eq!(
        problem.error,
        "the passage embedding stage failed: the model fake failed: fake.onnx is gone"
    );
    let report = finished(&queue, defect.id);
    assert_eq!((report.state, report.books.len()), (JobState::Failed, 0));
    assert!(report.problem.unwrap().error.contains("defect"));
    assert_eq!(finished(&queue, good.id).state, JobState::Done);
}

#[test]
fn a_store_that_cannot_be_written_fails_the_book_by_the_servers_fault() {
    let data = TempDir::new().unwrap();
    // Where the artifact is built lies a file.
    fs::write(data.path().join("staging"), "").unwrap();
    let queue = start(data.path(), &no_gate());
    let job = upload(&queue, &[("a.txt", b"A lamp.")]);
    let report = finished(&queue, job.id);
    let problem = report.books[0].problem.as_ref().unwrap();
    assert!(problem.remedy.contains("not at fault"), "{problem:?}");
    let root = data.path().display().to_string();
    assert!(!format!("{report:?}").contains(&root), "{report:?}");
}

#[test]
fn a_damaged_record_is_a_failed_job_that_says_so() {
    let data = TempDir::new().unwrap();
    let queue = start(data.path(), &no_gate());
    let jobs: Vec<_> = ["A lamp.", "A chair.", "A door."]
        .iter()
        .map(|text| upload(&queue, &[("a.txt", text.as_bytes())]))
        .collect();
    finished(&queue, jobs[2].id);
    drop(queue);
    let record = |at: usize| job_folder(data.path(), jobs[at].id).join("job.json");
    fs::write(record(0), b"{\"id\":").unwrap();
    fs::copy(record(2), record(1)).unwrap();
    let queue = start(data.path(), &no_gate());
    for job in &jobs[..2] {
        let report = queue.get(job.id).unwrap();
        assert_eq!(report.state, JobState::Failed);
        assert!(
            report
                .problem
                .unwrap()
                .error
                .contains("record of this job is damaged")
        );
    }
    assert_eq!(queue.get(jobs[2].id).unwrap().state, JobState::Done);
    assert_eq!(
        finished(&queue, upload(&queue, &[("b.txt", b"x")]).id).state,
        JobState::Done
    );
}

#[test]
fn an_uploaded_file_that_changed_on_the_disk_is_not_indexed() {
    let data = TempDir::new().unwrap();
    let gate = Arc::new(Gate::default());
    let queue = start(data.path(), &gate);
    upload(&queue, &[("first.txt", b"A lamp.")]);
    let job = upload(&queue, &[("a.txt", b"A chair.")]);
    let file = job_folder(data.path(), job.id).join("files/0");
    fs::write(&file, b"A cha").unwrap();
    gate.open_for(usize::MAX);
    let report = finished(&queue, job.id);
    let problem = report.books[0].problem.as_ref().unwrap();
    assert!(
        problem.error.contains("not as long as it was"),
        "{problem:?}"
    );
    assert_eq!(report.state, JobState::Failed);
}

#[test]
fn the_oldest_finished_jobs_are_forgotten() {
    let data = TempDir::new().unwrap();
    let options = || JobOptions {
        keep: 2,
        ..JobOptions::default()
    };
    let queue = start_with(data.path(), &no_gate(), options(), JobHooks::default()).unwrap();
    let jobs: Vec<_> = (0..5)
        .map(|at| upload(&queue, &[("a.txt", format!("Lamp {at}.").as_bytes())]))
        .collect();
    finished(&queue, jobs[4].id);
    queue.stop();
    let ids = |queue: &JobQueue| queue.list().iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(ids(&queue), [jobs[3].id, jobs[4].id]);
    drop(queue);
    assert!(!job_folder(data.path(), jobs[0].id).exists());
    let options = JobOptions {
        keep: 1,
        ..options()
    };
    let queue = start_with(data.path(), &no_gate(), options, JobHooks::default()).unwrap();
    assert_eq!(ids(&queue), [jobs[4].id]);
}

#[test]
fn one_process_at_a_time_runs_the_jobs_of_a_folder() {
    let data = TempDir::new().unwrap();
    let queue = start(data.path(), &no_gate());
    let second = start_with(
        data.path(),
        &no_gate(),
        JobOptions::default(),
        JobHooks::default(),
    );
    assert!(matches!(second, Err(JobError::InUse { .. })));
    drop(queue);
    start(data.path(), &no_gate());
}
