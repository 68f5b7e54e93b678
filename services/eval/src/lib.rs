//! From a data set to a report: retrieval measured at every stage, answers
//! scored against gold answers, and what a difference is worth.
//!
//! Reading forward: a [`set`] is read from one of its formats ([`datasets`]
//! gives passages, [`questions`] whole books); a [`run`] asks its questions
//! and logs what was found; [`support`] tells which passages hold the answer,
//! [`measures`] and [`answers`] score, [`statistics`] weighs.

pub mod answers;
pub mod compare;
pub mod datasets;
pub mod html;
pub mod measures;
pub mod questions;
pub mod report;
pub mod run;
pub mod set;
pub mod statistics;
pub mod support;
