//! Joins the indexes and the models: building a book's artifact, searching, and
//! answering.
//!
//! The only crate that knows both sides. Which models run is decided by the
//! caller; here they are traits.

mod answer;
mod blend;
mod budgets;
mod build;
mod dense;
mod error;
mod evidence;
mod library;
mod models;
mod named;
mod recipe;
mod search;
mod shares;
mod trace;
mod verify;
mod view;

pub use answer::{
    AnswerTrace, Answered, Answerer, CostRecord, Evidence, EvidenceItem, EvidenceRecord,
    ItemPassage, ItemRecord, LeftOut, LeftOutReason, Listener, ModelRecord, Order, OutcomeRecord,
    PromptError, PromptRecord, Prompts, Question, Template, Unheard, answer_found, answer_within,
};
pub use budgets::{BudgetError, Budgets};
pub use build::{BuildEvent, Built, How, Progress, Silent, build, build_given};
pub use error::{EngineError, StageName};
pub use models::{ModelSource, Models};
pub use named::{EditedLibrary, LibraryEdit, edit_library};
pub use quire_bm25::Highlighter;
pub use recipe::{CutSettings, RecipeError, given_passages, recipe};
pub use search::{Search, SearchHit, search, search_within};
pub use shares::{BookShares, Share, Shares};
pub use trace::{
    EvidenceStage, Fingerprint, Place, Ranked, RerankStage, Scored, Stage, Timing, Trace,
};
pub use verify::verify;
pub use view::{OpenBook, View, title_of};
