//! The walls of ARCHITECTURE.md: who may use whom. Each is a row of [`WALLS`]; the source is read as text.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Words that a part of the source does without.
struct Wall {
    /// As in the table of ARCHITECTURE.md.
    name: &'static str,
    /// Beginnings of paths.
    parts: &'static [&'static str],
    never: &'static [&'static str],
    /// File and word, where the wall has a door. ARCHITECTURE.md says why.
    but: &'static [(&'static str, &'static str)],
}

const WALLS: &[Wall] = &[
    Wall {
        name: "rules",
        parts: &["rules/src/"],
        never: &[
            "std::fs",
            "std::io",
            "std::net",
            "std::env",
            "std::process",
            "std::thread",
            "std::time",
            "Instant",
            "SystemTime",
            "RandomState",
            "rand",
            "serde",
            "unsafe",
        ],
        but: &[],
    },
    Wall {
        name: "engine",
        parts: &["engine/src/"],
        never: &[
            "std::fs",
            "std::io",
            "std::net",
            "std::env",
            "std::process",
            "std::thread",
            "std::time",
            "Instant",
            "SystemTime",
            "RandomState",
            "rand",
            "serde",
            "unsafe",
        ],
        but: &[],
    },
    Wall {
        name: "values",
        parts: VALUES,
        never: &[
            "actix_web",
            "serde_json",
            "query!",
            "query_as!",
            "query_scalar!",
            "PgConnection",
            "PgPool",
            "crate::http",
            "crate::ladder",
            "crate::store",
            "crate::config",
        ],
        but: &[],
    },
    Wall {
        name: "store",
        parts: &["src/store/"],
        never: &[
            "actix_web",
            "StatusCode",
            "serde",
            "serde_json",
            "crate::http",
            "crate::ladder",
            "crate::tokens",
            "hasami_engine",
        ],
        but: &[],
    },
    Wall {
        name: "ladder",
        parts: &["src/ladder/"],
        never: &[
            "actix_web",
            "StatusCode",
            "serde",
            "serde_json",
            "query!",
            "query_as!",
            "query_scalar!",
            "raw_sql",
            "QueryBuilder",
            ".begin",
            "crate::http",
        ],
        but: &[],
    },
    Wall {
        name: "http",
        parts: &["src/http/"],
        never: &[
            "query!",
            "query_as!",
            "query_scalar!",
            "raw_sql",
            "QueryBuilder",
            ".begin",
            "transaction",
            "Game::new",
            "Game::replay",
            ".game.play",
            "play_unchecked",
            "hasami_engine",
            "jsonwebtoken",
            "crate::config",
            "crate::embedded",
        ],
        but: &[],
    },
    Wall {
        name: "clock",
        parts: &["src/", "rules/src/", "engine/src/"],
        never: &["Utc::now", "Local::now", "SystemTime"],
        but: &[("src/tokens.rs", "Utc::now"), ("src/embedded/mod.rs", "SystemTime")],
    },
    Wall {
        name: "stopwatch",
        parts: &[
            "src/store/",
            "src/ladder/",
            "src/elo.rs",
            "src/ids.rs",
            "src/error.rs",
            "src/options.rs",
            "src/player.rs",
        ],
        never: &["Instant", "interval", "sleep"],
        but: &[],
    },
    Wall { name: "tokens", parts: &["src/"], never: &["jsonwebtoken"], but: &[("src/tokens.rs", "jsonwebtoken")] },
    Wall { name: "passwords", parts: &["src/"], never: &["argon2"], but: &[("src/passwords.rs", "argon2")] },
];

/// The values that everything else shares.
const VALUES: &[&str] = &["src/elo.rs", "src/ids.rs", "src/error.rs", "src/options.rs", "src/player.rs"];

/// Lines of a file, at most.
const LONGEST: usize = 400;

