//! What goes wrong, as a client sees it: the one place where an error becomes
//! a status, a code and a remedy (RFC 9457). Nothing of the machine gets out:
//! causes and paths go to the log, under the request's id.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use quire_answer::AnswerError;
use quire_corpus::BookId;
use quire_engine::EngineError;
use quire_index::{LibraryError, LibraryName, StoreError};
use quire_indexer::jobs::JobError;
use quire_model::Stop;
use quire_traces::TraceError;

use crate::dialects::Dialect;
use crate::wire::ProblemDocument;

/// Declares every code once: its status, its title and what helps by default.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident $name:literal $status:literal $title:literal $remedy:literal;)*) => {
        /// What went wrong, by a name that stays.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            /// Its name, such as `queue_full`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// The status of an answer with it.
            pub fn status(self) -> u16 {
                match self { $(Self::$code => $status,)* }
            }

            pub(crate) fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)* }
            }

            pub(crate) fn remedy(self) -> &'static str {
                match self { $(Self::$code => $remedy,)* }
            }
        }
    };
}

codes! {
    /// The body is no JSON, or not of the shape asked for.
    BadJson "bad_json" 400 "The body is not the JSON this route takes" "Correct the body; /openapi.json has its shape.";
    /// The body is not UTF-8.
    NotUtf8 "not_utf8" 400 "The body is not UTF-8" "Send the body as UTF-8.";
    /// Something in the address or in a form is not of the shape asked for.
    BadRequest "bad_request" 400 "The request is not of the shape asked for" "Correct the request; /openapi.json has its shape.";
    /// Not a book's id, nor the beginning of one.
    BadId "bad_id" 400 "This is no id" "Give an id as another answer named it; of a book's id the first four or more hexadecimal digits are enough.";
    /// Not a name that a library can have.
    BadName "bad_name" 400 "This is no name of a library" "Use 1 to 64 letters and digits of any script, and - _ . after the first.";
    /// No key was shown, or none that is known.
    Unauthorized "unauthorized" 401 "A key is needed" "Send 'Authorization: Bearer KEY' with a key of this service.";
    /// The key does not allow it.
    Forbidden "forbidden" 403 "This key may not do that" "Use an admin key.";
    /// The request names another host than this machine.
    HostRefused "host_refused" 403 "The host name is not this machine's" "Without keys this service answers to loopback names alone: ask 127.0.0.1 or localhost, or set it up with keys.";
    /// Another site's page sent the request.
    OriginRefused "origin_refused" 403 "Another site's page may not use this service" "Without keys this service answers no other site's pages; set it up with keys.";
    /// There is no such route.
    NoRoute "no_route" 404 "There is nothing here" "See /docs for what there is.";
    /// There is no such book.
    UnknownBook "unknown_book" 404 "There is no such book" "See GET /v1/books for the books there are.";
    /// There is no such library.
    UnknownLibrary "unknown_library" 404 "There is no such library" "See GET /v1/libraries for the libraries there are.";
    /// There is no such passage.
    UnknownChunk "unknown_chunk" 404 "There is no such passage" "Use a passage id from a search; passages of a book are numbered from 0.";
    /// There is no such model.
    UnknownModel "unknown_model" 404 "There is no such model" "See GET /v1/models for the models there are.";
    /// There is no such job.
    UnknownJob "unknown_job" 404 "There is no such job" "See GET /v1/jobs for the jobs there are; finished jobs are forgotten after a while.";
    /// There is no such trace.
    UnknownTrace "unknown_trace" 404 "There is no such trace" "Use a trace id from a search; old traces are removed as the log goes on.";
    /// The route takes other methods.
    MethodNotAllowed "method_not_allowed" 405 "The method is not for this route" "Use a method that the Allow header lists.";
    /// The body did not arrive in time.
    BodyTimeout "body_timeout" 408 "The body did not arrive in time" "Send the body without pauses.";
    /// The beginning of an id fits several books.
    AmbiguousBook "ambiguous_book" 409 "Several books' ids begin so" "Give more digits.";
    /// Another process is at work on it.
    Busy "busy" 409 "The book is being indexed" "Wait until its indexing has ended, then try again.";
    /// The book's files are damaged.
    DamagedBook "damaged_book" 409 "The book's index is damaged" "Delete the book and index it again.";
    /// There is a library of that name.
    LibraryExists "library_exists" 409 "There is such a library already" "Add books to it with PUT /v1/libraries/{name}/books/{id}, or choose another name.";
    /// The library cannot be searched.
    DamagedLibrary "damaged_library" 409 "The library cannot be searched" "Index its books again, or delete the library and create it again; its books stay.";
    /// A library has the book.
    InLibrary "in_library" 409 "A library has the book" "Take the book out of the libraries named first, with DELETE /v1/libraries/{name}/books/{id}.";
    /// The body is too large.
    TooLarge "too_large" 413 "The body is too large" "Send less at once.";
    /// The body's kind is another.
    UnsupportedMediaType "unsupported_media_type" 415 "The body is of another kind" "Set Content-Type to a kind this route takes; /openapi.json lists them.";
    /// Nothing was asked.
    EmptyQuestion "empty_question" 422 "The question is empty" "Ask something.";
    /// The question is too long.
    QuestionTooLong "question_too_long" 422 "The question is too long" "Ask a shorter question.";
    /// A value is out of its range.
    OutOfRange "out_of_range" 422 "A value is out of range" "Choose a value in the range named.";
    /// A text is longer than a model reads.
    TextTooLong "text_too_long" 422 "A text is longer than the model reads" "Send shorter texts, or ask for them to be cut with 'truncate'.";
    /// There is no text to work on.
    NoText "no_text" 422 "There is no text" "Send at least one text, and none that is empty.";
    /// Another service's member that means something this one does not do.
    Unsupported "unsupported" 422 "This service does not do that" "Leave the member out; /openapi.json has what is taken.";
    /// Options that no question has.
    BadOptions "bad_options" 422 "The options are not usable" "Give 2 to 26 options, each with some text.";
    /// A language model is wanted, and none is set up.
    NoAnswerModel "no_answer_model" 422 "No language model is set up" "Leave out 'model', ask for \"extractive\", or have a language model set up.";
    /// Prompt and completion do not fit the answer model.
    PromptTooLong "prompt_too_long" 422 "The prompt is too long for the answer model" "Ask for less evidence with budgets.evidence_tokens.";
    /// There is no book to search.
    NoBooks "no_books" 422 "There is no book to search" "Add a book with POST /v1/books.";
    /// The library would have no book.
    EmptyLibrary "empty_library" 422 "A library has at least one book" "Name a book, or delete the library instead.";
    /// Too much waits already.
    QueueFull "queue_full" 429 "Too many requests are waiting" "Try again after the time in Retry-After.";
    /// The client went away.
    ClientGone "client_gone" 499 "The client went away" "Stay connected until the answer comes.";
    /// Something failed that the client did not cause.
    Internal "internal" 500 "Something failed inside" "Try again; if it stays so, give the request id to whoever runs this service.";
    /// A stage of the query failed.
    StageFailed "stage_failed" 500 "A stage of the query failed" "Try again; if it stays so, give the request id to whoever runs this service.";
    /// The answer model's server does not accept what is sent to it.
    AnswerModelMisconfigured "answer_model_misconfigured" 500 "The answer model is not set up rightly" "Give the request id to whoever runs this service: address, key or model name of the answer model are wrong.";
    /// The answer model's server cannot be reached.
    AnswerModelUnreachable "answer_model_unreachable" 502 "The answer model cannot be reached" "Try again later, or ask for the model \"extractive\".";
    /// The answer model's server fails.
    AnswerModelFailed "answer_model_failed" 502 "The answer model failed" "Try again later, or ask for the model \"extractive\".";
    /// The answer model would not answer.
    AnswerModelRefused "answer_model_refused" 502 "The answer model refused to answer" "Ask otherwise, or ask for the model \"extractive\".";
    /// What the answer model gave is no answer.
    AnswerNotUsable "answer_not_usable" 502 "The answer model gave no usable answer" "Ask again, or have a model set up that follows the prompt; the trace has what it gave.";
    /// The answer model's server has too much to do.
    AnswerModelBusy "answer_model_busy" 503 "The answer model is busy" "Try again after the time in Retry-After.";
    /// The service is stopping.
    Draining "draining" 503 "The service is stopping" "Ask again after the time in Retry-After.";
    /// The service is starting.
    NotReady "not_ready" 503 "The service is starting" "Ask again after the time in Retry-After; /readyz says when.";
    /// Too many are connected.
    TooManyConnections "too_many_connections" 503 "Too many clients are connected" "Use fewer connections, or try again after the time in Retry-After.";
    /// The disk took no more.
    StorageRefused "storage_refused" 503 "The disk does not take it" "Try again later; if it stays so, whoever runs this service must make room.";
    /// What was asked for is switched off.
    SwitchedOff "switched_off" 404 "This is switched off here" "Ask whoever runs this service to switch it on.";
    /// The answer model took too long.
    AnswerModelTimeout "answer_model_timeout" 504 "The answer model took too long" "Try again later, or ask for the model \"extractive\".";
    /// The query's time was up.
    Timeout "timeout" 504 "The time for this request was up" "Allow more with timeout_ms, ask for less, or try again later.";
}

