//! Fetching one blob: resume, receive, verify, put in place.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;

use tracing::{debug, warn};

use crate::cache::{RepoCache, length_of, remove_if_there};
use crate::config::RetryPolicy;
use crate::digest::{Checksum, sha256_of};
use crate::error::HubError;
use crate::hub::{Content, Hub, Remote, Target};
use crate::names::WantedFile;
use crate::pull::Event;
use crate::retry::{Failure, Patience};

const BUFFER: usize = 1 << 18;

/// A try that brings fewer bytes than this counts as a failure in a row, so
/// that a connection that always breaks at once is given up on.
const PROGRESS: u64 = 1 << 16;

/// Where progress is reported to.
pub(crate) type Listener<'a> = &'a mut dyn FnMut(Event<'_>);

/// One file to bring into the cache.
pub(crate) struct Job<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) cache: &'a RepoCache,
    /// The file at its commit, so that it stays the same between tries.
    pub(crate) target: Target<'a>,
    pub(crate) file: &'a WantedFile,
    pub(crate) remote: &'a Remote,
    pub(crate) retry: RetryPolicy,
}

/// Tries until it works, patience is used up, or trying cannot help.
pub(crate) fn persist<T>(
    policy: RetryPolicy,
    file: &str,
    listener: Listener<'_>,
    mut attempt: impl FnMut(Listener<'_>, &mut Patience) -> Result<T, Failure>,
) -> Result<T, HubError> {
    let mut patience = Patience::new(policy);
    loop {
        let trouble = match attempt(listener, &mut patience) {
            Ok(done) => return Ok(done),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Passing(trouble)) => trouble,
        };
        let (wait, reason) = patience.after(trouble)?;
        // The caller hears of it as an event.
        debug!(file, wait_ms = wait.as_millis() as u64, %reason, "trying again");
        listener(Event::Retrying {
            file,
            wait,
            reason: &reason,
        });
        thread::sleep(wait);
    }
}

