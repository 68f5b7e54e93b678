//! A server on 127.0.0.1 that speaks the chat completions protocol, for tests.
//!
//! It answers with what it was told to, in that order: well, late, cut, or
//! not at all, as real servers do. Every request is recorded.
//!
//! It panics where a test would: on a port that cannot be opened.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a stalled reply waits for the client to go.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its path.
    pub path: String,
    /// Headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// Its body; null when that is no JSON.
    pub body: Value,
    /// When it arrived.
    pub at: Instant,
}

/// What the server does with one request.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    parts: Vec<Vec<u8>>,
    chunked: bool,
    delay: Duration,
    pause: Duration,
    stall_after: Option<usize>,
    cut_after: Option<usize>,
}

impl Reply {
    /// A body of one kind, as it is.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
            parts: vec![body.into()],
            chunked: false,
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            stall_after: None,
            cut_after: None,
        }
    }

    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", body.to_string())
    }

    /// A whole completion, of 7 and 3 tokens.
    pub fn whole(text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "id": "fake", "object": "chat.completion", "model": "fake-model",
                "choices": [{"index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text}}],
                "usage": usage(),
            }),
        )
    }

    /// A completion streamed in these pieces, with its end and its usage of 7
    /// and 3 tokens.
    pub fn stream(pieces: &[&str]) -> Self {
        let mut events = vec![delta(&json!({"role": "assistant", "content": ""}), None)];
        events.extend(
            pieces
                .iter()
                .map(|text| delta(&json!({"content": text}), None)),
        );
        events.push(delta(&json!({}), Some("stop")));
        events.push(json!({"model": "fake-model", "choices": [], "usage": usage()}));
        let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
        events.push("[DONE]".to_owned());
        Self::events(&events)
    }

    /// A stream of events with these data.
    pub fn events<T: AsRef<str>>(events: &[T]) -> Self {
        let mut reply = Self::raw(200, "text/event-stream; charset=utf-8", Vec::new());
        reply.chunked = true;
        reply.parts = events
            .iter()
            .map(|data| format!("data: {}\n\n", data.as_ref()).into_bytes())
            .collect();
        reply
    }

    /// Sets a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before anything is sent.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits after each part.
    #[must_use]
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sends the body in parts of this many bytes, wherever that cuts.
    #[must_use]
    pub fn cut_into(mut self, bytes: usize) -> Self {
        let body = self.parts.concat();
        self.parts = body.chunks(bytes).map(<[u8]>::to_vec).collect();
        self
    }

    /// Sends this many parts, then nothing more.
    #[must_use]
    pub fn stalls_after(mut self, parts: usize) -> Self {
        self.stall_after = Some(parts);
        self
    }

    /// Closes the connection in the middle of the part after this many.
    #[must_use]
    pub fn breaks_after(mut self, parts: usize) -> Self {
        self.cut_after = Some(parts);
        self
    }

    /// Replaces every text in the body.
    #[must_use]
    pub fn replaced(mut self, from: &str, to: &str) -> Self {
        for part in &mut self.parts {
            *part = String::from_utf8_lossy(part).replace(from, to).into_bytes();
        }
        self
    }
}

fn delta(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"id": "fake", "object": "chat.completion.chunk", "model": "fake-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
}

fn usage() -> Value {
    json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10})
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    always: Option<Reply>,
    seen: Vec<Seen>,
    hung_up: usize,
    stopped: bool,
}

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct FakeOpenAi {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeOpenAi {
    /// Starts it on a free port. Without replies it answers status 500.
    #[expect(clippy::new_without_default, reason = "it opens a port")]
    #[expect(clippy::expect_used, reason = "a test without a port is over")]
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("no free port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound port has an address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if lock(&shared).stopped {
                    return;
                }
                let state = Arc::clone(&shared);
                thread::spawn(move || {
                    // A client that goes away is part of many tests.
                    let _ = connection.and_then(|stream| serve(stream, &state));
                });
            }
        });
        Self {
            address,
            state,
            thread: Some(thread),
        }
    }

    /// The address of the API, with `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds the reply to one more request.
    pub fn reply(&self, reply: Reply) {
        lock(&self.state).replies.push_back(reply);
    }

    /// Replies to all requests that nothing else was said about.
    pub fn always(&self, reply: Reply) {
        lock(&self.state).always = Some(reply);
    }

    /// The requests so far, in the order they arrived.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state).seen.clone()
    }

    /// How many replies were not finished because the client had gone.
    pub fn hung_up(&self) -> usize {
        lock(&self.state).hung_up
    }
}

impl Drop for FakeOpenAi {
    fn drop(&mut self) {
        lock(&self.state).stopped = true;
        // Wakes the thread, which waits for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(seen) = read_request(&stream)? else {
        return Ok(());
    };
    let reply = {
        let mut state = lock(state);
        state.seen.push(seen);
        let next = state.replies.pop_front();
        next.or_else(|| state.always.clone())
            .unwrap_or_else(|| Reply::raw(500, "text/plain", "no reply was scripted"))
    };
    if gone_during(&stream, reply.delay)? || !send(&mut stream, &reply)? {
        lock(state).hung_up += 1;
    }
    let _ = stream.shutdown(Shutdown::Both);
    Ok(())
}

/// Sends a reply; false when the client went before it was over.
fn send(stream: &mut TcpStream, reply: &Reply) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Reply\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&if reply.chunked {
        "Transfer-Encoding: chunked\r\n\r\n".to_owned()
    } else {
        let length: usize = reply.parts.iter().map(Vec::len).sum();
        format!("Content-Length: {length}\r\n\r\n")
    });
    stream.write_all(head.as_bytes())?;
    for (number, part) in reply.parts.iter().enumerate() {
        if reply.stall_after == Some(number) {
            return Ok(!gone_during(stream, PATIENCE)?);
        }
        let mut framed = part.clone();
        if reply.chunked {
            framed = format!("{:x}\r\n", part.len()).into_bytes();
            framed.extend(part);
            framed.extend(b"\r\n");
        }
        if reply.cut_after == Some(number) {
            return stream.write_all(&framed[..framed.len() / 2]).map(|()| true);
        }
        if stream.write_all(&framed).is_err() || gone_during(stream, reply.pause)? {
            return Ok(false);
        }
    }
    if reply.stall_after.is_some() {
        return Ok(!gone_during(stream, PATIENCE)?);
    }
    if reply.chunked {
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(true)
}

/// Waits, and says whether the client closes its end meanwhile.
fn gone_during(mut stream: &TcpStream, wait: Duration) -> io::Result<bool> {
    let end = Instant::now() + wait;
    stream.set_read_timeout(Some(Duration::from_millis(5)))?;
    while Instant::now() < end {
        match stream.read(&mut [0]) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => return Ok(true),
        }
    }
    Ok(false)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn read_request(stream: &TcpStream) -> io::Result<Option<Seen>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let Some(path) = first.split(' ').nth(1).map(str::to_owned) else {
        return Ok(None);
    };
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|value| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Seen {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        at: Instant::now(),
    }))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
