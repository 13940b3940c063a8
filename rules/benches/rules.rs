//! How long it takes to replay a log, and to count moves: `cargo bench -p hasami-rules`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hasami_rules::{Game, GameOptions, Move, Position, WinRule, perft};

/// The rule under which games last longest.
const OPTIONS: GameOptions = GameOptions { win_rule: WinRule::CaptureAll, move_limit: None };

/// The moves of a game played at random, in which the players capture now and then.
fn log(plies: u16) -> Vec<Move> {
    let mut game = Game::new(OPTIONS);
    let mut state = 7_u64;
    while game.ply() < plies {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let position = game.position();
        let moves: Vec<_> = position.legal_moves().collect();
        let any = moves[(state >> 33) as usize % moves.len()];
        let captures = |mv: &&Move| !position.play_unchecked(**mv).1.is_empty();
        // The rarer the captures, the longer the game.
        let capture = match state >> 60 {
            0 if game.ply() < 300 => moves.iter().find(captures),
            _ => None,
        };
        let mv = *capture.unwrap_or(&any);
        game.play(mv).expect("a generated move in a running game");
    }
    game.moves().to_vec()
}

fn replay(c: &mut Criterion) {
    let mut group = c.benchmark_group("replay");
    for plies in [40, 100, 300] {
        let log = log(plies);
        group.throughput(Throughput::Elements(u64::from(plies)));
        group.bench_function(format!("{plies} plies"), |b| {
            b.iter(|| Game::replay(OPTIONS, black_box(&log).iter().copied()));
        });
    }
    group.finish();
}

/// The elements are sequences of moves, the last move of each counted and not made.
fn count(c: &mut Criterion) {
    let mut group = c.benchmark_group("perft");
    group.sample_size(10);
    let depth = 4;
    let nodes = perft(Position::START, WinRule::Capture5, depth);
    group.throughput(Throughput::Elements(nodes));
    group.bench_function(format!("depth {depth}"), |b| {
        b.iter(|| perft(black_box(Position::START), WinRule::Capture5, depth));
    });
    group.finish();
}

criterion_group!(benches, replay, count);
criterion_main!(benches);
