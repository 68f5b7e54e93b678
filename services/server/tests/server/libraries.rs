//! Libraries: made, changed, searched and removed.

use quire_corpus::BookId;
use serde_json::{Value, json};

use crate::client::{Answer, request};
use crate::support::{Server, index, quick, rooms, wait};

fn green() -> String {
    BookId::of_text(&rooms("green", 30)).to_string()
}

fn red() -> String {
    BookId::of_text(&rooms("red", 20)).to_string()
}

fn send(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    let json_type = [("content-type", "application/json")];
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    server.ask(request(method, path, &json_type, body.as_bytes()))
}

fn create(server: &Server, name: &str, books: &[&str]) -> Answer {
    let library = json!({"name": name, "books": books});
    send(server, "POST", "/v1/libraries", &library)
}

fn search_in(server: &Server, library: &str) -> Answer {
    server.search(&json!({
        "question": "Which lamp stood in room7?",
        "scope": {"library": library},
    }))
}

#[test]
fn a_library_is_searched_from_the_answer_that_made_it_until_the_one_that_removed_it() {
    let server = Server::start(quick());
    let (green, red) = (green(), red());
    assert_eq!(search_in(&server, "lamps").code(), "unknown_library");
    let made = create(&server, "lamps", &[&red[..8]]);
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(
        (
            &made["name"],
            &made["version"],
            &made["books"],
            &made["passages"]
        ),
        (&json!("lamps"), &json!(1), &json!(1), &json!(20))
    );
    assert_eq!(made["book_list"][0]["title"], "red");
    let found = search_in(&server, "lamps").json();
    assert_eq!(found["books"], json!([red]));
    assert!(found.get("shares").is_none());

    let path = format!("/v1/libraries/lamps/books/{}", &green[..6]);
    let grown = send(&server, "PUT", &path, &Value::Null).json();
    assert_eq!(
        (&grown["version"], &grown["passages"]),
        (&json!(2), &json!(50))
    );
    let again = send(&server, "PUT", &path, &Value::Null).json();
    assert_eq!(again, grown);
    let found = search_in(&server, "lamps").json();
    assert_eq!(found["books"].as_array().unwrap().len(), 2);
    let listed = server.get("/v1/libraries").json();
    assert_eq!(listed["libraries"][0]["books"], 2);
    assert_eq!(server.get("/v1/libraries/lamps").json(), grown);

    let shrunk = send(&server, "DELETE", &path, &Value::Null).json();
    assert_eq!(
        (&shrunk["version"], &shrunk["books"]),
        (&json!(3), &json!(1))
    );
    let gone = send(&server, "DELETE", "/v1/libraries/lamps", &Value::Null);
    assert_eq!((gone.status, gone.json()), (200, json!({"name": "lamps"})));
    assert_eq!(search_in(&server, "lamps").code(), "unknown_library");
    assert_eq!(
        server.get("/v1/books").json()["books"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_library_gives_what_its_books_give_together_with_each_ones_share() {
    let server = Server::start(quick());
    create(&server, "lamps", &[&green(), &red()]);
    let library = search_in(&server, "lamps").json();
    let books = server
        .search(&json!({"question": "Which lamp stood in room7?"}))
        .json();
    assert_eq!(library["hits"], books["hits"]);
    assert_eq!(library["shares"], books["shares"]);
    let shares = library["shares"]["books"].as_array().unwrap();
    assert_eq!(shares.len(), 2);
    let counted: u64 = shares
        .iter()
        .map(|book| book["reranked"]["passages"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, library["shares"]["top"].as_u64().unwrap());
    let firsts = shares.iter().map(|book| book["reranked"]["first"].as_u64());
    assert_eq!(firsts.flatten().min(), Some(1));
    let answered = send(
        &server,
        "POST",
        "/v1/answer",
        &json!({"question": "Which lamp stood in room7?", "scope": {"library": "lamps"}}),
    );
    assert_eq!(answered.json()["shares"], library["shares"]);
    let chat = json!({
        "model": "quire/library:lamps",
        "messages": [{"role": "user", "content": "Which lamp stood in room7?"}],
    });
    let chat = send(&server, "POST", "/v1/chat/completions", &chat);
    assert_eq!(chat.status, 200, "{}", chat.text());
    let model = server.get("/v1/models/quire/library:lamps").json();
    assert_eq!(model["quire"]["title"], "lamps");
}

#[test]
fn mistakes_are_problems_with_a_code() {
    let server = Server::start(quick());
    let (green, red) = (green(), red());
    create(&server, "lamps", &[&red]);
    for (answer, status, code) in [
        (create(&server, "lamps", &[&red]), 409, "library_exists"),
        (create(&server, "a/b", &[&red]), 400, "bad_name"),
        (create(&server, "other", &[]), 422, "empty_library"),
        (create(&server, "other", &["ffff"]), 404, "unknown_book"),
        (create(&server, "other", &["red"]), 400, "bad_id"),
    ] {
        assert_eq!((answer.status, &*answer.code()), (status, code));
    }
    let both = json!({"question": "x", "scope": {"library": "lamps", "books": [red]}});
    assert_eq!(server.search(&both).code(), "bad_json");
    for (method, path, status, code) in [
        (
            "PUT",
            format!("/v1/libraries/none/books/{red}"),
            404,
            "unknown_library",
        ),
        (
            "DELETE",
            format!("/v1/libraries/lamps/books/{green}"),
            404,
            "unknown_book",
        ),
        (
            "DELETE",
            format!("/v1/libraries/lamps/books/{red}"),
            422,
            "empty_library",
        ),
        (
            "DELETE",
            "/v1/libraries/none".to_owned(),
            404,
            "unknown_library",
        ),
        (
            "GET",
            "/v1/libraries/none".to_owned(),
            404,
            "unknown_library",
        ),
        ("GET", "/v1/libraries/.x".to_owned(), 400, "bad_name"),
        ("DELETE", format!("/v1/books/{red}"), 409, "in_library"),
    ] {
        let answer = send(&server, method, &path, &Value::Null);
        assert_eq!(
            (answer.status, &*answer.code()),
            (status, code),
            "{method} {path}"
        );
    }
    // The book that may not go has not left the shelf either.
    assert_eq!(search_in(&server, "lamps").status, 200);
    let listed = server.get("/v1/libraries").json();
    assert_eq!(listed["libraries"].as_array().unwrap().len(), 1);
}

#[test]
fn what_another_process_does_to_a_library_is_seen() {
    let server = Server::start(quick());
    create(&server, "lamps", &[&green(), &red()]);
    // Its file is damaged, and mended.
    let path = server.data.path().join("names/lamps.json");
    let sound = std::fs::read(&path).unwrap();
    std::fs::write(&path, "{").unwrap();
    wait(|| search_in(&server, "lamps").status == 409, "damage");
    assert_eq!(search_in(&server, "lamps").code(), "damaged_library");
    let listed = server.get("/v1/libraries").json();
    assert_eq!(listed["damaged"][0]["name"], "lamps");
    std::fs::write(&path, sound).unwrap();
    wait(|| search_in(&server, "lamps").status == 200, "the library");

    let blue = index(&server.store, "blue.txt", &rooms("blue", 10)).to_string();
    let path = format!("/v1/libraries/lamps/books/{blue}");
    wait(
        || send(&server, "PUT", &path, &Value::Null).status == 200,
        "the new book",
    );
    assert_eq!(
        search_in(&server, "lamps").json()["books"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    server
        .store
        .remove_library(&"lamps".parse().unwrap())
        .unwrap();
    wait(|| search_in(&server, "lamps").status == 404, "the removal");
}

#[test]
fn a_damaged_index_of_a_library_is_said_to_be_and_put_together_again_once_it_is_gone() {
    let server = Server::start(quick());
    create(&server, "lamps", &[&green(), &red()]);
    assert_eq!(search_in(&server, "lamps").status, 200);
    let libraries = server.data.path().join("libraries");
    let mut folder = libraries.clone();
    for _ in 0..2 {
        let inside = std::fs::read_dir(&folder).unwrap().next();
        folder = inside.unwrap().unwrap().path();
    }
    let vectors = folder.join("dense/vectors.bin");
    let file = std::fs::OpenOptions::new().write(true).open(vectors);
    file.unwrap().set_len(100).unwrap();
    // The first to meet it is told that a stage failed, the next ones why.
    wait(|| search_in(&server, "lamps").status == 409, "the damage");
    assert_eq!(search_in(&server, "lamps").code(), "damaged_library");
    // Its books are unharmed, asked apart and together.
    let books = json!({"question": "Which lamp stood in room7?"});
    wait(|| server.search(&books).status == 200, "the books");
    std::fs::remove_dir_all(libraries).unwrap();
    wait(|| search_in(&server, "lamps").status == 200, "the library");
}
