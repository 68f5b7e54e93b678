//! Pulls model files from the model hub into its standard cache.
//!
//! The cache is the one every tool of the hub shares, so a model that one of
//! them has fetched is found here and the other way round:
//!
//! ```text
//! <cache>/models--ORG--NAME/
//!     blobs/<etag>                   the bytes, named by their hash
//!     blobs/<etag>.incomplete        what a cut transfer has fetched so far
//!     refs/<revision>                the commit a branch or tag stands for
//!     snapshots/<commit>/<file>      a relative link to the blob
//! <cache>/.locks/models--ORG--NAME/<etag>.lock
//! ```
//!
//! [`pull`] fetches what is missing, [`find_cached`] finds what is there
//! without a network, [`verify_cached`] hashes it again. All settings are in
//! [`HubConfig`]; nothing below [`HubConfig::from_env`] reads the environment.

mod cache;
mod cached;
mod config;
mod digest;
mod error;
#[cfg(feature = "fake-hub")]
pub mod fake;
mod fetch;
mod http;
mod hub;
mod names;
mod pull;
mod refusal;
mod retry;
mod url;

pub use cached::{CachedFile, find_cached, verify_cached};
pub use config::{HubConfig, PUBLIC_HUB, RetryPolicy, Token};
pub use error::HubError;
pub use names::WantedFile;
pub use pull::{Event, Origin, PulledFile, Snapshot, pull};
