//! What every command needs.

use std::path::Path;

use anyhow::Result;
use quire_corpus::BookId;
use quire_index::Store;

use crate::args::GlobalArgs;
use crate::home::Home;
use crate::output::Output;
use crate::settings::Settings;

pub struct Context {
    pub settings: Settings,
    pub home: Home,
    pub output: Output,
    log: Option<String>,
}

impl Context {
    pub fn new(global: &GlobalArgs) -> Result<Self> {
        let mut settings = Settings::read(global)?;
        let home = Home::find(&mut settings, global)?;
        let output = Output::new(settings.color(global.color)?);
        let log = settings.optional("log", global.log.clone())?;
        Ok(Self {
            settings,
            home,
            output,
            log,
        })
    }

    /// What is logged: what the settings say, or else `default`.
    pub fn log_level(&self, default: &str) -> String {
        self.log.clone().unwrap_or_else(|| default.to_owned())
    }

    /// The folder of the indexes.
    pub fn data(&self) -> &Path {
        &self.home.data
    }

    pub fn store(&self) -> Result<Store> {
        Ok(Store::open(self.data())?)
    }

    /// The books whose ids begin as given, each once, in the order given.
    pub fn books(&self, store: &Store, prefixes: &[String]) -> Result<Vec<BookId>> {
        let mut books = Vec::new();
        for prefix in prefixes {
            let book = store.resolve(prefix)?;
            if !books.contains(&book) {
                books.push(book);
            }
        }
        Ok(books)
    }
}
