//! Building the text of a document from its elements.

use std::ops::ControlFlow;

use super::element::{Display, Effect, PARAGRAPH_SCOPE, display, effect, ends, is_hidden};
use super::space::{is_html_space, joins_without_space, one_line};
use super::{Extracted, Flow, Markup, TooDeep};

/// What separates a block from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Separator {
    Line,
    BlankLine,
}

/// White space that is due before the next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    /// White space with a line end in it.
    LineEnd,
    Tab,
}

/// An element that is open and matters.
#[derive(Debug)]
struct Open {
    name: String,
    display: Display,
    effect: Effect,
}

/// The heading being collected.
#[derive(Debug)]
struct Heading {
    /// From 1; 0 until a group's first heading is seen.
    level: u8,
    is_group: bool,
}

/// The state of an extraction. Works without recursion, so that nesting costs
/// no stack.
#[derive(Debug)]
pub(super) struct Extraction {
    max_depth: usize,
    /// HTML leaves end tags out; XML does not.
    implies_ends: bool,
    open: Vec<Open>,
    too_deep: bool,
    hidden: usize,
    preformatted: usize,
    heading: Option<Heading>,
    in_title: bool,
    title: String,
    language: Option<String>,
    text: String,
    /// The block being collected.
    block: String,
    gap: Gap,
    separator: Separator,
}

impl Extraction {
    pub(super) fn of_html(max_depth: usize) -> Self {
        Self {
            implies_ends: true,
            ..Self::of_xml(max_depth)
        }
    }

    pub(super) fn of_xml(max_depth: usize) -> Self {
        Self {
            max_depth,
            implies_ends: false,
            open: Vec::new(),
            too_deep: false,
            hidden: 0,
            preformatted: 0,
            heading: None,
            in_title: false,
            title: String::new(),
            language: None,
            text: String::new(),
            block: String::new(),
            gap: Gap::None,
            separator: Separator::BlankLine,
        }
    }

