//! Given passages as a book.

use quire_corpus::{
    BookId, Chunk, EncodingHow, EncodingReport, Format, Malformed, Passages, ReadReport, SourceBook,
};

use super::{Given, SetBook};
use crate::datasets::Document;

/// Passages joined into a text, and where they lie in it.
pub(super) fn as_book(title: &str, documents: &[Document]) -> SetBook {
    let mut text = String::new();
    let mut chunks = Vec::with_capacity(documents.len());
    for document in documents {
        let start = text.len();
        text.push_str(&document.text);
        text.push('\n');
        chunks.push(Chunk {
            span: start..text.len(),
            chapter: None,
            tokens: 0,
        });
    }
    let passages = Passages {
        body: 0..text.len(),
        chapters: Vec::new(),
        chunks,
    };
    let report = ReadReport {
        format: Format::Text,
        encoding: EncodingReport {
            name: "UTF-8".to_owned(),
            how: EncodingHow::Given,
            confidence: 1.0,
            runner_up: None,
        },
        malformed: Malformed::default(),
        problems: Vec::new(),
    };
    SetBook {
        title: title.to_owned(),
        source: SourceBook {
            id: BookId::of_text(&text),
            text,
            title: Some(title.to_owned()),
            author: None,
            language: None,
            source: title.to_owned(),
            report,
        },
        given: Some(Given {
            passages,
            names: documents
                .iter()
                .map(|document| document.id.clone())
                .collect(),
        }),
    }
}
