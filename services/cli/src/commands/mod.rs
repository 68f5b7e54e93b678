//! One module a command.

pub mod books;
pub mod config;
pub mod eval;
pub mod index;
pub mod models;
pub mod rm;
pub mod search;
pub mod show;
pub mod verify;