/// An error as a client sees it, and for the log what lies behind it.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    detail: String,
    retry_after: Option<u64>,
    close: bool,
    cause: Option<String>,
    member: Option<&'static str>,
}

impl Problem {
    /// A problem of that code; `detail` says what is wrong with this request.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            retry_after: matches!(code.status(), 429 | 503).then_some(1),
            close: false,
            cause: None,
            member: None,
        }
    }

    /// The same, to be tried again after that time; at least a second.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait.as_secs_f64().ceil().max(1.0) as u64);
        self
    }

    /// The same, after which nothing more is read from the connection.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// The same, about that member of the request's body.
    #[must_use]
    pub(crate) fn about(mut self, member: &'static str) -> Self {
        self.member = Some(member);
        self
    }

    /// The same, with what lies behind it, for the log alone.
    #[must_use]
    pub fn because(mut self, cause: &(dyn Error + 'static)) -> Self {
        self.cause = Some(chain(cause));
        self
    }

    /// A failure that is not the client's, of which it learns nothing.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(Code::Internal, "The request could not be carried out.")
        }
    }

    /// What went wrong.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The member of the request's body that it is about, if it is known.
    pub(crate) fn member(&self) -> Option<&'static str> {
        self.member
    }

    /// What the client is told, under the request's id; what lies behind it is
    /// logged.
    pub(crate) fn told(&self, request_id: &str) -> ProblemDocument {
        if let Some(cause) = &self.cause {
            tracing::error!(request_id, code = self.code.name(), cause, "request failed");
        }
        ProblemDocument {
            kind: format!("/problems/{}", self.code.name()),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            detail: self.detail.clone(),
            code: self.code.name().to_owned(),
            remedy: self.code.remedy().to_owned(),
            request_id: request_id.to_owned(),
        }
    }

    /// The answer, under the request's id.
    pub fn response(self, request_id: &str) -> Response {
        self.response_in(Dialect::Quire, request_id)
    }

    /// The same in the words of another API.
    fn response_in(self, dialect: Dialect, request_id: &str) -> Response {
        let told = dialect.tell(&self, request_id);
        let mut response = Response::new(Body::from(told.body));
        *response.status_mut() =
            StatusCode::from_u16(told.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(told.media_type);
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthorized {
            let scheme = HeaderValue::from_static("Bearer realm=\"quire\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(self.code);
        response
    }
}

/// Inside the service a problem travels in an empty answer's extensions, until
/// the outermost layer, which knows the request's id, writes it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response
            .extensions_mut()
            .insert(Carried(std::sync::Arc::new(std::sync::Mutex::new(Some(
                self,
            )))));
        response
    }
}

