//! The contract: the committed file is what the code says, it is complete, and every answer in the tests fits it.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, TestApp, header};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");

pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(hasami_ladder::http::openapi()).unwrap());

struct Contract {
    method: String,
    /// `None` for a part in braces.
    path: Vec<Option<String>>,
    /// By status and media type.
    schemas: HashMap<(String, String), Validator>,
    statuses: Vec<String>,
}

static CONTRACTS: LazyLock<Vec<Contract>> = LazyLock::new(|| {
    let mut contracts = Vec::new();
    for (path, method, operation) in operations() {
        let mut schemas = HashMap::new();
        for (status, response) in operation["responses"].as_object().unwrap() {
            for (media, content) in response["content"].as_object().into_iter().flatten() {
                let mut schema = content["schema"].clone();
                schema["components"] = DOCUMENT["components"].clone();
                let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
                schemas.insert((status.clone(), media.clone()), validator);
            }
        }
        let path = path.split('/').map(|part| (!part.starts_with('{')).then(|| part.to_owned())).collect();
        let statuses = operation["responses"].as_object().unwrap().keys().cloned().collect();
        contracts.push(Contract { method: method.to_uppercase(), path, schemas, statuses });
    }
    contracts
});

pub fn operations() -> impl Iterator<Item = (&'static String, &'static String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
    })
}

/// Holds an answer against the contract: its status is documented, its body fits the schema, and every refusal is a
/// problem document that names the request.
pub fn check_answer(method: &Method, path: &str, answer: &Answer) {
    let status = answer.status.as_u16();
    let media = header(answer, "content-type").split(';').next().unwrap_or_default();
    // A preflight is a question of the browser, which shows its answer to nobody.
    let preflight = method == Method::OPTIONS && status == 200;
    assert!(preflight || !header(answer, "x-request-id").is_empty(), "{method} {path}: no request id");
    if status >= 400 && method != Method::HEAD {
        assert_eq!(media, "application/problem+json", "{method} {path}: {}", answer.text);
        assert_eq!(answer.body["status"], status);
        assert_eq!(answer.body["request_id"].as_str(), Some(header(answer, "x-request-id")));
    }
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |own: &[Option<String>]| {
        own.len() == parts.len()
            && own.iter().zip(&parts).all(|(own, part)| own.as_deref().is_none_or(|own| own == *part))
    };
    let Some(contract) = CONTRACTS.iter().find(|c| c.method == method.as_str() && fits(&c.path)) else {
        assert!(
            status >= 300 || path.starts_with("/docs") || matches!(*method, Method::HEAD | Method::OPTIONS),
            "{method} {path} is not in the contract"
        );
        return;
    };
    assert!(
        contract.statuses.contains(&status.to_string()),
        "{method} {path}: {status} is not in the contract: {}",
        answer.text
    );
    let Some(schema) = contract.schemas.get(&(status.to_string(), media.to_owned())) else {
        assert!(answer.text.is_empty(), "{method} {path}: {status} {media} is not in the contract");
        return;
    };
    let body = if media.ends_with("json") { answer.body.clone() } else { json!(answer.text) };
    let faults: Vec<String> = schema.iter_errors(&body).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(faults.is_empty(), "{method} {path}: {faults:#?} in {}", answer.text);
}

/// `UPDATE_OPENAPI=1 cargo test openapi` writes the file anew.
#[test]
fn the_committed_contract_is_the_generated_one() {
    let generated = hasami_ladder::http::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(COMMITTED, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    assert!(
        committed == generated,
        "openapi/openapi.json is not fresh: UPDATE_OPENAPI=1 cargo test --test api openapi"
    );
}

#[test]
fn every_operation_is_explained() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let mut ids = Vec::new();
    for (path, method, operation) in operations() {
        let what = format!("{method} {path}");
        assert!(operation["summary"].as_str().is_some_and(|s| !s.is_empty() && !s.ends_with('.')), "{what}: summary");
        assert!(operation["description"].as_str().is_some_and(|s| !s.is_empty()), "{what}: description");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{what}: tag");
        ids.push(operation["operationId"].as_str().unwrap());
        let mut named: Vec<&str> = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            assert!(parameter["description"].is_string(), "{what}: {name} is not described");
            assert!(!parameter["example"].is_null(), "{what}: {name} has no example");
            if parameter["in"] == "path" {
                named.push(name);
            }
        }
        let braced: Vec<&str> = path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(named, braced, "{what}: path parameters");
        if operation["requestBody"].is_object() {
            has_example(schemas, &operation["requestBody"]["content"]["application/json"]["schema"], &what);
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["description"].as_str().is_some_and(|d| !d.is_empty()), "{what}: {status}");
            if status != "204" {
                assert!(
                    response["content"].as_object().is_some_and(|c| !c.is_empty()),
                    "{what}: {status} has no schema"
                );
            }
            if status >= &"400".to_owned() {
                let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/Problem", "{what}: {status}");
            }
        }
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "operation ids are unique");
    assert!(all > 30);
}

/// A schema with an example of its own, or with one for each part.
fn has_example(schemas: &Value, schema: &Value, what: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return has_example(schemas, &schemas[name.rsplit('/').next().unwrap()], what);
    }
    if !schema["example"].is_null()
        || !schema["examples"].is_null()
        || !schema["enum"].is_null()
        || !schema["const"].is_null()
    {
        return;
    }
    let parts = ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema[key].as_array());
    let parts: Vec<&Value> = match (parts, schema["properties"].as_object(), &schema["items"]) {
        (Some(parts), _, _) => parts.iter().filter(|p| p["type"] != "null").collect(),
        (None, Some(properties), _) => properties.values().collect(),
        (None, None, items) if items.is_object() => vec![items],
        _ => {
            let simple = schema["type"] == "boolean" || schema["type"] == json!(["boolean", "null"]);
            assert!(simple, "{what}: no example for {schema}");
            return;
        }
    };
    parts.iter().for_each(|part| has_example(schemas, part, what));
}

#[test]
fn answers_have_examples_that_fit() {
    let schemas = &DOCUMENT["components"]["schemas"];
    for (name, schema) in schemas.as_object().unwrap() {
        has_example(schemas, schema, name);
        for example in [&schema["example"], &schema["examples"][0]] {
            if !example.is_null() {
                let mut root = schema.clone();
                root["components"] = DOCUMENT["components"].clone();
                let faults: Vec<String> =
                    jsonschema::validator_for(&root).unwrap().iter_errors(example).map(|e| e.to_string()).collect();
                assert!(faults.is_empty(), "the example of {name}: {faults:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_contract_is_served_and_browsable() {
    let app = TestApp::start().await;
    let served = app.get("/openapi.json").await;
    assert_eq!(served.expect(200), *DOCUMENT);
    let redirect = app.get("/docs").await;
    assert_eq!((redirect.status.as_u16(), header(&redirect, "location")), (308, "/docs/"));
    let page = app.get("/docs/").await;
    assert_eq!(page.status, 200);
    assert!(header(&page, "content-security-policy").contains("script-src 'self'"));
    // Whatever the page loads comes from here.
    assert!(!page.text.contains("//"), "{}", page.text);
    for part in
        page.text.split(['"', '\'']).filter(|p| p.starts_with("./") || p.ends_with(".js") || p.ends_with(".css"))
    {
        let asset = app.get(&format!("/docs/{}", part.trim_start_matches("./"))).await;
        assert_eq!(asset.status, 200, "{part}");
    }
    app.get("/docs/nothing.js").await.problem(404, "not_found");
}
