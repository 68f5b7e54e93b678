//! Prompts: templates in files, filled in one pass, so that nothing that is
//! filled in is ever read as a placeholder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quire_answer::{Language, Message, Role, Task};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::assemble::{Evidence, EvidenceItem};

/// Characters of the code in the marks around evidence.
const FENCE_DIGITS: usize = 12;
/// Stands for a code where only its length matters.
pub(crate) const FENCE_CHARS: &str = "0123456789ab";
/// The longest title or heading that is shown.
const LABEL_CHARS: usize = 120;

/// The prompts there are: name and the built-in text.
const BUILT_IN: [(&str, &str); 4] = [
    ("choice.en", include_str!("../../prompts/choice.en.toml")),
    ("choice.zh", include_str!("../../prompts/choice.zh.toml")),
    ("free.en", include_str!("../../prompts/free.en.toml")),
    ("free.zh", include_str!("../../prompts/free.zh.toml")),
];

/// A prompt for each kind of question and language.
#[derive(Debug, Clone)]
pub struct Prompts {
    templates: BTreeMap<&'static str, Template>,
}

/// One prompt, as its file has it.
#[derive(Debug, Clone)]
pub struct Template {
    name: &'static str,
    digest: String,
    source: String,
    built_in: bool,
    parts: Parts,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    version: String,
    system: String,
    user: String,
    abstain: String,
    guess: String,
}

/// Which prompt was used, so that two answers can be told apart by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// Its name, such as `free.en`.
    pub name: String,
    /// The version that its file states.
    pub version: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// SHA-256 of the messages that were sent.
    pub rendered: String,
    /// Their tokens, by the embedder's tokenizer; the answer model counts by
    /// its own.
    pub tokens: u64,
}

