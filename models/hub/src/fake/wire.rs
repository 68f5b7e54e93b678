//! As much HTTP/1.1 as the fake hub needs: one request a connection.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Act;

/// A request's head.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: HashMap<String, String>,
}

impl Request {
    /// The first byte asked for, of a `Range` header like `bytes=5-`.
    pub(super) fn range_start(&self) -> Option<usize> {
        let range = self.headers.get("range")?.strip_prefix("bytes=")?;
        range.strip_suffix('-')?.parse().ok()
    }
}

/// An answer of the fake hub.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    whole: Vec<u8>,
    pace: Pace,
}

#[derive(Debug)]
enum Pace {
    Even,
    Cut(usize),
    Stall(usize, Duration),
    Slow(usize, Duration),
}

impl Reply {
    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            whole: Vec::new(),
            pace: Pace::Even,
        }
    }

    pub(super) fn error(status: u16, code: &str) -> Self {
        Self::status(status).with("X-Error-Code", code)
    }

    /// A file's bytes from `start` on.
    pub(super) fn file(content: &[u8], start: Option<usize>) -> Self {
        let length = content.len();
        let mut reply = match start {
            Some(start) if start >= length => {
                Self::status(416).with("Content-Range", &format!("bytes */{length}"))
            }
            Some(start) => {
                let range = format!("bytes {start}-{}/{length}", length - 1);
                let mut reply = Self::status(206).with("Content-Range", &range);
                reply.body = content[start..].to_vec();
                reply
            }
            None => {
                let mut reply = Self::status(200);
                reply.body = content.to_vec();
                reply
            }
        };
        reply.whole = content.to_vec();
        reply.with("Accept-Ranges", "bytes")
    }

    /// Sets a header.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same answer with a fault in it.
    pub(super) fn spoilt(mut self, act: Act) -> Self {
        match act {
            Act::Status(status, headers) => {
                let fresh = Self::status(status);
                return headers
                    .iter()
                    .fold(fresh, |reply, (name, value)| reply.with(name, value));
            }
            Act::Headers(headers) => {
                return headers
                    .iter()
                    .fold(self, |reply, (name, value)| reply.with(name, value));
            }
            Act::CutAfter(bytes) => self.pace = Pace::Cut(bytes),
            Act::StallAfter(bytes, pause) => self.pace = Pace::Stall(bytes, pause),
            Act::Slow(bytes, pause) => self.pace = Pace::Slow(bytes, pause),
            Act::Corrupt => {
                if let Some(last) = self.body.last_mut() {
                    *last ^= 1;
                }
            }
            Act::IgnoreRange => {
                self.status = 200;
                self.body = self.whole.clone();
                self.headers.retain(|(name, _)| name != "Content-Range");
            }
        }
        self
    }

    /// Bytes of the body that are going to be sent.
    pub(super) fn sent_bytes(&self) -> usize {
        match self.pace {
            Pace::Cut(bytes) | Pace::Stall(bytes, _) => bytes.min(self.body.len()),
            Pace::Even | Pace::Slow(..) => self.body.len(),
        }
    }

    fn send(&self, out: &mut TcpStream, with_body: bool) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Answer\r\nConnection: close\r\n", self.status);
        let names_length =
            |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
        if !self.headers.iter().any(names_length) {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        out.write_all(head.as_bytes())?;
        if !with_body {
            return Ok(());
        }
        let sent = &self.body[..self.sent_bytes()];
        match self.pace {
            Pace::Slow(bytes, pause) => {
                for piece in sent.chunks(bytes) {
                    out.write_all(piece)?;
                    thread::sleep(pause);
                }
            }
            Pace::Stall(_, pause) => {
                out.write_all(sent)?;
                thread::sleep(pause);
            }
            Pace::Even | Pace::Cut(_) => out.write_all(sent)?,
        }
        Ok(())
    }
}

/// A listening port and the thread that serves it.
#[derive(Debug)]
pub(super) struct Listening {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Serves each connection on a thread of its own.
    #[expect(clippy::expect_used, reason = "a test without a port is over")]
    pub(super) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("no free port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound port has an address");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let answer = Arc::new(answer);
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let answer = Arc::clone(&answer);
                thread::spawn(move || {
                    // A client that goes away is part of many tests.
                    let _ = connection.and_then(|stream| serve(stream, answer.as_ref()));
                });
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread, which waits for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Reply) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match read_request(&stream) {
        Ok(Some(request)) => answer(&request).send(&mut stream, request.method != "HEAD")?,
        Ok(None) => {}
        // As servers do with what is no HTTP, such as the start of TLS.
        Err(_) => Reply::status(400).send(&mut stream, true)?,
    }
    stream.shutdown(Shutdown::Both)
}

fn read_request(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut lines = BufReader::new(stream).lines();
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = HashMap::new();
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Ok(Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
    }))
}
