//! Loading the library: alone in its process, since that happens once.

#![allow(clippy::unwrap_used)]

mod support;

use quire_onnx::{Runtime, RuntimeError};

#[test]
fn a_wrong_library_is_an_error_and_the_right_one_loads_once() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Runtime::load(&folder.path().join("libonnxruntime.so")).unwrap_err();
    assert!(matches!(missing, RuntimeError::Missing { .. }));

    // Neither text nor an empty file is a library, and a failure is no
    // obstacle to the next try.
    let wrong = folder.path().join("wrong.so");
    for content in ["", "this is no library"] {
        std::fs::write(&wrong, content).unwrap();
        let error = Runtime::load(&wrong).unwrap_err();
        assert!(matches!(error, RuntimeError::Unusable { .. }));
        assert!(error.to_string().contains("wrong.so"), "{error}");
        assert!(error.to_string().contains("scripts/setup.sh"), "{error}");
    }

    let runtime = Runtime::load(&support::library()).unwrap();
    assert!(
        runtime.build_info().contains("ORT"),
        "{}",
        runtime.build_info()
    );
    let again = Runtime::load(runtime.library()).unwrap();
    assert_eq!(again.library(), runtime.library());

    let other = Runtime::load(&wrong).unwrap_err();
    assert!(matches!(other, RuntimeError::Other { .. }));
}
