//! The answer model that the settings ask for.

use std::env;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use quire_answer::{AnswerModel, OpenAiConfig, OpenAiModel, PriceTable, Secret};
use quire_engine::{Models, Prompts};
use quire_server::Answerers;

use crate::args::AnswerArgs;
use crate::settings::Settings;

/// The only place a key is taken from: flags and files are seen by others.
const KEY: &str = "QUIRE_ANSWER_KEY";
/// A proxy's address may hold a password, so it is taken from here alone too.
const PROXY: &str = "QUIRE_ANSWER_PROXY";

/// What answers, as far as it is known before the models are loaded.
pub struct AnswerSettings {
    openai: Option<Arc<dyn AnswerModel>>,
    prompts: Arc<Prompts>,
    /// None where nobody said.
    pub may_abstain: Option<bool>,
    pub workers: usize,
}

impl AnswerSettings {
    /// Reads the settings and checks them; asks nobody anything.
    pub fn read(settings: &mut Settings, args: &AnswerArgs) -> Result<Self> {
        let url = settings.optional("answer-url", args.answer_url.clone())?;
        let model = settings.optional("answer-model", args.answer_model.clone())?;
        let config = OpenAiConfig::new(url.clone().unwrap_or_default(), model.unwrap_or_default());
        let config = OpenAiConfig {
            temperature: Some(settings.or(
                "answer-temperature",
                args.answer_temperature,
                config.temperature.unwrap_or_default(),
            )?),
            seed: Some(settings.or(
                "answer-seed",
                args.answer_seed,
                config.seed.unwrap_or_default(),
            )?),
            max_tokens: settings.or(
                "answer-max-tokens",
                args.answer_max_tokens,
                config.max_tokens,
            )?,
            total_timeout: Duration::from_secs(settings.or(
                "answer-timeout",
                args.answer_timeout,
                config.total_timeout.as_secs(),
            )?),
            extra: extra(settings, args)?,
            prices: prices(settings, args)?,
            ca_bundle: settings.path("answer-ca", args.answer_ca.clone())?,
            ..config
        };
        let tries = settings.or("answer-tries", args.answer_tries, config.retry.attempts)?;
        let prompts = match settings.path("prompts", args.prompts.clone())? {
            Some(folder) => Prompts::with_folder(&folder)?,
            None => Prompts::default(),
        };
        let workers = settings.or("answer-workers", args.answer_workers, 32)?;
        if !(1..=1024).contains(&workers) {
            bail!("answer-workers is {workers}; it must be from 1 to 1024");
        }
        Ok(Self {
            openai: match url {
                Some(_) => Some(openai(config, tries)?),
                None => None,
            },
            prompts: Arc::new(prompts),
            may_abstain: settings.optional("abstain", args.abstain)?,
            workers,
        })
    }

    /// What answers with these models.
    pub fn answerers(self, models: &Models) -> Answerers {
        Answerers {
            openai: self.openai,
            prompts: self.prompts,
            may_abstain: self.may_abstain,
            ..Answerers::built_in(models)
        }
    }
}

fn openai(mut config: OpenAiConfig, tries: u32) -> Result<Arc<dyn AnswerModel>> {
    if config.model.trim().is_empty() {
        bail!(
            "--answer-url names a server, but no --answer-model says which of its models is to \
             answer: give the name that the server lists at its /models"
        );
    }
    config.retry.attempts = tries;
    config.key = secret(KEY)?;
    config.proxy = secret(PROXY)?;
    Ok(Arc::new(OpenAiModel::new(config)?))
}

fn secret(variable: &str) -> Result<Option<Secret>> {
    match env::var(variable) {
        Ok(value) => Secret::parse(&value).with_context(|| format!("{variable} is not usable")),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => bail!("{variable} is not UTF-8"),
    }
}

fn extra(
    settings: &mut Settings,
    args: &AnswerArgs,
) -> Result<serde_json::Map<String, serde_json::Value>> {
    let Some(text) = settings.optional("answer-extra", args.answer_extra.clone())? else {
        return Ok(serde_json::Map::new());
    };
    serde_json::from_str(&text).with_context(|| {
        "answer-extra is no JSON object; give one such as {\"top_p\": 1}".to_owned()
    })
}

fn prices(settings: &mut Settings, args: &AnswerArgs) -> Result<Option<PriceTable>> {
    let Some(file) = settings.path("answer-prices", args.answer_prices.clone())? else {
        return Ok(None);
    };
    let text = fs::read_to_string(&file)
        .with_context(|| format!("cannot read the prices in {}", file.display()))?;
    let table = PriceTable::parse(&text)
        .with_context(|| format!("{} is no table of prices", file.display()))?;
    Ok(Some(table))
}
