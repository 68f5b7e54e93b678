//! One module a command.

pub mod ask;
pub mod bench;
pub mod books;
pub mod config;
pub mod eval;
pub mod index;
pub mod library;
pub mod mcp;
pub mod models;
pub mod prompts;
pub mod rm;
pub mod scope;
pub mod search;
pub mod serve;
pub mod show;
pub mod trace;
pub mod verify;
