//! Answers that say no, and what the user is told.

use quire_hub::fake::{Access, Act, Point};
use quire_hub::{HubError, Token, WantedFile, pull};

use crate::scene::{LARGE, REPO, SMALL, Scene, headers};

#[test]
fn a_gated_model_says_where_to_accept_and_what_to_set() {
    let mut scene = Scene::new(1000);
    scene.hub.set_access(REPO, Access::Gated("hf_good".into()));
    let page = format!("{}/{REPO}", scene.hub.endpoint());

    let error = scene.pull(&[LARGE]).unwrap_err().to_string();
    assert!(
        error.contains(&page) && error.contains("HF_TOKEN"),
        "{error}"
    );

    scene.config.token = Token::parse("hf_other").unwrap();
    let error = scene.pull(&[LARGE]).unwrap_err().to_string();
    assert!(
        error.contains(&page) && error.contains("account"),
        "{error}"
    );
    assert!(!error.contains("hf_other"), "{error}");

    scene.config.token = Token::parse("hf_good").unwrap();
    assert!(scene.pull(&[LARGE, SMALL]).is_ok());
}

#[test]
fn a_private_model_looks_absent_until_the_token_is_right() {
    let mut scene = Scene::new(1000);
    scene
        .hub
        .set_access(REPO, Access::Private("hf_good".into()));
    for token in ["", "hf_other"] {
        scene.config.token = Token::parse(token).unwrap();
        let error = scene.pull(&[LARGE]).unwrap_err();
        assert!(matches!(error, HubError::RepoNotFound { .. }), "{error}");
        assert!(error.to_string().contains("private"), "{error}");
    }
    scene.config.token = Token::parse("hf_good").unwrap();
    assert!(scene.pull(&[LARGE]).is_ok());
}

#[test]
fn a_token_that_is_not_valid_is_said_to_be_so() {
    let mut scene = Scene::new(1000);
    scene.config.token = Token::parse("hf_stale").unwrap();
    let message = [(
        "X-Error-Message",
        "Invalid credentials in Authorization header",
    )];
    let refusal = Act::Status(401, headers(&message));
    scene.hub.fault(Point::Facts, 1, refusal);
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::TokenRefused { .. }), "{error}");
    assert!(!format!("{error:?}").contains("hf_stale"));
}

#[test]
fn a_refusal_without_a_code_repeats_the_servers_words() {
    let scene = Scene::new(1000);
    let message = [("X-Error-Message", "Access to this resource is disabled.")];
    scene
        .hub
        .fault(Point::Facts, 1, Act::Status(403, headers(&message)));
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(
        matches!(error, HubError::Denied { status: 403, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("resource is disabled"),
        "{error}"
    );
}

#[test]
fn what_does_not_exist_is_named() {
    let scene = Scene::new(1000);
    let run = |repo: &str, revision: &str, file: &str| {
        let files = [WantedFile::new(file)];
        pull(repo, revision, &files, &scene.config, &mut |_| {}).unwrap_err()
    };
    let error = run("org/absent", "main", LARGE);
    assert!(matches!(error, HubError::RepoNotFound { .. }), "{error}");
    assert!(error.to_string().contains("org/absent"), "{error}");

    for revision in ["absent", "refs/pr/7", &"0".repeat(40)] {
        let error = run(REPO, revision, LARGE);
        assert!(
            matches!(error, HubError::RevisionNotFound { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(revision), "{error}");
    }
    let error = run(REPO, "main", "absent file.bin");
    assert!(matches!(error, HubError::FileNotFound { .. }), "{error}");
    assert!(error.to_string().contains("absent file.bin"), "{error}");
    assert!(!scene.config.cache.exists(), "nothing was written");
}

#[test]
fn a_server_that_is_no_hub_is_said_to_be_none() {
    let scene = Scene::new(1000);
    let page = Act::Status(200, headers(&[("Content-Type", "text/html")]));
    scene.hub.fault(Point::Facts, 1, page);
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(matches!(error, HubError::NotAHub { .. }), "{error}");
    assert!(error.to_string().contains("HF_ENDPOINT"), "{error}");
}

#[test]
fn redirects_in_a_circle_end() {
    let scene = Scene::new(1000);
    let circle = Act::Status(302, headers(&[("Location", "/again")]));
    scene.hub.fault(Point::Facts, 99, circle);
    let error = scene.pull(&[LARGE]).unwrap_err();
    assert!(error.to_string().contains("without end"), "{error}");
}
