use crate::options::WinRule;
use crate::position::Position;

/// Counts the sequences of exactly `depth` legal moves from a position.
///
/// A position that is won by captures, or in which the side to move has no legal move, has no continuation. A sequence
/// whose last move ends the game counts. Repetition and move limits play no part.
///
/// The last move of a sequence is counted, not made; a throughput in sequences a second is not one in moves made.
#[must_use]
pub fn perft(position: Position, win_rule: WinRule, depth: u32) -> u64 {
    match depth {
        0 => 1,
        _ if position.outcome(win_rule).is_some() => 0,
        1 => position.legal_moves().count() as u64,
        _ => position.legal_moves().map(|mv| perft(position.play_unchecked(mv).0, win_rule, depth - 1)).sum(),
    }
}
