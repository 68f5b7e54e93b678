//! Settings: a flag, else an environment variable, else the configuration
//! file, else the default. Read once, here.

use std::env;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use quire_engine::{Budgets, CutSettings};
use quire_model::{Blend, Fusion};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::{BudgetArgs, ColorWhen, CutArgs, GlobalArgs, LogFormat, ModelArgs};
use crate::loader::catalogue;

/// Every key of the configuration file: the flags' names.
const KEYS: [&str; 46] = [
    "home",
    "data",
    "color",
    "log",
    "profile",
    "precision",
    "device",
    "threads",
    "rerank-cache",
    "fusion",
    "blend",
    "max-tokens",
    "keep-boilerplate",
    "lexical",
    "dense",
    "dense-ef",
    "rerank",
    "evidence-passages",
    "evidence-tokens",
    "encoding",
    "strict",
    "catalogue",
    "address",
    "keys",
    "traces",
    "trace-disk",
    "log-format",
    "workers",
    "queue",
    "timeout",
    "max-upload",
    "connections",
    "drain",
    "answer-url",
    "answer-model",
    "answer-temperature",
    "answer-seed",
    "answer-max-tokens",
    "answer-timeout",
    "answer-tries",
    "answer-workers",
    "answer-extra",
    "answer-prices",
    "answer-ca",
    "prompts",
    "abstain",
];

/// Where a setting's value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Flag,
    Environment,
    File,
    Default,
}

/// One setting, for `quire config`.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    pub name: &'static str,
    pub value: Option<String>,
    pub source: Source,
}

/// Which models to use.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub profile: String,
    pub precision: Option<String>,
    pub device: String,
    pub threads: usize,
    /// MiB of passages' token vectors kept in memory.
    pub rerank_cache: usize,
    /// In place of the profile's own.
    pub fusion: Option<Fusion>,
    /// In place of the profile's own.
    pub blend: Option<Blend>,
    /// A catalogue file in place of the built-in one.
    pub catalogue: Option<PathBuf>,
}

impl ModelSettings {
    /// What is taken from each stage unless asked for otherwise.
    fn default_budgets(&self) -> Result<Budgets> {
        let catalogue = catalogue(self.catalogue.as_ref())?;
        let default = Budgets::default();
        Ok(Budgets {
            rerank: catalogue
                .profile(&self.profile)?
                .rerank
                .unwrap_or(default.rerank),
            ..default
        })
    }
}

/// Takes each setting from the first place that has it, and remembers which.
pub struct Settings {
    file: Option<PathBuf>,
    table: toml::Table,
    taken: Vec<Setting>,
}