    pub(super) fn take(&mut self, markup: Markup<'_>) -> Flow {
        match markup {
            Markup::Start { name, attributes } => self.start(name, attributes),
            Markup::End { name } => self.end(name),
            Markup::Text(text) => self.characters(text),
        }
        if self.too_deep {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    pub(super) fn finish(mut self) -> Result<Extracted, TooDeep> {
        if self.too_deep {
            return Err(TooDeep);
        }
        self.flush();
        let title = one_line(&self.title);
        Ok(Extracted {
            text: self.text,
            title: (!title.is_empty()).then_some(title),
            language: self.language,
        })
    }

    fn start(&mut self, name: &str, attributes: &[(String, String)]) {
        let display = display(name);
        if self.implies_ends {
            self.end_implied(name, display);
        }
        let visible = self.hidden == 0;
        match display {
            Display::Void => return,
            Display::Break => {
                if visible {
                    self.line_break();
                }
                return;
            }
            _ => {}
        }
        let effect = match effect(name) {
            Effect::Title if visible && self.title.is_empty() => Effect::Title,
            Effect::Title => Effect::Hidden,
            _ if is_hidden(attributes) => Effect::Hidden,
            effect => effect,
        };
        if visible {
            self.set_off(name, display, effect);
        }
        if name == "hr" {
            return;
        }
        if name == "html" {
            self.language = attribute(attributes, "xml:lang").or(attribute(attributes, "lang"));
        }
        if visible && effect == Effect::Plain && !is_remembered(name, display) {
            return;
        }
        if self.open.len() >= self.max_depth {
            self.too_deep = true;
            return;
        }
        match effect {
            Effect::Hidden => self.hidden += 1,
            Effect::Title => {
                self.hidden += 1;
                self.in_title = true;
            }
            Effect::Preformatted => self.preformatted += 1,
            Effect::Plain | Effect::Heading(_) | Effect::HeadingGroup => {}
        }
        self.open.push(Open {
            name: name.to_owned(),
            display,
            effect,
        });
    }

    /// Ends the block before an element and begins its own.
    fn set_off(&mut self, name: &str, display: Display, effect: Effect) {
        // A heading that was never closed must not swallow the chapter.
        let is_stray = self.heading.as_ref().is_some_and(|heading| {
            !heading.is_group
                && (matches!(effect, Effect::Heading(_)) || (name == "p" && !self.block.is_empty()))
        });
        if is_stray {
            self.end_heading();
        }
        match display {
            Display::Block => self.boundary(Separator::BlankLine),
            Display::Row => self.boundary(Separator::Line),
            Display::Cell if !self.block.is_empty() => self.gap = Gap::Tab,
            _ => {}
        }
        match (effect, &mut self.heading) {
            (Effect::Heading(level), None) => {
                self.heading = Some(Heading {
                    level,
                    is_group: false,
                });
            }
            (Effect::Heading(level), Some(group)) if group.level == 0 => group.level = level,
            (Effect::HeadingGroup, None) => {
                self.heading = Some(Heading {
                    level: 0,
                    is_group: true,
                });
            }
            _ => {}
        }
    }

    fn end_implied(&mut self, name: &str, display: Display) {
        if let Some((ended, scope)) = ends(name) {
            self.end_nearest(ended, scope);
        } else if display == Display::Block && name != "title" {
            self.end_nearest(&["p"], PARAGRAPH_SCOPE);
        }
    }

    /// Ends the innermost open element of these names, unless one of the
    /// scope's is further in.
    fn end_nearest(&mut self, names: &[&str], scope: &[&str]) {
        let nearest = self
            .open
            .iter()
            .rposition(|open| names.contains(&&*open.name) || scope.contains(&&*open.name));
        if let Some(place) = nearest
            && names.contains(&&*self.open[place].name)
        {
            self.end_from(place);
        }
    }

    fn end(&mut self, name: &str) {
        let display = display(name);
        if matches!(display, Display::Void | Display::Break)
            || (self.hidden == 0 && !is_remembered(name, display))
        {
            return;
        }
        let is_heading = matches!(effect(name), Effect::Heading(_));
        let place = self.open.iter().rposition(|open| {
            // HTML ends any heading with the end tag of any other.
            open.name == name || (is_heading && matches!(open.effect, Effect::Heading(_)))
        });
        if let Some(place) = place {
            self.end_from(place);
        } else if self.hidden == 0 && display == Display::Block {
            self.boundary(Separator::BlankLine);
        }
    }

    fn end_from(&mut self, place: usize) {
        while self.open.len() > place {
            let Some(open) = self.open.pop() else {
                return;
            };
            self.close(&open);
        }
    }

    fn close(&mut self, open: &Open) {
        let in_group = self
            .heading
            .as_ref()
            .is_some_and(|heading| heading.is_group);
        match open.effect {
            Effect::Hidden => self.hidden -= 1,
            Effect::Title => {
                self.hidden -= 1;
                self.in_title = false;
            }
            Effect::Heading(_) if self.hidden == 0 && !in_group => self.end_heading(),
            Effect::HeadingGroup if self.hidden == 0 => self.end_heading(),
            _ => {}
        }
        if self.hidden == 0 {
            match open.display {
                Display::Block => self.boundary(Separator::BlankLine),
                Display::Row => self.boundary(Separator::Line),
                _ => {}
            }
        }
        // After the boundary, which still belongs to the preformatted block.
        if open.effect == Effect::Preformatted {
            self.preformatted -= 1;
        }
    }

    fn end_heading(&mut self) {
        self.flush();
        self.heading = None;
        self.separator = Separator::BlankLine;
    }

    fn boundary(&mut self, separator: Separator) {
        if self.heading.is_some() {
            self.gap = self.gap.max(Gap::Space);
            return;
        }
        self.flush();
        self.separator = self.separator.max(separator);
    }

    /// Adds the block to the text, unless it is blank.
    fn flush(&mut self) {
        self.gap = Gap::None;
        let block = std::mem::take(&mut self.block);
        let block = block
            .trim_end_matches(is_html_space)
            .trim_start_matches('\n');
        if block.trim().is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(match self.separator {
                Separator::Line => "\n",
                Separator::BlankLine => "\n\n",
            });
        }
        match &self.heading {
            Some(heading) if heading.level > 0 => {
                for _ in 0..heading.level {
                    self.text.push('#');
                }
                self.text.push(' ');
                self.text.push_str(&one_line(block));
            }
            _ => self.text.push_str(block),
        }
        self.separator = Separator::Line;
    }

    fn line_break(&mut self) {
        if self.heading.is_some() {
            self.gap = self.gap.max(Gap::Space);
            return;
        }
        self.gap = Gap::None;
        // Two breaks make a blank line; more make no larger one.
        if !self.block.is_empty() && !self.block.ends_with("\n\n") {
            self.block.push('\n');
        }
    }

    fn characters(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        }
        if self.hidden > 0 {
            return;
        }
        if self.preformatted > 0 && self.heading.is_none() {
            self.block
                .extend(text.chars().filter(|&c| c != '\0').map(|c| match c {
                    '\r' => '\n',
                    other => other,
                }));
            return;
        }
        for character in text.chars() {
            match character {
                '\n' | '\r' => self.gap = self.gap.max(Gap::LineEnd),
                _ if is_html_space(character) => self.gap = self.gap.max(Gap::Space),
                // The HTML standard drops it.
                '\0' => {}
                _ => {
                    self.fill_gap(character);
                    self.block.push(character);
                }
            }
        }
    }

    /// Writes the white space between the block so far and the character.
    fn fill_gap(&mut self, next: char) {
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        let Some(before) = self.block.chars().next_back() else {
            return;
        };
        if before == '\n' {
            return;
        }
        match gap {
            Gap::None => {}
            Gap::Tab => self.block.push('\t'),
            // A line of Chinese or Japanese goes on without a space.
            Gap::LineEnd if joins_without_space(before, next) => {}
            Gap::Space | Gap::LineEnd => self.block.push(' '),
        }
    }
}

/// An element in the line changes nothing unless it hides, so it need not be
/// remembered: old HTML leaves thousands of them open. The end of a ruby ends
/// the reading in it.
fn is_remembered(name: &str, display: Display) -> bool {
    display != Display::Inline || name == "ruby"
}

fn attribute(attributes: &[(String, String)], name: &str) -> Option<String> {
    attributes
        .iter()
        .find(|(key, value)| key == name && !value.is_empty())
        .map(|(_, value)| value.clone())
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
