//! How many positions a second are looked at, and how long a level takes: `cargo bench -p hasami-engine`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hasami_engine::{Level, choose, search};
use hasami_rules::{Game, GameOptions, WinRule};

/// A game played by a middling level up to a ply.
fn game(win_rule: WinRule, plies: u16) -> Game {
    let mut game = Game::new(GameOptions { win_rule, move_limit: None });
    let level = Level::ALL[3];
    while game.ply() < plies {
        let mv = choose(&game, level).expect("a game that lasts longer");
        game.play(mv).expect("a legal move");
    }
    game
}

/// The elements are positions.
fn nodes(c: &mut Criterion) {
    const NODES: u64 = 300_000;
    let mut group = c.benchmark_group("search");
    group.sample_size(20);
    group.throughput(Throughput::Elements(NODES));
    for (name, win_rule, plies) in [
        ("start", WinRule::Capture5, 0),
        ("capture5 at ply 24", WinRule::Capture5, 24),
        ("lead3 at ply 24", WinRule::Lead3, 24),
        ("captureall at ply 60", WinRule::CaptureAll, 60),
    ] {
        let game = game(win_rule, plies);
        group.bench_function(name, |b| b.iter(|| search(black_box(&game), NODES)));
    }
    group.finish();
}

fn levels(c: &mut Criterion) {
    let mut group = c.benchmark_group("move of level");
    group.sample_size(10);
    let game = game(WinRule::Capture5, 24);
    for level in [1, 4, 8].into_iter().filter_map(Level::new) {
        group.bench_function(level.number().to_string(), |b| b.iter(|| choose(black_box(&game), level)));
    }
    group.finish();
}

criterion_group!(benches, nodes, levels);
criterion_main!(benches);
