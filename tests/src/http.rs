//! A running `quire serve`, and the least HTTP that asks it something.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything a sound server takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server process. Killed when dropped.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts `command`, a `quire serve` that chooses its port, and waits
    /// until it says where it listens and is ready.
    ///
    /// # Panics
    /// When it ends before that.
    pub fn start(command: &mut Command) -> Self {
        let server = Self::start_unready(command);
        server.wait_ready();
        server
    }

    /// The same, but does not wait until it is ready.
    ///
    /// # Panics
    /// When it ends before it listens.
    pub fn start_unready(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().expect("piped");
        let reader = {
            let log = Arc::clone(&log);
            thread::spawn(move || collect(stderr, &log))
        };
        let stdout = child.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the server's first line");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            let _ = reader.join();
            let log = log.lock().unwrap_or_else(PoisonError::into_inner);
            panic!("the server did not start: {line}{log}");
        };
        Self {
            child,
            address,
            log,
            reader: Some(reader),
        }
    }

    /// Waits until `/readyz` says so.
    ///
    /// # Panics
    /// When it never does.
    pub fn wait_ready(&self) {
        let started = Instant::now();
        loop {
            let reply = self.get("/readyz");
            if reply.status == 200 {
                return;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "never ready: {}\n{}",
                reply.text(),
                self.log()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its address as clients take it, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Sends it a signal, such as `TERM`.
    ///
    /// # Panics
    /// When there is no such process.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits until it has ended; its exit status and whole log.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(20));
        };
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        (status, self.log())
    }

    /// A connection to it.
    ///
    /// # Panics
    /// When it accepts none.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server accepts");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a timeout can be set");
        stream
    }

    /// Sends a request and reads the whole answer. HTTP/1.0, so that bodies
    /// are never chunked and end with the connection.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        try_send(self.address, method, path, headers, body)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.log()))
    }

    /// GET.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    /// POST of a JSON document.
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        let headers = [("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Asks a question.
    pub fn search(&self, question: &str) -> Reply {
        self.post("/v1/search", &serde_json::json!({ "question": question }))
    }

    /// Uploads one book.
    pub fn upload(&self, name: &str, bytes: &[u8]) -> Reply {
        let headers = [("content-type", "application/octet-stream")];
        self.send("POST", &format!("/v1/books?name={name}"), &headers, bytes)
    }

    /// Waits until a job has ended, and gives its last report.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait_job(&self, id: &str) -> Value {
        let started = Instant::now();
        loop {
            let job = self.get(&format!("/v1/jobs/{id}")).json();
            if !matches!(job["state"].as_str(), Some("waiting" | "running")) {
                return job;
            }
            assert!(started.elapsed() < PATIENCE, "the job does not end: {job}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// One series of `/metrics`, by its name with its labels.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.and_then(|rest| rest.strip_prefix(' ')?.trim().parse().ok())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(mut stderr: ChildStderr, log: &Mutex<String>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..count]);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&text);
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Reads an answer to its end.
    ///
    /// # Errors
    /// When the connection breaks or it is no HTTP.
    pub fn read(stream: &mut impl Read) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        // A server that closes with unread bytes resets the connection after
        // its answer; what came before counts.
        if let Err(error) = stream.read_to_end(&mut bytes)
            && bytes.is_empty()
        {
            return Err(error);
        }
        let broken = || std::io::Error::other(format!("{:?}", String::from_utf8_lossy(&bytes)));
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status
            .and_then(|code| code.parse().ok())
            .ok_or_else(broken)?;
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Ok(Self {
            status,
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        })
    }

    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is something else.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} {error}: {}", self.status, self.text()))
    }

    /// The part of a search's answer that equal questions share.
    ///
    /// # Panics
    /// When the answer is not one.
    pub fn unvarying(&self) -> String {
        let text = self.text();
        let end = text.rfind(",\"run\":");
        text[..end.unwrap_or_else(|| panic!("{} {text}", self.status))].to_owned()
    }

    /// The problem's code, after checking that it is a whole problem.
    ///
    /// # Panics
    /// When it is none.
    pub fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{}",
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        for member in ["type", "title", "detail", "remedy", "request_id"] {
            let said = problem[member].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{member} of {problem}");
        }
        problem["code"].as_str().expect("a code").to_owned()
    }
}

/// Sends a request to a server that may not be there.
///
/// # Errors
/// When it is not, or breaks the connection without an answer.
pub fn try_send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = format!("{method} {path} HTTP/1.0\r\n");
    if headers.iter().all(|(name, _)| *name != "host") {
        head += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    // A server may answer and close before it has read all of a body.
    let _ = stream.write_all(body);
    Reply::read(&mut stream)
}
