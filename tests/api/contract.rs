//! The contract as a source of requests: what is tried on every operation is tried on later ones too.

use serde_json::{Map, Value};

use crate::openapi::DOCUMENT;
pub use crate::openapi::operations;

/// A path with the examples of its parameters in it.
pub fn fill(path: &str) -> String {
    fill_with(path, &|_| None)
}

/// A path with values in it: those that `own` has for a parameter, else their examples.
pub fn fill_with(path: &str, own: &dyn Fn(&str) -> Option<String>) -> String {
    let parts = path.split('/').map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
        Some(name) => own(name).unwrap_or_else(|| example(path, name)),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn example(path: &str, name: &str) -> String {
    let operations = operations().filter(|(known, _, _)| *known == path);
    let found =
        operations.flat_map(|(_, _, operation)| parameters(operation, "path")).find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{path}: no parameter {name}")).1
}

/// The parameters of one kind, each with its example as text.
pub fn parameters<'a>(operation: &'a Value, place: &str) -> Vec<(&'a str, String)> {
    let all = operation["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == place);
    all.map(|p| {
        let example = match &p["example"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (p["name"].as_str().unwrap(), example)
    })
    .collect()
}

/// Follows references, and the one real shape of an optional one.
pub fn resolve(schema: &Value) -> &Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolve(&DOCUMENT["components"]["schemas"][name.rsplit('/').next().unwrap()]);
    }
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array());
    match alternatives.map(|all| all.iter().filter(|s| s["type"] != "null").collect::<Vec<_>>()).as_deref() {
        Some([one]) => resolve(one),
        _ => schema,
    }
}

/// The shape of an operation's body.
pub fn body_schema(operation: &Value) -> Option<&Value> {
    operation["requestBody"]
        .is_object()
        .then(|| resolve(&operation["requestBody"]["content"]["application/json"]["schema"]))
}

/// A body that the contract shows.
pub fn body_example(schema: &Value) -> Map<String, Value> {
    let example = [&schema["example"], &schema["examples"][0]].into_iter().find(|e| e.is_object());
    example.unwrap_or_else(|| panic!("no example in {schema}")).as_object().unwrap().clone()
}

/// The properties of a body's shape.
pub fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// Whether a value of this JSON type is foreign to a property.
pub fn has_type(schema: &Value, name: &str) -> bool {
    let schema = resolve(schema);
    let named = |own: &Value| own == name || own == "number" && name == "integer";
    match &schema["type"] {
        Value::Array(types) => types.iter().any(named),
        own => named(own),
    }
}