/// A problem on its way out. Extensions must be cloneable, a problem is not.
#[derive(Clone)]
struct Carried(std::sync::Arc<std::sync::Mutex<Option<Problem>>>);

/// The answer as the client gets it: a problem in it is written out, in the
/// words of the API that it speaks.
pub(crate) fn written(mut response: Response, dialect: Dialect, request_id: &str) -> Response {
    let problem = match response.extensions_mut().remove::<Carried>() {
        Some(Carried(carried)) => carried
            .lock()
            .ok()
            .and_then(|mut carried| carried.take())
            .unwrap_or_else(|| Problem::internal("a problem was written twice")),
        // The router's own words, as for an address that is not UTF-8.
        None if response.status() == StatusCode::BAD_REQUEST => {
            Problem::new(Code::BadRequest, "The address cannot be read.")
        }
        None => return response,
    };
    let mut written = problem.response_in(dialect, request_id);
    // What the router adds, such as Allow.
    for (name, value) in response.headers() {
        if name != header::CONTENT_LENGTH && name != header::CONTENT_TYPE {
            written
                .headers_mut()
                .entry(name)
                .or_insert_with(|| value.clone());
        }
    }
    written
}

/// A stage of a query was not run to its end, and nothing is wrong with it.
pub(crate) fn stopped(stage: &str, stop: Stop) -> Problem {
    match stop {
        Stop::QueueFull => Problem::new(
            Code::QueueFull,
            format!("Too much waits for the model of the {stage} stage."),
        ),
        Stop::DeadlinePassed => Problem::new(
            Code::Timeout,
            format!("The time was up before the {stage} stage had ended."),
        ),
        Stop::Cancelled => Problem::new(Code::ClientGone, "The client went away."),
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let error = match error {
            EngineError::Library(error) => return error.into(),
            EngineError::Store(error) => return error.into(),
            error => error,
        };
        match &error {
            EngineError::EmptyQuestion => Self::new(Code::EmptyQuestion, "The question is empty."),
            EngineError::Budget(budget) => Self::new(Code::OutOfRange, sentence(budget)),
            EngineError::Stopped { stage, stop } => stopped(&stage.to_string(), *stop),
            EngineError::Stage { stage, .. } => {
                Self::new(Code::StageFailed, format!("The {stage} stage failed.")).because(&error)
            }
            EngineError::NoBooks => Self::new(Code::NoBooks, "There is no book to search."),
            EngineError::NotIndexed { book, .. } => unknown_book(&book.to_string()),
            EngineError::NotInLibrary { name, book } => Self::new(
                Code::UnknownBook,
                format!("Book {book} is not in the library {name}."),
            ),
            EngineError::NoPassage(chunk) => {
                Self::new(Code::UnknownChunk, format!("There is no passage {chunk}."))
            }
            _ => Self::new(Code::Internal, "The request could not be carried out.").because(&error),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Busy { .. } => Self::new(Code::Busy, "The book is being indexed just now."),
            StoreError::InLibrary { libraries, .. } => {
                let names: Vec<&str> = libraries.iter().map(LibraryName::as_str).collect();
                let detail = format!("The book is in these libraries: {}.", names.join(", "));
                Self::new(Code::InLibrary, detail)
            }
            StoreError::Unknown { prefix } => unknown_book(prefix),
            _ => Self::new(Code::StorageRefused, "The disk refused the change.").because(&error),
        }
    }
}

