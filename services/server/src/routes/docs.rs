//! `/openapi.json`, generated from the code, and `/docs`, a page that reads it.

use std::fmt::Write;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json as value};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use super::json;
use crate::problem::{Code, Problem};

/// The document of the service.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "quire",
        description = "Ranked evidence from books. Errors are application/problem+json (RFC 9457) with a stable code and a remedy.",
    ),
    paths(
        super::search::search,
        super::answer::answer,
        super::books::list,
        super::upload::upload,
        super::books::get,
        super::books::delete,
        super::libraries::list,
        super::libraries::create,
        super::libraries::get,
        super::libraries::delete,
        super::libraries::put_book,
        super::libraries::delete_book,
        super::chunks::get,
        super::jobs::list,
        super::jobs::get,
        super::jobs::events,
        super::traces::get,
        super::page::index,
        super::page::file,
        crate::mcp::call,
        crate::dialects::openai::embeddings::embeddings,
        crate::dialects::openai::models::list,
        crate::dialects::openai::models::get,
        crate::dialects::openai::models::get_of_book,
        crate::dialects::openai::chat::completions,
        crate::dialects::rerank::v1,
        crate::dialects::rerank::v2,
        crate::dialects::tei::embed,
        crate::dialects::tei::rerank,
        crate::dialects::tei::info,
        crate::dialects::tei::root,
        super::health::alive,
        super::health::ready,
        super::health::metrics,
        document,
        page,
        problem,
    ),
    tags(
        (name = "search", description = "Asking"),
        (name = "books", description = "What is searched"),
        (name = "libraries", description = "Books kept together, to be searched as one"),
        (name = "jobs", description = "Uploads that are indexed"),
        (name = "traces", description = "What queries did"),
        (name = "clients", description = "For clients of other services and protocols: OpenAI, Cohere and Jina, text-embeddings-inference, the Model Context Protocol. Errors have those services' shapes."),
        (name = "service", description = "The service itself"),
    ),
    security(("key" = [])),
    modifiers(&Keys),
)]
struct Document;

struct Keys;

impl utoipa::Modify for Keys {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "Needed where the service has keys. Adding and removing books and changing libraries takes an admin key.",
            ))
            .build();
        let components = document.components.get_or_insert_with(Default::default);
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", operation_id = "get_openapi", tag = "service",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn document() -> Response {
    json(StatusCode::OK, &Document::openapi())
}

/// A page to read this document.
#[utoipa::path(get, path = "/docs", operation_id = "get_docs", tag = "service",
    responses((status = 200, description = "HTML", body = String, content_type = "text/html")))]
pub(crate) async fn page() -> Result<Response, Problem> {
    let document = serde_json::to_value(Document::openapi());
    let document = document.map_err(|error| Problem::internal(error.to_string()))?;
    let mut response = Html(written(&document)).into_response();
    // The page has no script and fetches nothing.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    let policy = HeaderValue::from_static(policy);
    let name = header::CONTENT_SECURITY_POLICY;
    response.headers_mut().insert(name, policy);
    Ok(response)
}

/// What a code of an error means.
#[utoipa::path(get, path = "/problems/{code}", operation_id = "get_problem", tag = "service",
    params(("code" = String, Path, description = "The code, such as queue_full")),
    responses(
        (status = 200, description = "The code's title, status and remedy", body = Object),
        (status = 404, description = "no_route", body = crate::wire::ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(crate) async fn problem(Path(code): Path<String>) -> Result<Response, Problem> {
    let known = Code::ALL.iter().find(|known| known.name() == code);
    let Some(code) = known else {
        return Err(Problem::new(Code::NoRoute, "There is no such code."));
    };
    let meaning = value!({
        "code": code.name(),
        "title": code.title(),
        "status": code.status(),
        "remedy": code.remedy(),
    });
    Ok(json(StatusCode::OK, &meaning))
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#222;background:#fff}h1{margin-top:3rem}h2{margin-top:2rem;\
font-size:1.15rem}code,pre{font:14px/1.4 monospace}\
pre{background:#f3f3f3;padding:.7rem;overflow:auto}table{border-collapse:collapse}\
td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}b.m{color:#06c}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}\
b.m{color:#6af}a{color:#8cf}}";

fn written(document: &Value) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>quire</title>\
         <style>{STYLE}</style><h1>quire</h1><p>{}</p>\
         <p>The same for machines: <a href=\"/openapi.json\">/openapi.json</a></p>",
        escaped(&document["info"]["description"]),
    );
    for tag in document["tags"].as_array().into_iter().flatten() {
        let _ = write!(page, "<h1>{}</h1>", escaped(&tag["description"]));
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if operation["tags"][0] == tag["name"] {
                    write_operation(&mut page, path, method, operation);
                }
            }
        }
    }
    page += "<h1>Errors</h1><table>";
    for code in Code::ALL {
        let (name, status) = (code.name(), code.status());
        let (title, remedy) = (escape(code.title()), escape(code.remedy()));
        let _ = write!(
            page,
            "<tr><th>{status}<td><code>{name}</code><td>{title}. {remedy}"
        );
    }
    page += "</table><h1>Shapes</h1>";
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        write_schema(&mut page, name, schema);
    }
    page
}

