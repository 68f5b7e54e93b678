//! What the black-box tests share: running the binary, temporary data folders,
//! the sample corpus, and skipping by name.

pub mod http;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("tests/ lies in the workspace")
        .to_owned()
}

/// The folder of the sample corpus.
pub fn sample() -> PathBuf {
    root().join("tests").join("sample")
}

/// The binary that was built beside this test.
pub fn binary() -> PathBuf {
    let test = env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let binary = folder.join(format!("quire{}", env::consts::EXE_SUFFIX));
    assert!(
        binary.exists(),
        "{} is missing; run `cargo build` first",
        binary.display()
    );
    binary
}

/// A data folder of its own, and commands that use it and nothing else of this
/// machine but the built models.
pub struct Quire {
    data: TempDir,
}

impl Default for Quire {
    fn default() -> Self {
        Self::new()
    }
}

impl Quire {
    /// An empty data folder.
    pub fn new() -> Self {
        let home = root().join(".quire");
        assert!(
            home.join("models/small/model_int8.onnx").exists(),
            "the small models are missing; run scripts/setup.sh first"
        );
        Self {
            data: TempDir::new().expect("a temporary folder"),
        }
    }

    /// A data folder with the sample corpus in it, indexed once for all tests
    /// of a binary.
    pub fn indexed() -> Self {
        static INDEXED: OnceLock<Quire> = OnceLock::new();
        let indexed = INDEXED.get_or_init(|| {
            let quire = Self::new();
            let ran = quire.run(["index".as_ref(), sample().as_os_str()]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            quire
        });
        let quire = Self::new();
        copy_folder(indexed.data(), quire.data());
        quire
    }

    /// A server on a free port of this machine, not yet started.
    pub fn serve(&self, more: &[&str]) -> Command {
        let mut args = vec!["serve", "--address", "127.0.0.1:0"];
        args.extend(more);
        self.command(args)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// A command with these arguments, not yet run.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(binary());
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("QUIRE_") || name.starts_with("HF_") || name == "ORT_DYLIB_PATH" {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .env("QUIRE_HOME", root().join(".quire"))
            .env("QUIRE_DATA", self.data())
            .env("XDG_CONFIG_HOME", self.data().join("no-config"))
            .env("HF_HUB_CACHE", self.data().join("no-hub"))
            .env("QUIRE_DEVICE", "cpu")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs a command with `--json` and reads what it prints.
    ///
    /// # Panics
    /// When it fails or prints something else.
    pub fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        let mut command = self.command(args);
        command.arg("--json");
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()
    }

    /// Starts a command and does not wait for it.
    pub fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary starts")
    }

    /// The folder of the only artifact of the only book.
    pub fn only_artifact(&self) -> PathBuf {
        let mut folder = self.data().join("indexes");
        for _ in 0..2 {
            let inside: Vec<_> = fs::read_dir(&folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
                .map(|entry| entry.expect("a readable folder").path())
                .collect();
            assert_eq!(inside.len(), 1, "{inside:?}");
            folder.clone_from(&inside[0]);
        }
        folder
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Ran {
    /// The exit code, or -1 after a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Runs the command to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("the binary starts"))
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}", self.stdout))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("quire prints UTF-8");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// Copies a folder with all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("a readable folder");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

/// Every file below a folder by its relative path, with its SHA-256.
pub fn digests(folder: &Path) -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                walk(&path, root, found);
                continue;
            }
            let digest = Sha256::digest(fs::read(&path).expect("a readable file"));
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            found.insert(
                name,
                digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            );
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// A question of the sample corpus.
#[derive(Debug, Deserialize)]
pub struct SampleQuestion {
    /// Such as `en-01`.
    pub id: String,
    /// The book's file.
    pub book: String,
    /// The question.
    pub question: String,
    /// Four options where it is multiple choice.
    #[serde(default)]
    pub options: Vec<String>,
    /// The gold answers.
    pub answers: Vec<String>,
    /// Quotations that hold the answer.
    pub evidence: Vec<String>,
}

/// The sample corpus: each book's file and its questions.
pub fn sample_questions() -> Vec<(PathBuf, Vec<SampleQuestion>)> {
    let mut sets = Vec::new();
    for entry in fs::read_dir(sample()).expect("the sample corpus") {
        let path = entry.expect("a readable folder").path();
        if path.extension() != Some(OsStr::new("jsonl")) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable questions");
        let questions: Vec<SampleQuestion> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a question a line"))
            .collect();
        sets.push((sample().join(&questions[0].book), questions));
    }
    sets.sort_by(|a, b| a.0.cmp(&b.0));
    sets
}

/// The shared test data, or `None` after reporting the test as skipped.
pub fn test_data(test: &str) -> Option<PathBuf> {
    match env::var_os("QUIRE_TEST_DATA") {
        Some(folder) if !folder.is_empty() => Some(PathBuf::from(folder)),
        _ => {
            skip(test, "QUIRE_TEST_DATA is not set");
            None
        }
    }
}

/// The page at `url` as a real browser shows it: its document after the
/// scripts have run. `None`, after reporting the test as skipped, where there
/// is no Chromium.
///
/// # Panics
/// When the browser fails.
pub fn rendered(test: &str, url: &str) -> Option<String> {
    let profile = TempDir::new().expect("a temporary folder");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--virtual-time-budget=10000")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Err(_) => {
            skip(test, "chromium is not installed");
            return None;
        }
        Ok(output) => output,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The Python that has the official clients. `None`, after reporting the test
/// as skipped, where `scripts/setup.sh --clients` has not run.
pub fn clients_python(test: &str) -> Option<PathBuf> {
    let python = root().join(".quire/clients/bin/python");
    if !python.exists() {
        skip(test, "scripts/setup.sh --clients has not run");
        return None;
    }
    Some(python)
}

/// Runs `tests/clients/FILE` with the official clients against a server at
/// `url`: the file finds it in `QUIRE_URL`, the sample corpus in
/// `QUIRE_SAMPLE`, and what `env` adds. Reports the test as skipped where the
/// clients are not installed.
///
/// # Panics
/// When one of the file's tests fails or it has none.
pub fn run_client(test: &str, file: &str, url: &str, env: &[(&str, &OsStr)]) {
    let Some(python) = clients_python(test) else {
        return;
    };
    let home = TempDir::new().expect("a temporary folder");
    let mut command = Command::new(python);
    for (name, _) in env::vars_os() {
        // Neither keys nor proxies nor settings of this machine's clients.
        let text = name.to_string_lossy().to_ascii_uppercase();
        let prefixes = [
            "QUIRE_",
            "HF_",
            "OPENAI_",
            "CO_",
            "LANGCHAIN_",
            "LANGSMITH_",
        ];
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) || text.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-B", "-m", "unittest", "-v"])
        .arg(root().join("tests/clients").join(file))
        .current_dir(root())
        .env("HOME", home.path())
        .env("NO_PROXY", "*")
        .env("QUIRE_URL", url)
        .env("QUIRE_SAMPLE", sample())
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    println!("{}{said}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{file} failed");
    assert!(!said.contains("Ran 0 tests"), "{file} has no test");
}

/// Reports a test as skipped, by name.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED quire-tests::{test}: {reason}\n");
    eprint!("{line}");
    if let Some(log) = env::var_os("QUIRE_SKIP_LOG") {
        let mut log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .expect("the skip log opens");
        log.write_all(line.as_bytes())
            .expect("the skip log is writable");
    }
}
