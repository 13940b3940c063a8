//! README.md is run as it stands: its walk with curl, its picture, its table of settings.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hasami_rules::{Game, GameOptions, Outcome, Position, Side, WinRule};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hasami-ladder");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The fenced blocks of one language.
fn blocks(language: &str) -> Vec<String> {
    let text = read("README.md");
    let fence = format!("\n```{language}\n");
    text.split(&fence).skip(1).map(|rest| format!("{}\n", rest.split("\n```").next().unwrap())).collect()
}

/// The service as `cargo run` starts it: nothing set but where to listen and where the data is.
struct Served {
    /// Ends the service when its standard input ends, and so with this process, however that dies.
    shell: Child,
    data: PathBuf,
    url: String,
}

impl Served {
    fn start() -> Self {
        let data = std::env::temp_dir().join(format!("hasami-ladder-readme-{}", uuid::Uuid::now_v7().simple()));
        let script = r#""$0" --listen 127.0.0.1:0 --log-format json < /dev/null & cat > /dev/null; kill $!; wait $!"#;
        let empty = settings().into_values().map(|(variable, _)| (variable, ""));
        let shell = bare(Command::new("bash").args(["-c", script, PROGRAM]))
            // Empty counts as not set.
            .envs(empty.filter(|(variable, _)| std::env::var_os(variable).is_none_or(|v| v.is_empty())))
            .env("LADDER_DATA_DIR", &data)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut served = Self { shell, data, url: String::new() };
        let mut log = BufReader::new(served.shell.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        for line in log.by_ref() {
            let line = line.unwrap();
            if let Some((_, rest)) = line.split_once("listening on ") {
                served.url = rest.split('"').next().unwrap().to_owned();
                break;
            }
            said.push(line);
        }
        assert!(!served.url.is_empty(), "the service ended: {said:#?}");
        // A full pipe would stop it.
        std::thread::spawn(move || log.for_each(drop));
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let ended = self.shell.wait();
        // The cluster is elsewhere if the user of Postgres cannot enter the temporary folder.
        if let Ok(outside) = fs::read_link(self.data.join("postgres")) {
            drop(fs::remove_dir_all(outside));
        }
        drop(fs::remove_dir_all(&self.data));
        assert!(ended.unwrap().success() || std::thread::panicking(), "the service did not stop well");
    }
}

/// Without the settings of whoever runs the tests.
fn bare(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| name.starts_with("LADDER_") && name != "LADDER_POSTGRES_BIN");
        if ours || name == "DATABASE_URL" {
            command.env_remove(name);
        }
    }
    command
}

#[test]
fn the_walk_leads_to_a_rated_end() {
    const HERE: &str = "LADDER=http://127.0.0.1:8080\n";
    let served = Served::start();
    let walk = blocks("sh").concat();
    assert_eq!(walk.matches("8080").count(), 1, "one line says where the service is");
    let walk = walk.replace(HERE, &format!("LADDER={}\n", served.url));
    assert!(!walk.contains("8080"), "the walk sets LADDER");

    // What it left behind, as it left it.
    let after = r#"
        curl -sS "$LADDER/v1/games/$GAME"; echo
        curl -sS "$LADDER/v1/me" -H "Authorization: Bearer $ANA"; echo"#;
    let output = bare(Command::new("bash").args(["-euo", "pipefail", "-c", &(walk + after)]))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (said, complaints) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complaints}");
    assert_eq!(complaints, "");

    let lines: Vec<&str> = said.lines().collect();
    let answers: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [.., game, me] = answers.as_slice() else { panic!("{said}") };
    assert_eq!(game["status"], "finished");
    assert_eq!(game["winner"], "first");
    assert_eq!(game["termination"], "captures");
    let ratings =
        |side: &str| [&game["seats"][side]["rating_before"], &game["seats"][side]["rating_after"]].map(Value::clone);
    assert_eq!(ratings("first"), [json!(1500), json!(1520)]);
    assert_eq!(ratings("second"), [json!(1500), json!(1480)]);
    assert_eq!(me["kind"], "human", "the claim came through");

    // The retry is answered like the first time, and what the text promises is on the screen.
    assert_eq!(answers[0]["ply"], answers[1]["ply"]);
    assert_eq!(answers[1]["game"]["ply"], 1);
    assert_eq!(lines.iter().filter(|line| **line == LINE).count(), 1, "the history as one line");
    let history = answers.iter().find(|answer| answer["items"][6]["move"] == "g4g5").unwrap();
    assert_eq!(history["items"][6]["captured"], json!(["d5", "e5", "f5"]));
    for status in ["paired", "accepted"] {
        assert!(answers.iter().any(|a| a["status"] == status && a["game_id"].is_string()), "{status}: {said}");
    }
    assert!(answers.iter().any(|answer| answer["items"][0]["change_milli"] == 20_000), "the ledger: {said}");
    assert!(
        answers.iter().any(|answer| answer["ladder"] == "lead3" && answer["items"] == json!([])),
        "the board: {said}"
    );
}