impl From<LibraryError> for Problem {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Unknown(name) => {
                Self::new(Code::UnknownLibrary, format!("There is no library {name}."))
            }
            LibraryError::Exists(name) => Self::new(
                Code::LibraryExists,
                format!("There is a library {name} already."),
            ),
            LibraryError::Empty(name) => Self::new(
                Code::EmptyLibrary,
                format!("The library {name} would have no book."),
            ),
            LibraryError::Damaged { ref name, .. } => {
                let detail = format!("The library {name} cannot be searched: its file is damaged.");
                Self::new(Code::DamagedLibrary, detail).because(&error)
            }
            LibraryError::Store(error) => error.into(),
            LibraryError::Io(_) => {
                Self::new(Code::StorageRefused, "The disk refused the change.").because(&error)
            }
        }
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        match &error {
            JobError::TooLarge { .. } | JobError::FileTooLarge { .. } => {
                Self::new(Code::TooLarge, sentence(&error)).closing()
            }
            JobError::TooManyFiles { .. } => {
                Self::new(Code::BadRequest, sentence(&error)).closing()
            }
            JobError::NoFile => Self::new(Code::BadRequest, "The upload holds no file."),
            JobError::QueueFull { waiting } => {
                let detail = format!("{waiting} uploads wait already, as many as may.");
                Self::new(Code::QueueFull, detail)
                    .retry_after(Duration::from_secs(30))
                    .closing()
            }
            JobError::Stopping => Self::new(Code::Draining, "No more uploads are taken.").closing(),
            JobError::NoFileBegun | JobError::InUse { .. } | JobError::Serialize(_) => {
                Self::new(Code::Internal, "The upload could not be taken.").because(&error)
            }
            JobError::Io(_) => {
                let detail = if error.is_disk_full() {
                    "There is no room left on the disk for the upload."
                } else {
                    "The disk refused the upload."
                };
                Self::new(Code::StorageRefused, detail)
                    .because(&error)
                    .closing()
            }
        }
    }
}

