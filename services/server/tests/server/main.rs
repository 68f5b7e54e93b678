//! The service over real connections, with models made of arithmetic.

#![allow(clippy::unwrap_used)] // A test may.

mod books;
mod client;
mod dialects;
mod errors;
mod faults;
mod libraries;
mod models;
mod observed;
mod overload;
mod page;
mod searching;
mod security;
mod stopping;
mod support;
