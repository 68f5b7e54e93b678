//! A server that answers as quire does, or as badly as a test wants.

#![allow(dead_code)] // Each test file uses its part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use quire_bench::{Length, Live, Load, Loads, Plan, Questions, Run, Target, Watch};

/// What the server does with a search.
pub enum Reply {
    /// 200, after a while.
    Answer { after: Duration, body: String },
    /// Another status, perhaps with `Retry-After`.
    Status(u16, Option<u64>),
    /// Half an answer, then the end of the connection.
    CutShort,
    /// The end of the connection.
    Hangup,
}

impl Reply {
    pub fn usual(question: &str) -> Self {
        Self::after(Duration::ZERO, question)
    }

    pub fn after(after: Duration, question: &str) -> Self {
        Self::Answer {
            after,
            body: answer(question, "the fare was one bit"),
        }
    }
}

/// An answer whose last member differs each time.
pub fn answer(question: &str, text: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(
        "{{\"question\":{question:?},\"hits\":[{{\"text\":{text:?}}}],\
         \"fingerprint\":{{\"version\":\"fake 1\",\"budgets\":{{\"rerank\":20}}}},\"run\":{{\"request_id\":\"{number}\"}}}}"
    )
}

pub struct Fake {
    pub url: String,
    /// Searches so far.
    pub searches: Arc<AtomicU64>,
}

impl Fake {
    /// Serves until the test ends; `reply` gets each search's number, from 0,
    /// and its whole body.
    pub fn start(reply: impl Fn(u64, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let searches = Arc::new(AtomicU64::new(0));
        let (reply, count) = (Arc::new(reply), Arc::clone(&searches));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, count) = (Arc::clone(&reply), Arc::clone(&count));
                thread::spawn(move || serve(stream, reply.as_ref(), &count));
            }
        });
        Self { url, searches }
    }
}

fn serve(stream: TcpStream, reply: &dyn Fn(u64, &str) -> Reply, count: &AtomicU64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|&length| length > 0)?;
        let search = line.starts_with("POST /v1/search ");
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        if !search {
            send(&mut stream, 200, "", "ok")?;
            continue;
        }
        match reply(count.fetch_add(1, Ordering::Relaxed), &body) {
            Reply::Answer { after, body } => {
                thread::sleep(after);
                let timing = "server-timing: queue;dur=0.5, embed;dur=2, total;dur=3.25\r\n";
                send(&mut stream, 200, timing, &body)?;
            }
            Reply::Status(status, retry_after) => {
                let header = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n"));
                let problem = "{\"title\":\"No\",\"detail\":\"not now\"}";
                send(&mut stream, status, &header.unwrap_or_default(), problem)?;
            }
            Reply::CutShort => {
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"hits\"");
                return None;
            }
            Reply::Hangup => return None,
        }
    }
}

fn send(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status} Some\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}

/// A plan for one load, with three questions and no warm-up.
pub fn plan(url: &str, load: Load, length: Length) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("asked.txt");
    std::fs::write(&file, "Who?\nWhere?\nWhen?\n").unwrap();
    Plan {
        target: Target::parse(url).unwrap(),
        key: None,
        questions: Questions::read(&[file], 1).unwrap(),
        request: serde_json::Map::new(),
        loads: Loads::Each(vec![load]),
        warmup: Duration::ZERO,
        length,
        seed: 1,
        check: false,
        give_up: Duration::from_secs(20),
        most_connections: 64,
        pid: None,
        command: vec!["quire".to_owned(), "bench".to_owned()],
    }
}

/// The question of a search's body.
pub fn question(body: &str) -> String {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    body["question"].as_str().unwrap().to_owned()
}

/// Watches nothing.
pub struct Unwatched;

impl Watch for Unwatched {
    fn checking(&self, _: usize, _: usize) {}
    fn live(&self, _: &Load, _: &Live) {}
    fn done(&self, _: &Run) {}
}