/// The server's name stays inside: it is in the cause, for the log.
impl From<&AnswerError> for Problem {
    fn from(error: &AnswerError) -> Self {
        if let Some(stop) = error.stop() {
            return stopped("answer", stop);
        }
        let (code, detail) = match error {
            AnswerError::BadRequest { rule } => {
                return Self::new(Code::BadRequest, format!("The question: {rule}."));
            }
            AnswerError::Unauthorized { .. } => (
                Code::AnswerModelMisconfigured,
                "Its server does not accept the service's key.",
            ),
            AnswerError::ModelNotFound { .. } => (
                Code::AnswerModelMisconfigured,
                "Its server does not serve the model.",
            ),
            AnswerError::Rejected { .. } => (
                Code::AnswerModelMisconfigured,
                "Its server does not accept the request.",
            ),
            AnswerError::Tls { .. } => (
                Code::AnswerModelMisconfigured,
                "There is no trusted connection to its server.",
            ),
            AnswerError::ContextTooLong { .. } => (
                Code::PromptTooLong,
                "Prompt and completion do not fit the answer model.",
            ),
            AnswerError::RateLimited { .. } => (
                Code::AnswerModelBusy,
                "Its server limits the rate of requests.",
            ),
            AnswerError::Unreachable { .. } => (
                Code::AnswerModelUnreachable,
                "There was no connection to its server, or it broke.",
            ),
            AnswerError::Timeout { .. } => (
                Code::AnswerModelTimeout,
                "Its server gave no whole answer in time.",
            ),
            AnswerError::Refused { .. } => {
                (Code::AnswerModelRefused, "The model would not answer.")
            }
            AnswerError::Empty { .. } => (
                Code::AnswerNotUsable,
                "The completion holds no answer text.",
            ),
            AnswerError::NotAChoice { .. } => (
                Code::AnswerNotUsable,
                "The completion is not one option's letter.",
            ),
            AnswerError::Reader(_) => (Code::StageFailed, "The answer stage failed."),
            _ => (
                Code::AnswerModelFailed,
                "Its server failed, or is no chat completions server.",
            ),
        };
        let problem = Self::new(code, detail).because(error);
        match error.retry_after() {
            Some(wait) => problem.retry_after(wait),
            None => problem,
        }
    }
}

impl From<TraceError> for Problem {
    fn from(error: TraceError) -> Self {
        Self::new(Code::Internal, "The trace could not be read.").because(&error)
    }
}

/// There is no book of that id, or whose id begins so.
pub(crate) fn unknown_book(given: &str) -> Problem {
    Problem::new(
        Code::UnknownBook,
        format!("No book's id is or begins with {given}."),
    )
}

/// The beginning of an id that fits several books, with the first of them.
pub(crate) fn ambiguous_book(prefix: &str, candidates: &[BookId]) -> Problem {
    const NAMED: usize = 20;
    let named: Vec<String> = candidates
        .iter()
        .take(NAMED)
        .map(BookId::to_string)
        .collect();
    let more = match candidates.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let detail = format!("{prefix} begins the ids {}{more}.", named.join(", "));
    Problem::new(Code::AmbiguousBook, detail)
}

fn sentence(error: &dyn Error) -> String {
    let said = error.to_string();
    let mut letters = said.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => said,
    }
}

/// An error and its causes, for the log.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        said += &format!(": {next}");
        cause = next.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use quire_engine::StageName;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_its_own_name_and_an_error_status() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{code:?}");
            assert!(
                code.title().len() > 5 && code.remedy().ends_with('.'),
                "{code:?}"
            );
        }
    }

    #[test]
    fn the_cause_of_a_failed_stage_stays_inside() {
        let error = EngineError::Stage {
            stage: StageName::Dense,
            source: "/secret/place is gone".into(),
        };
        let problem = Problem::from(error);
        assert_eq!(problem.code(), Code::StageFailed);
        assert_eq!(problem.detail, "The dense stage failed.");
        assert!(problem.cause.unwrap().contains("/secret/place"));
    }

    #[test]
    fn a_stop_is_no_failure() {
        for (stop, code) in [
            (Stop::QueueFull, Code::QueueFull),
            (Stop::DeadlinePassed, Code::Timeout),
            (Stop::Cancelled, Code::ClientGone),
        ] {
            let stage = StageName::Rerank;
            assert_eq!(
                Problem::from(EngineError::Stopped { stage, stop }).code(),
                code
            );
        }
    }

    #[test]
    fn a_wait_is_whole_seconds_and_never_none() {
        let wait = |millis| {
            Problem::new(Code::QueueFull, "")
                .retry_after(Duration::from_millis(millis))
                .retry_after
        };
        assert_eq!(
            [wait(0), wait(1), wait(1000), wait(1001)],
            [1, 1, 1, 2].map(Some)
        );
    }
}