/// Longer files, each with its own limit and the reason.
const LONGER: &[(&str, usize, &str)] = &[("src/http/views.rs", 550, "shapes and their examples, no branches")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The paths of all files below a folder, in order.
fn files(folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

fn sources() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for folder in ["src", "rules/src", "engine/src"] {
        all.extend(files(folder).into_iter().filter(|path| path.ends_with(".rs")));
    }
    all
}

/// The code of a file, line by line: without what comments and texts say.
fn code(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // What is left out from here on: a comment, a text, a raw text, or a quote as a character.
        let raw = rest.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
        let raw = raw.filter(|hashes| rest[1 + hashes..].starts_with('"'));
        let left_out = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw {
            let end = format!("\"{}", "#".repeat(hashes));
            rest[hashes + 2..].find(&end).map_or(rest.len(), |at| hashes + 2 + at + end.len())
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |at| at + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            0
        };
        let (skipped, next) = rest.split_at(if left_out == 0 { c.len_utf8() } else { left_out });
        if left_out == 0 && c != '\n' {
            lines.last_mut().unwrap().push(c);
        }
        lines.extend(skipped.matches('\n').map(|_| String::new()));
        rest = next;
    }
    lines
}

/// Whether the code has the word, as a word of its own.
fn has(code: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(in_word) && word.starts_with(in_word);
        let after = code[at + word.len()..].chars().next().is_some_and(in_word) && word.ends_with(in_word);
        !before && !after
    })
}

/// Where a wall is broken in a file: number of the line, and word.
fn breaches<'w>(never: &[&'w str], text: &str) -> Vec<(usize, &'w str)> {
    let lines = (1..).zip(code(text));
    lines
        .flat_map(|(number, code)| never.iter().filter(move |word| has(&code, word)).map(move |w| (number, *w)))
        .collect()
}

