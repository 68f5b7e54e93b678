//! Manifests that are whole and manifests that are not.

use super::*;
use crate::testing::{self, TEXT};
use std::error::Error;

fn written(manifest: &Manifest) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MANIFEST_FILE);
    manifest
        .write(&path, &folder.path().join("beside"))
        .unwrap();
    (folder, path)
}

fn sample() -> Manifest {
    let mut manifest = testing::manifest(TEXT, testing::recipe());
    manifest.files = ["bm25/meta.json", "text.txt"]
        .map(|path| FileEntry {
            path: path.into(),
            bytes: 3,
            sha256: "0".repeat(64),
        })
        .to_vec();
    manifest
}

#[test]
fn a_manifest_is_read_back_as_it_was_written_to_the_last_digit() {
    let manifest = sample();
    let (folder, path) = written(&manifest);
    assert_eq!(Manifest::read(&path).unwrap(), manifest);
    assert!(!folder.path().join("beside").exists());
}

#[test]
fn what_is_wrong_with_a_manifest_is_told_apart() {
    let (_folder, path) = written(&sample());
    let whole = fs::read_to_string(&path).unwrap();
    let message_of = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = Manifest::read(&path).unwrap_err();
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        format!("{error} | {cause}")
    };
    for (damaged, expected) in [
        (String::new(), "is not a manifest of quire | EOF"),
        (
            "{}".into(),
            "is not a manifest of quire | missing field `schema`",
        ),
        (
            whole.replace("\"passages\": 2,", ""),
            "missing field `passages`",
        ),
        (
            whole.replace("\"schema\": 1", "\"schema\": 2"),
            "has schema version 2, this quire reads 1: use a newer quire",
        ),
        (
            whole.replace("\"passages\": 2", "\"passages\": 3"),
            "is damaged or was edited",
        ),
        (
            whole.replace("\"k1\": 1.2", "\"k1\": 1.3"),
            "has a recipe of another version of quire",
        ),
        (
            whole.replace("\"passages\": 2", "\"passages\": 2, \"new\": 1"),
            "unknown field `new`",
        ),
    ] {
        let message = message_of(&damaged);
        assert!(message.contains(expected), "{message}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        Manifest::read(&path),
        Err(ManifestError::Missing { .. })
    ));
}

#[test]
fn a_manifest_cut_short_anywhere_is_refused() {
    let (_folder, path) = written(&sample());
    let whole = fs::read(&path).unwrap();
    // The last byte is a line feed that may be missing.
    for length in 0..whole.len() - 1 {
        assert!(Manifest::of_json(&whole[..length], &path).is_err());
    }
}

#[test]
fn a_flipped_bit_changes_nothing_unseen() {
    let manifest = sample();
    let (_folder, path) = written(&manifest);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            // White space may become other white space, and the last
            // digit of a number one that rounds to the same.
            if let Ok(read) = Manifest::of_json(&flipped, &path) {
                assert_eq!(read, manifest, "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn a_file_outside_the_artifact_is_no_file_of_it() {
    for wrong in [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "./a",
        "a/",
        r"a\b",
        MANIFEST_FILE,
    ] {
        assert!(!stays_inside(wrong), "{wrong}");
    }
    assert!(stays_inside("bm25/meta.json"));
    let mut manifest = sample();
    manifest.files[0].path = "../x".into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MANIFEST_FILE);
    let written = manifest.write(&path, &folder.path().join("beside"));
    assert!(matches!(written, Err(ManifestError::Unsound { .. })));
}

#[test]
fn a_number_that_is_none_is_not_written() {
    let mut manifest = sample();
    manifest.build.tokens_per_second = Some(f64::NAN);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(MANIFEST_FILE);
    let written = manifest.write(&path, &folder.path().join("beside"));
    assert!(matches!(written, Err(ManifestError::Unsound { .. })));
}
