use super::*;
use crate::testing::{self, TEXT, begin, commit, manifest, recipe};
use crate::{ArtifactDir, Counts, Kind, Manifest};

const OTHER: &str = "第一章\nThe first passage. 第二段。\nThe end of another";

fn name(given: &str) -> LibraryName {
    given.parse().unwrap()
}

fn books(texts: &[&str]) -> Vec<BookId> {
    texts.iter().map(|text| BookId::of_text(text)).collect()
}

/// The artifact of a set of books, committed.
fn commit_set(store: &Store, texts: &[&str]) -> ArtifactDir {
    let mut ids = books(texts);
    ids.sort_unstable();
    let key = ArtifactKey::new(LibraryId::of_books(&ids), recipe().key());
    let staging = begin(store, key);
    staging.write("bm25/meta.json", b"{}").unwrap();
    let mut of_set = Manifest {
        kind: Kind::Library,
        books: ids,
        source: None,
        ..manifest(TEXT, recipe())
    };
    of_set.counts = Counts {
        body: None,
        ..of_set.counts
    };
    staging.commit(of_set).unwrap()
}

fn point(store: &Store, given: &str, texts: &[&str]) -> NamedLibrary {
    let before = store.library(&name(given)).unwrap();
    let ids = books(texts);
    let pointed = store.point_library(&name(given), before.as_ref(), &ids, recipe().key());
    match pointed.unwrap() {
        Pointed::Done(library) => library,
        Pointed::Outdated => panic!("the library was not changed"),
    }
}

#[test]
fn a_name_leads_to_its_books_in_any_order_and_counts_its_edits() {
    let (_folder, store) = testing::store();
    assert_eq!(store.library(&name("a")).unwrap(), None);
    commit_set(&store, &[TEXT]);
    commit_set(&store, &[TEXT, OTHER]);
    assert_eq!(point(&store, "a", &[TEXT]).version, 1);
    let library = point(&store, "a", &[OTHER, TEXT, OTHER]);
    assert_eq!(library.version, 2);
    assert!(library.books.is_sorted() && library.books.len() == 2);
    assert_eq!(store.library(&name("a")).unwrap(), Some(library));
}

#[test]
fn a_name_is_not_pointed_where_nothing_is_or_over_a_change_it_has_not_seen() {
    let (_folder, store) = testing::store();
    let key = recipe().key();
    let to = |before: Option<&NamedLibrary>, texts: &[&str]| {
        store.point_library(&name("a"), before, &books(texts), key)
    };
    assert_eq!(to(None, &[TEXT]).unwrap(), Pointed::Outdated);
    commit_set(&store, &[TEXT]);
    let first = point(&store, "a", &[TEXT]);
    assert_eq!(to(None, &[TEXT]).unwrap(), Pointed::Outdated);
    assert_eq!(store.library(&name("a")).unwrap().as_ref(), Some(&first));
    assert!(matches!(to(Some(&first), &[]), Err(LibraryError::Empty(_))));
}

#[test]
fn an_artifact_goes_with_the_last_name_that_leads_to_it_and_stays_open() {
    let (_folder, store) = testing::store();
    let artifact = commit_set(&store, &[TEXT]);
    let mapped = artifact.map("bm25/meta.json").unwrap();
    point(&store, "a", &[TEXT]);
    point(&store, "b", &[TEXT]);
    store.remove_library(&name("a")).unwrap();
    assert!(artifact.path().exists());
    store.remove_library(&name("b")).unwrap();
    assert!(!artifact.path().exists());
    assert_eq!(mapped[..], *b"{}");
    assert!(matches!(
        store.remove_library(&name("b")),
        Err(LibraryError::Unknown(_))
    ));
}

#[test]
fn the_artifact_of_a_former_set_goes_when_its_library_changes() {
    let (_folder, store) = testing::store();
    let former = commit_set(&store, &[TEXT]);
    let later = commit_set(&store, &[TEXT, OTHER]);
    point(&store, "a", &[TEXT]);
    point(&store, "a", &[TEXT, OTHER]);
    assert!(!former.path().exists() && later.path().exists());
}

#[test]
fn a_book_of_a_library_is_not_removed_before_it_is_taken_out() {
    let (_folder, store) = testing::store();
    let book = commit(&store, TEXT, recipe());
    commit_set(&store, &[TEXT]);
    point(&store, "dickens", &[TEXT]);
    let id = BookId::of_text(TEXT);
    let said = store.remove(id).unwrap_err().to_string();
    assert!(said.contains("is in library dickens"), "{said}");
    assert!(said.contains(&format!("quire library remove dickens {}", id.short())));
    assert!(book.path().exists());
    store.remove_library(&name("dickens")).unwrap();
    assert_eq!(store.remove(id).unwrap().len(), 1);
}

#[test]
fn a_damaged_name_is_said_to_be_and_can_be_removed() {
    let (_folder, store) = testing::store();
    commit_set(&store, &[TEXT]);
    point(&store, "a", &[TEXT]);
    let path = store.root().join("names/a.json");
    let sound = fs::read_to_string(&path).unwrap();
    let unsorted = sound.replace("\"books\": [", "\"books\": [\n\"ff\",");
    for bytes in [
        "",
        "{}",
        "[]",
        &sound.replace("\"format\": 1", "\"format\": 9"),
        &unsorted,
    ] {
        fs::write(&path, bytes).unwrap();
        let said = store.library(&name("a")).unwrap_err().to_string();
        assert!(said.contains("a.json is damaged"), "{said}");
        assert!(store.libraries().unwrap()[0].1.is_err());
    }
    store.remove_library(&name("a")).unwrap();
    assert!(store.libraries().unwrap().is_empty());
}

#[test]
fn what_an_edit_left_that_was_killed_is_no_library() {
    let (_folder, store) = testing::store();
    commit_set(&store, &[TEXT]);
    point(&store, "a", &[TEXT]);
    fs::write(store.root().join("names/b.new"), "half").unwrap();
    fs::write(store.root().join("names/.json"), "").unwrap();
    fs::write(store.root().join("names/c.json"), "{}").unwrap();
    let said: Vec<String> = store
        .strangers()
        .unwrap()
        .into_iter()
        .map(|finding| finding.what)
        .collect();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[0].contains("does not belong"), "{said:?}");
    assert!(said[1].contains("which is not indexed"), "{said:?}");
    assert!(said[2].contains("is left from a change"), "{said:?}");
    assert!(said[3].contains("is damaged"), "{said:?}");
    fs::remove_file(store.root().join("names/c.json")).unwrap();
    let names: Vec<LibraryName> = store
        .libraries()
        .unwrap()
        .into_iter()
        .map(|l| l.0)
        .collect();
    assert_eq!(names, [name("a")]);
}
