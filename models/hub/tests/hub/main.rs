//! The hub's protocol and its cache, against a server that speaks it.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers are test code too, which the lint cannot see"
)]

mod cached;
mod killed;
mod network;
mod pull;
mod refusals;
mod resume;
mod scene;
mod trust;