/// The game of the walk.
const LINE: &str = "c1c5 d9d5 g1g4 e9e5 i1i2 f9f5 g4g5";

#[test]
fn the_picture_is_right() {
    let pictures = blocks("text");
    let rows: Vec<Vec<&str>> = pictures[0]
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 9);
    // A rank's number, nine squares, and the same again.
    let side_by_side = |half: usize| -> String {
        let ranks = rows.iter().map(|row| row[half * 10 + 1..half * 10 + 10].concat());
        ranks.collect::<Vec<_>>().join("/")
    };
    let drawn = |position: Position| -> String {
        let text = position.to_string();
        let board = text.split(' ').next().unwrap();
        board.chars().map(|c| c.to_digit(10).map_or(c.to_string(), |empty| ".".repeat(empty as usize))).collect()
    };
    let mut game = Game::new(GameOptions { win_rule: WinRule::Lead3, move_limit: None });
    let moves: Vec<_> = LINE.split(' ').map(|mv| mv.parse().unwrap()).collect();
    for mv in &moves[..6] {
        game.play(*mv).unwrap();
    }
    assert_eq!(side_by_side(0), drawn(*game.position()));
    game.play(moves[6]).unwrap();
    assert_eq!(side_by_side(1), drawn(*game.position()));
    assert_eq!(game.outcome().map(|(outcome, _)| outcome), Some(Outcome::Win(Side::First)));
    assert!(pictures[0].contains("x plays g4g5") && pictures[0].contains("takes d5, e5 and f5"));
}

/// Flag, variable, default: of each setting in the help.
fn settings() -> BTreeMap<String, (String, String)> {
    let output = bare(Command::new(PROGRAM).args(["serve", "--help"])).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let mut settings = BTreeMap::new();
    for option in help.split("\n      --").skip(1) {
        let flag = option.split_whitespace().next().unwrap();
        let marked = |mark: &str| option.split_once(mark).map(|(_, rest)| rest.split(']').next().unwrap().to_owned());
        if let Some(variable) = marked("[env: ") {
            let variable = variable.split('=').next().unwrap().to_owned();
            settings.insert(flag.to_owned(), (variable, marked("[default: ").unwrap_or_default()));
        }
    }
    assert!(settings.len() > 5, "{help}");
    settings
}

#[test]
fn the_table_has_each_setting() {
    let text = read("README.md");
    let section = text.split("\n## Settings\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `--"));
    let table: BTreeMap<String, (String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            assert!(!cells[4].is_empty(), "{row}");
            (cells[1].trim_start_matches("--").to_owned(), (cells[2].to_owned(), cells[3].to_owned()))
        })
        .collect();
    assert_eq!(table, settings());
}

#[test]
fn the_example_of_an_environment_has_each_setting() {
    let example = read(".env.example");
    let named: BTreeMap<&str, &str> = example
        .lines()
        .filter_map(|line| line.trim_start_matches('#').split_once('='))
        .filter(|(name, _)| !name.contains(' '))
        .collect();
    for (variable, default) in settings().into_values() {
        let given = named.get(variable.as_str()).unwrap_or_else(|| panic!(".env.example does not name {variable}"));
        assert!(default.is_empty() || *given == default, ".env.example: {variable} is {default} by default");
    }
    let secret = |name: &str| example.lines().any(|line| line == format!("{name}="));
    assert!(
        secret("LADDER_SECRET") && secret("POSTGRES_PASSWORD"),
        "a copy must not work without a secret of one's own"
    );
    let compose = read("docker-compose.yml");
    for name in ["LADDER_SECRET", "POSTGRES_PASSWORD"] {
        assert!(compose.contains(&format!("${{{name}:?")), "docker-compose.yml insists on {name}");
    }
}

#[test]
fn the_commands_are_those_of_this_program() {
    let text = read("README.md");
    for named in text
        .split("hasami-ladder ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next())
    {
        // A flag, or the end of a name.
        if named.is_empty() || named.starts_with('-') {
            continue;
        }
        let help = Command::new(PROGRAM).args([named, "--help"]).output().unwrap();
        assert!(help.status.success(), "hasami-ladder {named}");
    }
    let manifest = read("Cargo.toml");
    let rust = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(text.contains(&format!("Rust {rust} or newer")), "README.md names the Rust of Cargo.toml");
    for path in
        text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).filter(|path| !path.contains("://"))
    {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists(), "README.md links to {path}");
    }
}
