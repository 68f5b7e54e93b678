//! Errors as a client may read them: in one line, without paths of the server.

use std::error::Error;
use std::io;
use std::iter;
use std::path::PathBuf;

use quire_corpus::ReadError;
use quire_engine::EngineError;
use quire_index::IoError;

use super::Problem;
use super::error::is_full;

/// Turns errors into what a client may read.
pub(super) struct Sayer {
    /// Paths that are left out, the longest first.
    private: Vec<String>,
}

impl Sayer {
    pub(super) fn new(private: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut private: Vec<String> = private
            .into_iter()
            .map(|path| path.display().to_string())
            .map(|path| path.trim_end_matches('/').to_owned())
            .filter(|path| path.len() > 1)
            .collect();
        private.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Self { private }
    }

    /// The error with its causes. The log has the paths, too.
    pub(super) fn say(&self, error: &(dyn Error + 'static)) -> String {
        let mut line = String::new();
        for cause in causes(error) {
            let said = match cause.downcast_ref::<IoError>() {
                // Its own message has a remedy for who runs the command.
                Some(error) => format!("cannot {} a file of the server", error.action),
                None => self.without_paths(&cause.to_string()),
            };
            // Some errors already carry their cause's words.
            if !line.contains(&said) {
                if !line.is_empty() {
                    line += ": ";
                }
                line += &said;
            }
        }
        line
    }

    /// A book that was not built.
    pub(super) fn of_build(&self, error: &EngineError) -> Problem {
        let remedy = match error {
            EngineError::NothingToIndex(_) => "send a file with text in it",
            _ if causes(error).any(disk_full) => {
                "the server's disk is full: when there is room again, send the file again; \
                 finished work is kept"
            }
            _ => {
                "the file is not at fault: ask who runs the server to read its log, then send \
                 the file again; finished work is kept"
            }
        };
        Problem {
            error: self.say(error),
            remedy: remedy.to_owned(),
        }
    }

    /// A file that holds no book, named as the client named it.
    pub(super) fn of_read(&self, error: &ReadError) -> Problem {
        Problem {
            error: self.say(error),
            remedy: "mend the file and send it again".to_owned(),
        }
    }

    /// A file that was received and cannot be read back.
    pub(super) fn of_file(&self, error: &IoError) -> Problem {
        Problem {
            error: self.say(error),
            remedy: "send the file again".to_owned(),
        }
    }

    /// One line without private paths, and of every other absolute path the
    /// last part alone.
    fn without_paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for path in &self.private {
            text = text
                .replace(&format!("{path}/"), "")
                .replace(path, "the server's folder");
        }
        let words =
            text.split_whitespace()
                .map(|word| match (absolute_path(word), word.rfind('/')) {
                    (Some(start), Some(last)) => format!("{}{}", &word[..start], &word[last + 1..]),
                    _ => word.to_owned(),
                });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Where an absolute path starts in a word, such as `path=/a/b`: at a slash that
/// goes on from no name, and is not that of an address on the web.
fn absolute_path(word: &str) -> Option<usize> {
    let goes_on = |before: &str| {
        let last = before.chars().next_back();
        last.is_some_and(|c| c.is_alphanumeric() || "._-~/".contains(c))
    };
    let mut slashes = word.match_indices('/').map(|(at, _)| at);
    slashes.find(|&at| {
        let (before, rest) = word.split_at(at);
        let on_the_web = before.ends_with(':') && rest.starts_with("//");
        !goes_on(before) && !on_the_web
    })
}

/// An error with its causes in one line, paths and all, for the log.
pub(super) fn in_full(error: &(dyn Error + 'static)) -> String {
    let said = causes(error).map(ToString::to_string);
    said.collect::<Vec<_>>().join(": ")
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

fn disk_full(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| is_full(error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Said(&'static str, #[source] Option<IoError>);

    fn sayer() -> Sayer {
        Sayer::new([PathBuf::from("/srv/my data/"), PathBuf::from("/srv")])
    }

    #[test]
    fn no_path_of_the_server_is_said() {
        for (error, said) in [
            (
                "cannot open /srv/my data/indexes/1",
                "cannot open indexes/1",
            ),
            ("'/opt/models/m.onnx' is missing", "'m.onnx' is missing"),
            ("no room in /srv/my data", "no room in the server's folder"),
            ("opening file=/opt/m.onnx:", "opening file=m.onnx:"),
            ("see https://a.test/b/c", "see https://a.test/b/c"),
            ("first\n  /a/b/c, then (/d/e)", "first c, then (e)"),
            (
                "a.epub: OEBPS/1.html and/or others",
                "a.epub: OEBPS/1.html and/or others",
            ),
        ] {
            assert_eq!(sayer().say(&Said(error, None)), said);
        }
    }

    #[test]
    fn a_cause_of_the_system_is_said_without_its_file() {
        let cause = IoError {
            action: "write",
            path: PathBuf::from("/srv/my data/x y"),
            source: io::ErrorKind::StorageFull.into(),
        };
        let error = Said("the dense stage failed", Some(cause));
        let said = sayer().say(&error);
        assert!(
            said.starts_with("the dense stage failed: cannot write a file of the server: "),
            "{said}"
        );
        assert!(in_full(&error).contains("/srv/my data/x y"));
    }

    #[test]
    fn a_full_disk_is_not_the_files_fault_and_the_remedy_says_so() {
        let full = IoError {
            action: "write",
            path: PathBuf::from("/srv/x"),
            source: io::ErrorKind::StorageFull.into(),
        };
        let problem = sayer().of_build(&EngineError::Io(full));
        assert!(problem.remedy.contains("disk is full"), "{problem:?}");
        assert!(!problem.error.contains("/srv"), "{problem:?}");
    }
}
