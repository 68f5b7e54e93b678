//! A service with books, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quire_corpus::{BookId, ReadOptions, read_books};
use quire_engine::{CutSettings, Silent, build, recipe};
use quire_index::{Recipe, Store};
use quire_server::{Parts, Service, ServiceConfig, run};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::client::{Answer, Connection, request, search};
use crate::models::{Controls, embedder_info, models};

/// A running service. Stopped when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub controls: Arc<Controls>,
    pub store: Store,
    pub data: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Sentences of nine words, each about another room.
pub fn rooms(colour: &str, count: usize) -> String {
    (0..count)
        .map(|room| format!("In room{room} of the house stood a {colour} lamp. "))
        .collect()
}

pub fn a_recipe() -> Recipe {
    let cut = CutSettings {
        max_tokens: 16,
        keep_boilerplate: false,
    };
    recipe(&cut, &embedder_info(), "tokenizer").unwrap()
}

/// Indexes a book beside the service, as another process would.
pub fn index(store: &Store, name: &str, text: &str) -> BookId {
    let book = read_books(name, text.as_bytes(), &ReadOptions::default())
        .unwrap()
        .remove(0);
    let models = models(&Arc::default());
    build(store, &book, &a_recipe(), &models, &Silent).unwrap();
    book.id
}

pub fn quick() -> ServiceConfig {
    let mut config = ServiceConfig {
        workers: 4,
        ..ServiceConfig::default()
    };
    config.times.shelf = Duration::from_millis(50);
    config
}

impl Server {
    /// With a green book and a red one.
    pub fn start(config: ServiceConfig) -> Self {
        let data = Arc::new(TempDir::new().unwrap());
        let store = Store::open(data.path()).unwrap();
        index(&store, "green.txt", &rooms("green", 30));
        index(&store, "red.txt", &rooms("red", 20));
        let server = Self::in_folder(config, data);
        server.wait_ready();
        server
    }

    pub fn in_folder(config: ServiceConfig, data: Arc<TempDir>) -> Self {
        let controls = Arc::new(Controls::default());
        let store = Store::open(data.path()).unwrap();
        let parts = Parts::new(models(&controls), store.clone(), a_recipe());
        let service = Service::start(config, parts).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (tell, address) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let shutdown = async {
                    let _ = stopped.await;
                };
                run(listener, service, shutdown).await.unwrap();
            });
        });
        Self {
            address: address.recv().unwrap(),
            controls,
            store,
            data,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn wait_ready(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            // With keys set, readiness is open all the same.
            let answer = self.get("/readyz");
            if answer.status == 200 {
                return;
            }
            assert!(Instant::now() < end, "{}", answer.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    pub fn ask(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut connection = self.connect();
        connection.send(bytes);
        connection.answer()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(request("GET", path, &[], b""))
    }

    pub fn search(&self, body: &Value) -> Answer {
        self.ask(search(body))
    }

    /// Asks on a thread of its own.
    pub fn asking(&self, bytes: Vec<u8>) -> JoinHandle<Answer> {
        let address = self.address;
        thread::spawn(move || {
            let mut connection = Connection::open(address);
            connection.send(bytes);
            connection.answer()
        })
    }

    /// The value of a series.
    pub fn metric(&self, series: &str) -> f64 {
        let text = self.get("/metrics");
        let line = text
            .text()
            .lines()
            .find_map(|line| line.strip_prefix(series));
        let line = line.unwrap_or_else(|| panic!("no {series} in\n{}", text.text()));
        line.trim().parse().unwrap()
    }

    /// Waits until a series has that value.
    pub fn wait_metric(&self, series: &str, value: f64) {
        wait(|| self.metric(series) == value, series);
    }

    /// Tells the service to stop, without waiting for it.
    pub fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until it has stopped.
    pub fn stopped(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.controls.open();
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

pub fn wait(holds: impl Fn() -> bool, what: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