impl Settings {
    /// Reads the configuration file: the one named, or the user's own if there
    /// is one.
    pub fn read(global: &GlobalArgs) -> Result<Self> {
        let named = global.config.clone();
        let path = named
            .clone()
            .or_else(|| user_file().filter(|path| path.exists()));
        let Some(path) = path else {
            return Ok(Self {
                file: None,
                table: toml::Table::new(),
                taken: Vec::new(),
            });
        };
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
        let table: toml::Table = text
            .parse()
            .with_context(|| format!("{} is not valid TOML", path.display()))?;
        if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            bail!(
                "{} sets '{unknown}', which is no setting; the settings are {}",
                path.display(),
                KEYS.join(", ")
            );
        }
        Ok(Self {
            file: Some(path),
            table,
            taken: Vec::new(),
        })
    }

    /// The configuration file in use.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Every setting taken so far.
    pub fn taken(&self) -> &[Setting] {
        &self.taken
    }

    /// A setting without a default.
    pub fn optional<T: DeserializeOwned + Display>(
        &mut self,
        name: &'static str,
        given: Option<T>,
    ) -> Result<Option<T>> {
        let (value, source) = match given {
            Some(value) => (Some(value), given_by(name)),
            None => match self.table.get(name) {
                Some(value) => (Some(self.parse(name, value)?), Source::File),
                None => (None, Source::Default),
            },
        };
        let shown = value.as_ref().map(ToString::to_string);
        self.taken.push(Setting {
            name,
            value: shown,
            source,
        });
        Ok(value)
    }

    /// A setting without a default that is written as its flag is, not as a
    /// table.
    fn parsed<T>(&mut self, name: &'static str, given: Option<T>) -> Result<Option<T>>
    where
        T: Display + FromStr<Err: Into<anyhow::Error>>,
    {
        let text = self.optional(name, given.map(|value| value.to_string()))?;
        let parse = |text: String| text.parse::<T>().map_err(Into::into);
        text.map(parse)
            .transpose()
            .with_context(|| format!("the setting '{name}'"))
    }

    /// A setting with a default.
    pub fn or<T: DeserializeOwned + Display>(
        &mut self,
        name: &'static str,
        given: Option<T>,
        default: T,
    ) -> Result<T> {
        let value = self.optional(name, given)?.unwrap_or(default);
        if let Some(last) = self.taken.last_mut() {
            last.value = Some(value.to_string());
        }
        Ok(value)
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, value: &toml::Value) -> Result<T> {
        let file = self.file.as_deref().unwrap_or(Path::new("")).display();
        value
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| anyhow!("{file}: '{name}': {}", error.message()))
    }

    /// `models` because each profile has a depth of its own to rerank to.
    pub fn budgets(&mut self, args: &BudgetArgs, models: &ModelSettings) -> Result<Budgets> {
        let default = models.default_budgets()?;
        let budgets = Budgets {
            lexical: self.or("lexical", args.lexical, default.lexical)?,
            dense: self.or("dense", args.dense, default.dense)?,
            dense_ef: self.or("dense-ef", args.dense_ef, default.dense_ef)?,
            rerank: self.or("rerank", args.rerank, default.rerank)?,
            evidence_passages: self.or(
                "evidence-passages",
                args.evidence_passages,
                default.evidence_passages,
            )?,
            evidence_tokens: self.or(
                "evidence-tokens",
                args.evidence_tokens,
                default.evidence_tokens,
            )?,
        };
        budgets.check()?;
        Ok(budgets)
    }

    pub fn cut(&mut self, args: &CutArgs) -> Result<CutSettings> {
        let default = CutSettings::default();
        Ok(CutSettings {
            max_tokens: self.or("max-tokens", args.max_tokens, default.max_tokens)?,
            keep_boilerplate: self.or(
                "keep-boilerplate",
                args.keep_boilerplate,
                default.keep_boilerplate,
            )?,
        })
    }

    pub fn models(&mut self, args: &ModelArgs) -> Result<ModelSettings> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.or("threads", args.threads, cores)?;
        // Each thread of a small model has a session of its own, with its memory.
        let most = cores.saturating_mul(8);
        if threads == 0 || threads > most {
            bail!(
                "threads is {threads}; on this machine of {cores} cores it must be from 1 to {most}"
            );
        }
        Ok(ModelSettings {
            profile: self.or("profile", args.profile.clone(), "small".to_owned())?,
            precision: self.optional("precision", args.precision.clone())?,
            device: self.or("device", args.device.clone(), "auto".to_owned())?,
            threads,
            rerank_cache: self
                .or("rerank-cache", args.rerank_cache, 512)?
                .min(1 << 20),
            fusion: self.parsed("fusion", args.fusion)?,
            blend: self.parsed("blend", args.blend)?,
            catalogue: self.catalogue()?,
        })
    }

    /// A catalogue in place of the built-in one: QUIRE_CATALOGUE or the file.
    pub fn catalogue(&mut self) -> Result<Option<PathBuf>> {
        self.path(
            "catalogue",
            env::var_os("QUIRE_CATALOGUE").map(PathBuf::from),
        )
    }

    /// A path: one in the configuration file is relative to that file.
    pub fn path(&mut self, name: &'static str, given: Option<PathBuf>) -> Result<Option<PathBuf>> {
        let given = given.map(|path| path.display().to_string());
        let is_given = given.is_some();
        let path = self.optional(name, given)?.map(PathBuf::from);
        let beside = self.file.as_deref().and_then(Path::parent);
        Ok(match (path, beside) {
            (Some(path), Some(folder)) if !is_given => Some(folder.join(path)),
            (path, _) => path,
        })
    }

    pub fn color(&mut self, given: Option<ColorWhen>) -> Result<ColorWhen> {
        self.or("color", given, ColorWhen::Auto)
    }
}

impl Display for LogFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

impl Display for ColorWhen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        })
    }
}

/// clap fills a missing flag from the environment; which of the two it was
/// shows on the command line.
fn given_by(name: &str) -> Source {
    let flag = format!("--{name}");
    let on_command_line = env::args().any(|arg| {
        arg.strip_prefix(&flag)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    if on_command_line {
        Source::Flag
    } else {
        Source::Environment
    }
}

fn user_file() -> Option<PathBuf> {
    let folder = match env::var_os("XDG_CONFIG_HOME") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => PathBuf::from(env::var_os("HOME")?).join(".config"),
    };
    Some(folder.join("quire").join("config.toml"))
}