impl Job<'_> {
    /// Brings the blob into the cache and links the snapshot's file to it.
    /// Returns the bytes that were received for it; `None` when it was there.
    pub(crate) fn run(&self, listener: Listener<'_>) -> Result<Option<u64>, HubError> {
        let checksum = Checksum::of_blob(&self.remote.blob);
        self.check_promise(checksum.as_ref())?;
        self.cache.prepare()?;
        let blob = &self.remote.blob;
        let _lock = self.cache.lock(blob, || {
            listener(Event::Waiting {
                file: self.target.path,
            });
        })?;
        let received = if self.is_there() {
            self.check_pin(&self.cache.blob(blob))?;
            None
        } else {
            Some(self.receive_verified(checksum.as_ref(), listener)?)
        };
        self.cache
            .link(&self.remote.commit, self.target.path, blob)?;
        Ok(received)
    }

    /// Refuses, before any byte is fetched, what cannot end well.
    fn check_promise(&self, checksum: Option<&Checksum>) -> Result<(), HubError> {
        match (checksum, &self.file.sha256) {
            (Some(Checksum::Sha256(found)), Some(pin)) if found != pin => {
                Err(self.pin_differs(pin, found.clone()))
            }
            (None, None) => Err(HubError::Unverifiable {
                repo: self.target.repo.to_string(),
                file: self.target.path.to_owned(),
                etag: self.remote.blob.as_str().to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn is_there(&self) -> bool {
        let Ok(facts) = fs::metadata(self.cache.blob(&self.remote.blob)) else {
            return false;
        };
        let right_length = self.remote.bytes.is_none_or(|bytes| bytes == facts.len());
        if !right_length {
            warn!(file = self.target.path, blob = %self.remote.blob.as_str(), "a blob of the wrong length is fetched again");
        }
        facts.is_file() && right_length
    }

    fn receive_verified(
        &self,
        checksum: Option<&Checksum>,
        listener: Listener<'_>,
    ) -> Result<u64, HubError> {
        let part = self.cache.incomplete(&self.remote.blob);
        let inherited = length_of(&part) > 0;
        let mut received = self.receive(&part, listener)?;
        let mut verdict = self.verify(&part, checksum, listener);
        if inherited && matches!(verdict, Err(HubError::Damaged { .. })) {
            warn!(
                file = self.target.path,
                "bytes left by an earlier pull are damaged; starting over"
            );
            received += self.receive(&part, listener)?;
            verdict = self.verify(&part, checksum, listener);
        }
        verdict?;
        let blob = self.cache.blob(&self.remote.blob);
        fs::rename(&part, &blob).map_err(HubError::disk("write", blob))?;
        Ok(received)
    }

    /// Brings the part file to its full length; returns the bytes received.
    fn receive(&self, part: &Path, listener: Listener<'_>) -> Result<u64, HubError> {
        let mut received = 0;
        persist(
            self.retry,
            self.target.path,
            listener,
            |listener, patience| {
                let before = received;
                let result = self.receive_once(part, &mut received, listener);
                if received - before >= PROGRESS {
                    patience.renew();
                }
                result
            },
        )?;
        Ok(received)
    }

    fn receive_once(
        &self,
        part: &Path,
        received: &mut u64,
        listener: Listener<'_>,
    ) -> Result<(), Failure> {
        let disk = || HubError::disk("write", part);
        let mut out = OpenOptions::new()
            .create(true)
            .append(true)
            .open(part)
            .map_err(disk())?;
        let mut have = out.metadata().map_err(disk())?.len();
        if self.remote.bytes.is_some_and(|bytes| have > bytes) {
            start_over(&out, &mut have).map_err(disk())?;
        }
        if self.remote.bytes == Some(have) {
            return Ok(());
        }

        debug!(file = self.target.path, from = have, "fetching");
        let mut stream = match self.hub.fetch(self.target, have)? {
            Content::Rest { start, stream } if start == have => stream,
            Content::Whole(stream) => {
                start_over(&out, &mut have).map_err(disk())?;
                stream
            }
            Content::NothingThere { bytes } if bytes == Some(have) && bytes_agree(self, have) => {
                return Ok(());
            }
            // The server has another idea of what is here: take it all anew.
            Content::Rest { .. } | Content::NothingThere { .. } => {
                start_over(&out, &mut have).map_err(disk())?;
                match self.hub.fetch(self.target, 0)? {
                    Content::Whole(stream) => stream,
                    _ => {
                        return Err(self
                            .hub
                            .out_of_protocol("it sends a part of a file asked for whole")
                            .into());
                    }
                }
            }
        };
        let bytes = self.remote.bytes.or(stream.file_bytes);
        if stream.file_bytes.is_some_and(|found| Some(found) != bytes) {
            let found = stream.file_bytes.unwrap_or_default();
            return Err(self.wrong_length(part, bytes, found)?.into());
        }

        let mut buffer = vec![0; BUFFER];
        self.report(have, bytes, listener);
        loop {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            out.write_all(&buffer[..read]).map_err(disk())?;
            have += read as u64;
            *received += read as u64;
            if bytes.is_some_and(|bytes| have > bytes) {
                return Err(self.wrong_length(part, bytes, have)?.into());
            }
            self.report(have, bytes, listener);
        }
        if bytes.is_some_and(|bytes| have < bytes) {
            return Err(stream.cut_short());
        }
        out.sync_all().map_err(disk())?;
        Ok(())
    }

    fn report(&self, done: u64, total: Option<u64>, listener: Listener<'_>) {
        listener(Event::Progress {
            file: self.target.path,
            done,
            total,
        });
    }

    /// Hashes what lies on the disk, not what came in, so that the disk's own
    /// faults are found too. Removes the file if it is not the right one.
    fn verify(
        &self,
        part: &Path,
        checksum: Option<&Checksum>,
        listener: Listener<'_>,
    ) -> Result<(), HubError> {
        listener(Event::Verifying {
            file: self.target.path,
        });
        let result = match checksum {
            Some(expected) => expected
                .of_file_like_this(part)
                .map_err(HubError::disk("read", part))
                .and_then(|found| {
                    if found == *expected {
                        return Ok(());
                    }
                    Err(self.damaged(expected.to_string(), found.digits()))
                }),
            None => Ok(()),
        };
        let result = result.and_then(|()| self.check_pin(part));
        if matches!(
            result,
            Err(HubError::Damaged { .. } | HubError::PinDiffers { .. })
        ) {
            remove_if_there(part).map_err(HubError::disk("remove", part))?;
        }
        result
    }

    /// Compares a file with the caller's digest, if there is one.
    fn check_pin(&self, file: &Path) -> Result<(), HubError> {
        let Some(pin) = &self.file.sha256 else {
            return Ok(());
        };
        // A blob named by this very hash was checked when it was written.
        if self.remote.blob.as_str() == pin {
            return Ok(());
        }
        let found = sha256_of(file).map_err(HubError::disk("read", file))?;
        if found == *pin {
            return Ok(());
        }
        Err(self.pin_differs(pin, found))
    }

    fn pin_differs(&self, expected: &str, found: String) -> HubError {
        HubError::PinDiffers {
            repo: self.target.repo.to_string(),
            file: self.target.path.to_owned(),
            expected: expected.to_owned(),
            found,
        }
    }

    fn damaged(&self, expected: String, found: &str) -> HubError {
        HubError::Damaged {
            repo: self.target.repo.to_string(),
            file: self.target.path.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    fn wrong_length(
        &self,
        part: &Path,
        expected: Option<u64>,
        found: u64,
    ) -> Result<HubError, HubError> {
        remove_if_there(part).map_err(HubError::disk("remove", part))?;
        let expected = format!("{} bytes", expected.unwrap_or_default());
        Ok(self.damaged(expected, &format!("{found} bytes")))
    }
}

/// Whether a length the server states is one the hub's own word allows.
fn bytes_agree(job: &Job<'_>, have: u64) -> bool {
    job.remote.bytes.is_none_or(|bytes| bytes == have)
}

fn start_over(out: &File, have: &mut u64) -> std::io::Result<()> {
    if *have > 0 {
        out.set_len(0)?;
        *have = 0;
    }
    Ok(())
}