fn write_operation(page: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        page,
        "<h2><b class=m>{}</b> <code>{}</code></h2><p>{} {}</p>",
        method.to_uppercase(),
        escape(path),
        escaped(&operation["summary"]),
        escaped(&operation["description"]),
    );
    let parameters = operation["parameters"].as_array();
    for parameter in parameters.into_iter().flatten() {
        let _ = write!(
            page,
            "<p><code>{}</code> ({}): {}</p>",
            escaped(&parameter["name"]),
            escaped(&parameter["in"]),
            escaped(&parameter["description"]),
        );
    }
    let bodies = operation["requestBody"]["content"].as_object();
    for (kind, body) in bodies.into_iter().flatten() {
        let _ = write!(
            page,
            "<p>Body: {} {}</p>",
            escape(kind),
            shape(&body["schema"])
        );
    }
    *page += "<table>";
    let responses = operation["responses"].as_object();
    for (status, response) in responses.into_iter().flatten() {
        let contents = response["content"].as_object();
        let shapes = contents
            .into_iter()
            .flatten()
            .map(|(_, c)| shape(&c["schema"]));
        let _ = write!(
            page,
            "<tr><th>{}<td>{}<td>{}",
            escape(status),
            escaped(&response["description"]),
            shapes.collect::<String>(),
        );
    }
    *page += "</table>";
}

fn write_schema(page: &mut String, name: &str, schema: &Value) {
    let name = escape(name);
    let description = escaped(&schema["description"]);
    let _ = write!(
        page,
        "<h2 id=\"{name}\">{name}</h2><p>{description}</p><table>"
    );
    // What is flattened into a shape stands in its parts, as do its choices.
    let mut parts = schema["allOf"].as_array().cloned().unwrap_or_default();
    parts.extend(schema["oneOf"].as_array().cloned().unwrap_or_default());
    for part in std::iter::once(schema).chain(&parts) {
        if part["$ref"].is_string() {
            let _ = write!(page, "<tr><td colspan=3>all of {}", shape(part));
        }
        for (field, about) in part["properties"].as_object().into_iter().flatten() {
            let _ = write!(
                page,
                "<tr><th><code>{}</code><td>{}<td>{}",
                escape(field),
                shape(about),
                escaped(&about["description"]),
            );
        }
    }
    *page += "</table>";
    if !schema["example"].is_null() {
        let example = serde_json::to_string_pretty(&schema["example"]).unwrap_or_default();
        let _ = write!(page, "<pre>{}</pre>", escape(&example));
    }
}

/// A schema in a word, with a link where it has a name.
fn shape(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or(reference));
        return format!("<a href=\"#{name}\">{name}</a>");
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.iter().map(shape).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", shape(&schema["items"])),
        Value::String(kind) => escape(kind),
        Value::Array(kinds) if kinds.iter().any(|kind| kind == "array") => {
            format!("list of {} or null", shape(&schema["items"]))
        }
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn escaped(text: &Value) -> String {
    escape(text.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::ROUTES;
    use crate::wire::{AnswerRequest, LibraryRequest, SearchRequest};
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_in_the_document_and_in_the_metrics() {
        let document = Document::openapi();
        let documented: BTreeSet<&str> = document.paths.paths.keys().map(String::as_str).collect();
        let table = crate::routes::table();
        let routed: BTreeSet<&str> = table.iter().map(|(path, _)| *path).collect();
        assert_eq!(documented, routed);
        let counted: BTreeSet<&str> = ROUTES.into_iter().filter(|r| *r != "none").collect();
        assert_eq!(counted, routed);
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let document = serde_json::to_value(Document::openapi()).unwrap();
        let mut names = BTreeSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let name = operation["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{name}");
            }
        }
        assert!(names.contains("search"), "{names:?}");
    }

    #[test]
    fn every_documented_example_is_what_the_code_takes() {
        let document = serde_json::to_value(Document::openapi()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut examples = 0;
        for (name, schema) in schemas {
            let example = &schema["example"];
            if example.is_null() {
                continue;
            }
            examples += 1;
            let example = example.clone();
            match name.as_str() {
                "SearchRequest" => drop(serde_json::from_value::<SearchRequest>(example).unwrap()),
                "LibraryRequest" => {
                    drop(serde_json::from_value::<LibraryRequest>(example).unwrap());
                }
                "AnswerRequest" => drop(serde_json::from_value::<AnswerRequest>(example).unwrap()),
                other => panic!("no type is known here for the example of {other}"),
            }
        }
        assert_eq!(examples, 3);
    }

    #[test]
    fn the_page_shows_every_route_and_every_link_leads_somewhere() {
        let document = serde_json::to_value(Document::openapi()).unwrap();
        let page = written(&document);
        for (path, _) in crate::routes::table() {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        }
        for code in Code::ALL {
            let cell = format!("<code>{}</code>", code.name());
            assert!(page.contains(&cell), "{}", code.name());
        }
        for link in page.split("href=\"#").skip(1) {
            let name = link.split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
        }
        assert!(!page.contains("<script") && !page.contains("src="));
    }
}
