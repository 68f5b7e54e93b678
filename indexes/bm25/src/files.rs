//! What an index's folder holds.

use std::path::{Path, PathBuf};

use tantivy::directory::error::OpenReadError;
use tantivy::index::SegmentId;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;
use tantivy::{Index, IndexMeta, IndexSettings, SegmentMeta};

use crate::Bm25Error;
use crate::directory::MappedDirectory;

/// tantivy names a segment at random; ours has this name in every artifact, so
/// that equal texts give equal files.
const SEGMENT: &str = "00000000000000000000000000000001";

/// The file that lists the segments.
pub(crate) const META: &str = "meta.json";

/// tantivy's list of files it may delete one day. It is written in the order
/// of a hash map, and nothing is ever deleted here: it does not stay.
pub(crate) const MANAGED: &str = ".managed.json";

/// The fields of a passage.
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// The terms and how often each occurs; no positions, and no norms, for
    /// those round the length to one byte.
    pub(crate) terms: Field,
    /// How many terms, repeats included.
    pub(crate) length: Field,
}

/// The column of [`Fields::length`].
pub(crate) const LENGTH: &str = "length";

impl Fields {
    pub(crate) fn new() -> Self {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::WithFreqs);
        let mut schema = Schema::builder();
        let terms = schema.add_text_field(
            "terms",
            TextOptions::default().set_indexing_options(indexing),
        );
        let length = schema.add_u64_field(LENGTH, FAST);
        Self {
            schema: schema.build(),
            terms,
            length,
        }
    }
}

/// No passage is stored, so there is nothing to compress and no thread to do it.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// The one segment of an index of so many passages.
pub(crate) fn segment(index: &Index, rows: u32) -> SegmentMeta {
    let id = SegmentId::from_uuid_string(SEGMENT).expect("the name is a UUID");
    index.new_segment_meta(id, rows)
}

/// What [`META`] says of an index of so many passages.
pub(crate) fn meta(index: &Index, rows: u32) -> IndexMeta {
    IndexMeta {
        index_settings: settings(),
        segments: vec![segment(index, rows)],
        ..IndexMeta::with_schema(Fields::new().schema)
    }
}

/// The files of the segment that are there, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn segment_files(
    index: &Index,
    meta: &IndexMeta,
) -> Result<Vec<PathBuf>, OpenReadError> {
    use tantivy::Directory;
    let mut files = Vec::new();
    for file in meta.list_segment_files() {
        if index.directory().exists(&file)? {
            files.push(file);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Opens the index in `dir` and finds it to be one of ours. tantivy itself
/// would also open one with other fields, deletions or many segments.
///
/// # Errors
/// When the files cannot be read or were not written by this version.
pub(crate) fn open(dir: &Path) -> Result<(Index, IndexMeta), Bm25Error> {
    let failed = |source: tantivy::TantivyError| Bm25Error::Open {
        dir: dir.to_owned(),
        source: Box::new(source),
    };
    let index = Index::open(MappedDirectory::new(dir)).map_err(failed)?;
    let found = index.load_metas().map_err(failed)?;
    let rows = found.segments.first().map_or(0, SegmentMeta::max_doc);
    let ours = meta(&index, rows);
    // The whole of the JSON: fields and their options, settings, segments.
    if format!("{found:?}") != format!("{ours:?}") {
        return Err(Bm25Error::Foreign {
            dir: dir.to_owned(),
            detail: format!("its {META} describes another index"),
        });
    }
    Ok((index, ours))
}

/// Compares every file with the checksum at its end.
///
/// # Errors
/// When a file differs or cannot be read.
pub(crate) fn check_sums(dir: &Path, index: &Index, meta: &IndexMeta) -> Result<(), Bm25Error> {
    let failed = |source: OpenReadError| Bm25Error::Open {
        dir: dir.to_owned(),
        source: Box::new(source.into()),
    };
    for file in segment_files(index, meta).map_err(failed)? {
        if !index.directory().validate_checksum(&file).map_err(failed)? {
            return Err(Bm25Error::Damaged {
                dir: dir.to_owned(),
                detail: format!("the checksum of {} does not match", file.display()),
            });
        }
    }
    Ok(())
}