/// Why prompts cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A file or the folder cannot be read.
    #[error("cannot read the prompts in {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file that is no prompt.
    #[error("{} is no prompt: a prompt is called {known}", path.display())]
    UnknownFile {
        /// Which one.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// A file of another shape.
    #[error("the prompt {} is not usable: expected version, system, user, abstain and guess, all text", path.display())]
    Shape {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A placeholder that does not exist, or one that is needed and missing.
    #[error("the prompt {} {fault}", path.display())]
    Placeholder {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
}

impl Default for Prompts {
    fn default() -> Self {
        let templates = BUILT_IN.iter().map(|&(name, text)| {
            let path = PathBuf::from(format!("{name}.toml"));
            let template = Template::parse(name, &path, text.to_owned(), true);
            // A test reads every built-in prompt.
            (name, template.unwrap_or_else(|error| panic!("{error}")))
        });
        Self {
            templates: templates.collect(),
        }
    }
}

impl Prompts {
    /// The built-in prompts, each replaced by the file `NAME.toml` of a folder
    /// where there is one.
    ///
    /// # Errors
    /// When a file cannot be read, is called otherwise, or is no usable prompt.
    pub fn with_folder(folder: &Path) -> Result<Self, PromptError> {
        let mut prompts = Self::default();
        let read = |source| PromptError::Read {
            path: folder.to_owned(),
            source,
        };
        for entry in fs::read_dir(folder).map_err(read)? {
            let path = entry.map_err(read)?.path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let name = BUILT_IN.iter().find(|(name, _)| Some(*name) == stem);
            let Some(&(name, _)) = name else {
                let known: Vec<String> = BUILT_IN
                    .iter()
                    .map(|(name, _)| format!("{name}.toml"))
                    .collect();
                return Err(PromptError::UnknownFile {
                    path,
                    known: known.join(", "),
                });
            };
            let text = fs::read_to_string(&path).map_err(|source| PromptError::Read {
                path: path.clone(),
                source,
            })?;
            let template = Template::parse(name, &path, text, false)?;
            prompts.templates.insert(name, template);
        }
        Ok(prompts)
    }

    /// Every prompt, by name.
    pub fn all(&self) -> impl Iterator<Item = &Template> {
        self.templates.values()
    }

    /// The messages for a question. The same input gives the same text.
    pub(crate) fn render(
        &self,
        task: &Task,
        language: Language,
        question: &str,
        evidence: &Evidence,
        may_abstain: bool,
    ) -> Rendered {
        let kind = match task {
            Task::MultipleChoice { .. } => "choice",
            Task::FreeForm => "free",
        };
        let suffix = match language {
            Language::En => "en",
            Language::Zh => "zh",
        };
        // All four are there from the beginning.
        let template = &self.templates[format!("{kind}.{suffix}").as_str()];
        let fence = fence(evidence, question);
        let blocks: Vec<String> = evidence
            .items
            .iter()
            .map(|item| block(item, &fence))
            .collect();
        let blocks = match (blocks.is_empty(), language) {
            (true, Language::En) => "(no evidence was found)".to_owned(),
            (true, Language::Zh) => "（没有找到证据）".to_owned(),
            (false, _) => blocks.join("\n\n"),
        };
        let (letters, options) = match task {
            Task::MultipleChoice { options } => lettered(options),
            Task::FreeForm => (String::new(), String::new()),
        };
        let parts = &template.parts;
        let unsupported = if may_abstain {
            &parts.abstain
        } else {
            &parts.guess
        };
        let mut values = BTreeMap::from([
            ("evidence", blocks.as_str()),
            ("question", question.trim()),
            ("options", &options),
            ("letters", &letters),
            ("code", &fence),
            ("not_found", language.not_found()),
        ]);
        let unsupported = fill(unsupported, &values);
        values.insert("unsupported", &unsupported);
        let message = |role, text: &str| Message {
            role,
            content: fill(text, &values).trim().to_owned(),
        };
        Rendered {
            name: template.name,
            version: parts.version.clone(),
            digest: template.digest.clone(),
            messages: vec![
                message(Role::System, &parts.system),
                message(Role::User, &parts.user),
            ],
        }
    }
}

impl Template {
    fn parse(
        name: &'static str,
        path: &Path,
        source: String,
        built_in: bool,
    ) -> Result<Self, PromptError> {
        let parts: Parts = toml::from_str(&source).map_err(|error| PromptError::Shape {
            path: path.to_owned(),
            source: Box::new(error),
        })?;
        let template = Self {
            name,
            digest: hex(&Sha256::digest(source.as_bytes())),
            source,
            built_in,
            parts,
        };
        template.check().map_err(|fault| PromptError::Placeholder {
            path: path.to_owned(),
            fault,
        })?;
        Ok(template)
    }

    /// Its name, such as `choice.en`; its file is that and `.toml`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The version that its file states.
    pub fn version(&self) -> &str {
        &self.parts.version
    }

    /// SHA-256 of its file.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The whole file.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is the one that comes with the program.
    pub fn is_built_in(&self) -> bool {
        self.built_in
    }

    fn check(&self) -> Result<(), String> {
        let choice = self.name.starts_with("choice");
        let mut known = vec!["evidence", "question", "code", "not_found"];
        if choice {
            known.extend(["options", "letters"]);
        }
        let parts = &self.parts;
        for (part, text) in [("abstain", &parts.abstain), ("guess", &parts.guess)] {
            check_placeholders(part, text, &known)?;
        }
        known.push("unsupported");
        for (part, text) in [("system", &parts.system), ("user", &parts.user)] {
            check_placeholders(part, text, &known)?;
        }
        let mut needed = vec!["evidence", "question", "unsupported"];
        if choice {
            needed.push("options");
        }
        for name in needed {
            let placeholder = format!("{{{name}}}");
            if !parts.user.contains(&placeholder) && !parts.system.contains(&placeholder) {
                return Err(format!("lacks {placeholder}"));
            }
        }
        Ok(())
    }
}

fn check_placeholders(part: &str, text: &str, known: &[&str]) -> Result<(), String> {
    for piece in pieces(text) {
        if let Piece::Placeholder(name) = piece
            && !known.contains(&name)
        {
            let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(format!(
                "has {{{name}}} in its {part}, where there are only {}",
                known.join(", ")
            ));
        }
    }
    Ok(())
}

/// A prompt with everything in its place.
pub(crate) struct Rendered {
    name: &'static str,
    version: String,
    digest: String,
    pub(crate) messages: Vec<Message>,
}

impl Rendered {
    /// What the trace keeps of it.
    pub(crate) fn record(&self, tokens: u64) -> PromptRecord {
        let mut rendered = Sha256::new();
        for Message { role, content } in &self.messages {
            // Lengths keep two messages from being one.
            rendered.update(format!("{} {}\n", role.as_str(), content.len()));
            rendered.update(content.as_bytes());
        }
        PromptRecord {
            name: self.name.to_owned(),
            version: self.version.clone(),
            digest: self.digest.clone(),
            rendered: hex(&rendered.finalize()),
            tokens,
        }
    }
}

/// The options' letters, and a line for each option.
fn lettered(options: &[String]) -> (String, String) {
    let letters: Vec<String> = ('A'..='Z').take(options.len()).map(String::from).collect();
    let lines = letters.iter().zip(options);
    let lines = lines.map(|(letter, option)| format!("{letter}. {}", one_line_whole(option)));
    (letters.join(", "), lines.collect::<Vec<_>>().join("\n"))
}

/// An item as the prompt shows it: its text, unchanged, between two marks that
/// hold a code.
pub(crate) fn block(item: &EvidenceItem, fence: &str) -> String {
    let EvidenceItem { number, text, .. } = item;
    let label = item.label();
    let text = text.trim_end();
    format!("<<<{fence} [{number}] {label}>>>\n{text}\n<<<{fence} end of [{number}]>>>")
}

/// A code that is in no text it is to fence in. It comes from a hash of them
/// all, so that no author can have known it.
fn fence(evidence: &Evidence, question: &str) -> String {
    for attempt in 0_u64.. {
        let mut hash = Sha256::new();
        hash.update(attempt.to_le_bytes());
        hash.update(question.as_bytes());
        for item in &evidence.items {
            hash.update(item.text.len().to_le_bytes());
            hash.update(item.text.as_bytes());
        }
        let mut code = hex(&hash.finalize());
        code.truncate(FENCE_DIGITS);
        let is_in = |text: &str| text.contains(&code);
        let taken = is_in(question)
            || evidence.items.iter().any(|item| {
                is_in(&item.text)
                    || is_in(&item.title)
                    || item.chapter.as_deref().is_some_and(is_in)
            });
        if !taken {
            return code;
        }
    }
    unreachable!("some code is in no text")
}

/// A title or heading as one line of bounded length that cannot end a mark.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '<' && c != '>';
    let words = text.split(|c| !plain(c)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let mut line: String = words.join(" ").chars().take(LABEL_CHARS).collect();
    if line.is_empty() {
        line.push('-');
    }
    line
}

/// All of a text on one line.
fn one_line_whole(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A piece of a template.
enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// A template's pieces. A placeholder is a name of lower-case letters and `_`
/// in braces; any other brace is text.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut text_end = 0;
    while let Some(open) = rest[text_end..].find('{') {
        let open = text_end + open;
        let inside = &rest[open + 1..];
        let length = inside.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        match length {
            Some(length) if length > 0 && inside[length..].starts_with('}') => {
                pieces.push(Piece::Text(&rest[..open]));
                pieces.push(Piece::Placeholder(&inside[..length]));
                rest = &inside[length + 1..];
                text_end = 0;
            }
            _ => text_end = open + 1,
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn fill(template: &str, values: &BTreeMap<&str, &str>) -> String {
    let mut filled = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => filled += text,
            // Every placeholder was checked when the template was read.
            Piece::Placeholder(name) => filled += values.get(name).copied().unwrap_or_default(),
        }
    }
    filled
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