#[test]
fn the_walls_stand() {
    let mut faults = Vec::new();
    for wall in WALLS {
        let mut doors: BTreeSet<_> = wall.but.iter().collect();
        for part in wall.parts {
            let within: Vec<String> = sources().into_iter().filter(|path| path.starts_with(part)).collect();
            assert!(!within.is_empty(), "the wall {} is around {part}, where nothing is", wall.name);
            for path in within {
                for (line, word) in breaches(wall.never, &read(&path)) {
                    match wall.but.iter().find(|door| **door == (path.as_str(), word)) {
                        Some(door) => drop(doors.remove(door)),
                        None => faults.push(format!("{path}:{line}: {word} breaks the wall {}", wall.name)),
                    }
                }
            }
        }
        faults.extend(
            doors
                .iter()
                .map(|(path, word)| format!("{path}: the wall {} has a door for {word} that nobody uses", wall.name)),
        );
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The reader of the source sees what it should, and nothing else.
#[test]
fn a_breach_is_seen() {
    for wall in WALLS {
        for word in wall.never {
            for (text, seen) in [
                (format!("use a::{word}::b;"), Some(1)),
                (format!("let a = \"//\"; {word}(b)"), Some(1)),
                (format!("let a = '\"'; {word}(b)"), Some(1)),
                (format!("let a = \"\\\"\"; {word}(b)"), Some(1)),
                (format!("let a = \"b\nc\"; // d\n {word}(b)"), Some(3)),
                (format!("let a = r#\"b \"c\" \n\"#; {word}(b)"), Some(2)),
                (format!("// {word}"), None),
                (format!("a; // it's {word}"), None),
                (format!("let a = \"{word}\";"), None),
                (format!("let a = \"\n {word}\";"), None),
                (format!("let a = r#\" \"{word}\" \"#;"), None),
                (format!("a{word}_b"), None),
            ] {
                assert_eq!(breaches(&[word], &text).first().map(|(line, _)| *line), seen, "{text}");
            }
        }
    }
}

#[test]
fn the_crates_below_depend_on_nothing() {
    let dependencies = |manifest: &str| -> Vec<String> {
        let text = read(manifest);
        let section = text.split("\n[dependencies]\n").nth(1).unwrap();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        lines.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().to_owned()).collect()
    };
    assert_eq!(dependencies("rules/Cargo.toml"), [""; 0], "rules/Cargo.toml: the wall rules");
    assert_eq!(dependencies("engine/Cargo.toml"), ["hasami-rules"], "engine/Cargo.toml: the wall engine");
    for manifest in ["rules/Cargo.toml", "engine/Cargo.toml"] {
        assert!(!read(manifest).contains("build-dependencies"), "{manifest}");
    }
}

/// A statement that writes is reached through `ladder` alone.
#[test]
fn http_writes_nothing() {
    let mut writing = Vec::new();
    for path in files("src/store") {
        let module = path.rsplit('/').next().unwrap().trim_end_matches(".rs");
        for function in read(&path).split("\npub async fn ").skip(1) {
            let body = function.split("\n}\n").next().unwrap();
            if ["insert into", "update ", "delete from", "nextval"].iter().any(|word| body.contains(word)) {
                let name = function.split(['(', '<']).next().unwrap();
                writing.push(format!("{module}::{name}"));
            }
        }
    }
    assert!(writing.contains(&"games::append_many".to_owned()) && writing.len() > 15, "{writing:?}");
    for path in files("src/http") {
        for (number, line) in (1..).zip(code(&read(&path))) {
            let called = writing.iter().find(|name| has(&line, &format!("store::{name}")));
            assert!(called.is_none(), "{path}:{number}: {called:?} breaks the wall http: only ladder writes");
            // A function imported by itself would go unseen above.
            let imported =
                line.strip_prefix("use crate::store::").into_iter().flat_map(|path| path.split("::").skip(1));
            let function = imported
                .flat_map(|names| names.split(['{', ',', '}', ';']))
                .map(str::trim)
                .find(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(function.is_none(), "{path}:{number}: {function:?} breaks the wall http: name it as store::...");
        }
    }
}

#[test]
fn files_are_short() {
    let mut faults = Vec::new();
    for path in sources() {
        let lines = read(&path).lines().count();
        let limit = LONGER.iter().find(|(longer, ..)| *longer == path).map_or(LONGEST, |(_, limit, _)| *limit);
        if lines > limit {
            faults.push(format!("{path} has {lines} lines, more than {limit}: split it by noun"));
        }
    }
    for (path, ..) in LONGER {
        if read(path).lines().count() <= LONGEST {
            faults.push(format!("{path} needs no limit of its own any more"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Paths out of the tree in ARCHITECTURE.md: a folder is a line that ends in a slash or has one before its description.
fn tree(text: &str) -> BTreeSet<String> {
    let block = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let mut folders: Vec<(usize, &str)> = Vec::new();
    let mut paths = BTreeSet::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        let (name, rest) = line.trim_start().split_once(' ').unwrap_or((line.trim_start(), ""));
        folders.retain(|(outer, _)| *outer < depth);
        if name.ends_with('/') {
            folders.push((depth, name));
        } else {
            assert!(!rest.trim().is_empty(), "{name} is not explained in the tree");
            let path: String = folders.iter().map(|(_, folder)| *folder).chain([name]).collect();
            assert!(paths.insert(path), "{name} is twice in the tree");
        }
    }
    paths
}

#[test]
fn the_map_shows_each_file() {
    let map = tree(&read("ARCHITECTURE.md"));
    let mut there = sources();
    there.extend(files("migrations"));
    let of_source =
        |path: &&String| ["src/", "rules/src/", "engine/src/", "migrations/"].iter().any(|f| path.starts_with(f));
    let drawn: BTreeSet<String> = map.iter().filter(of_source).cloned().collect();
    let missing: Vec<_> = there.difference(&drawn).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not show {missing:?}");
    for path in &map {
        assert!(root().join(path).exists(), "ARCHITECTURE.md shows {path}, which is not there");
    }
}

#[test]
fn the_map_names_each_wall() {
    let text = read("ARCHITECTURE.md");
    let section = text.split("\n## Walls\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let drawn: Vec<&str> = rows.map(|(name, _)| name).collect();
    let held: Vec<&str> = WALLS.iter().map(|wall| wall.name).collect();
    assert_eq!(drawn, held);
    for door in WALLS.iter().flat_map(|wall| wall.but) {
        let name = door.0.trim_start_matches("src/");
        assert!(section.contains(name), "ARCHITECTURE.md gives no reason for {} in {}", door.1, door.0);
    }
}

#[test]
fn migrations_are_numbered_without_gaps() {
    for (number, path) in (1..).zip(files("migrations")) {
        let name = path.trim_start_matches("migrations/");
        let (digits, noun) = name.split_once('_').unwrap();
        assert_eq!(digits, format!("{number:04}"), "{path}");
        assert!(noun.ends_with(".sql") && noun.bytes().all(|b| b.is_ascii_lowercase() || b"_.".contains(&b)), "{path}");
    }
}
