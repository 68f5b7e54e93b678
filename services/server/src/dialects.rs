//! Other services' APIs, so that the clients people already have can ask.
//!
//! A dialect is its routes and its way to say that something went wrong. Which
//! route speaks which is decided here, in [`Dialect::of`]; errors of every
//! layer, a missing key included, are then told in the dialect's own shape.

pub(crate) mod openai;
pub(crate) mod rerank;
mod scores;
pub(crate) mod tei;
mod texts;

use axum::http::Method;
use serde::Serialize;

use crate::problem::Problem;

/// How a route says what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The service's own: RFC 9457.
    Quire,
    /// The OpenAI API.
    OpenAi,
    /// The rerank API of Cohere and Jina.
    Cohere,
    /// text-embeddings-inference.
    Tei,
}

/// An error as it is sent.
pub(crate) struct Told {
    /// The status, which is the API's choice.
    pub(crate) status: u16,
    /// The body's kind.
    pub(crate) media_type: &'static str,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Dialect {
    /// The dialect of a route of the table.
    pub(crate) fn of(method: &Method, route: &str) -> Self {
        match route {
            "/v1/embeddings"
            | "/v1/chat/completions"
            | "/v1/models"
            | "/v1/models/{model}"
            | "/v1/models/{family}/{book}" => Self::OpenAi,
            "/v1/rerank" | "/v2/rerank" => Self::Cohere,
            "/embed" | "/rerank" | "/info" => Self::Tei,
            // Other methods there are no API of anybody's.
            "/" if method == Method::POST => Self::Tei,
            _ => Self::Quire,
        }
    }

    /// A problem in the dialect's words.
    pub(crate) fn tell(self, problem: &Problem, request_id: &str) -> Told {
        let document = problem.told(request_id);
        let json = "application/json";
        match self {
            Self::Quire => Told::new(document.status, "application/problem+json", &document),
            Self::OpenAi => {
                let status = openai::status(problem.code());
                Told::new(status, json, &openai::ErrorReply::of(problem, &document))
            }
            Self::Cohere => {
                let status = rerank::status(problem.code());
                Told::new(status, json, &rerank::RerankError::of(&document))
            }
            Self::Tei => {
                let status = tei::status(problem.code());
                let error = tei::TeiError::of(problem.code(), &document);
                Told::new(status, json, &error)
            }
        }
    }
}

impl Told {
    fn new(status: u16, media_type: &'static str, body: &impl Serialize) -> Self {
        Self {
            status,
            media_type,
            // Shapes of texts and numbers cannot fail to be written.
            body: serde_json::to_vec(body).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;
    use serde_json::{Value, json};

    fn told(dialect: Dialect, problem: &Problem) -> (u16, Value) {
        let told = dialect.tell(problem, "request-1");
        (told.status, serde_json::from_slice(&told.body).unwrap())
    }

    #[test]
    fn every_code_is_an_error_in_every_dialect() {
        for &code in Code::ALL {
            let problem = Problem::new(code, "What is wrong.");
            for dialect in [
                Dialect::Quire,
                Dialect::OpenAi,
                Dialect::Cohere,
                Dialect::Tei,
            ] {
                let (status, body) = told(dialect, &problem);
                assert!((400..600).contains(&status), "{dialect:?} {code:?}");
                assert!(body.to_string().contains("What is wrong."), "{body}");
            }
        }
    }

    #[test]
    fn a_wrong_key_and_a_full_queue_have_the_status_that_clients_know() {
        for dialect in [Dialect::OpenAi, Dialect::Cohere, Dialect::Tei] {
            let of = |code| told(dialect, &Problem::new(code, "No.")).0;
            assert_eq!(of(Code::Unauthorized), 401);
            assert_eq!(of(Code::QueueFull), 429);
            assert_eq!(of(Code::UnknownModel), 404);
        }
    }

    #[test]
    fn an_error_has_the_members_of_its_api() {
        let problem = Problem::new(Code::TextTooLong, "Text 1 is long.").about("input");
        let remedy = Code::TextTooLong.remedy();
        let (status, error) = told(Dialect::OpenAi, &problem);
        assert_eq!(status, 400);
        let expected = json!({"error": {
            "message": format!("Text 1 is long. {remedy}"),
            "type": "invalid_request_error",
            "param": "input",
            "code": "context_length_exceeded",
        }});
        assert_eq!(error, expected);
        let (status, error) = told(Dialect::Cohere, &problem);
        assert_eq!(status, 400);
        assert_eq!(error["message"], format!("Text 1 is long. {remedy}"));
        let (status, error) = told(Dialect::Tei, &problem);
        assert_eq!((status, &error["error_type"]), (413, &json!("validation")));
    }

    #[test]
    fn a_page_at_the_root_is_no_api() {
        assert_eq!(Dialect::of(&Method::POST, "/"), Dialect::Tei);
        assert_eq!(Dialect::of(&Method::GET, "/"), Dialect::Quire);
        assert_eq!(Dialect::of(&Method::POST, "/v1/search"), Dialect::Quire);
    }
}
