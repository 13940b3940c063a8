//! The search in the tree of moves: negamax with alpha-beta to a depth, then captures alone until it is quiet.
//!
//! Wins and losses that it reports are certain: what shortens the search may miss one, never make one up.

use hasami_rules::Position;

use crate::eval::{self, MARGIN, Material};
use crate::node::Node;
use crate::order::{List, Memory, Packed, Picker, pack};
use crate::root::Root;
use crate::scene::Scene;
use crate::score::{DECIDED, DRAW, WON, from_here, to_here};
use crate::table::{Bound, Known, Table};

/// Plies from the root, at most. The search for captures ends by itself long before: sixteen pieces can fall.
pub const PLIES: usize = 96;
/// The deepest search that is asked for.
pub const DEPTH: i32 = 60;
/// Quiet moves that were tried at a node, as far as history wants to know.
const TRIED: usize = 48;

/// Which part of the tree a node is in.
#[derive(Clone, Copy)]
struct At {
    /// Plies from the root.
    ply: usize,
    /// The first ply whose position can still stand again: captures and passes lie before it.
    since: usize,
    /// Whether the move before was a pass: two in a row lead nowhere.
    passed: bool,
}

/// A search under way.
pub struct Tree<'r> {
    root: &'r Root,
    top: Node,
    material: Material,
    table: Table,
    memory: Memory,
    /// Nodes seen, and how many may be.
    pub nodes: u64,
    budget: u64,
    /// Keys of the positions from the root to the present one.
    path: Vec<u64>,
    /// By ply: the best line from there, as far as it is known.
    lines: Vec<[Packed; PLIES]>,
    lengths: [usize; PLIES],
    /// What the best line is worth.
    value: i32,
    /// The best move of the root so far. It is searched first, so that a search that is cut off has not forgotten it.
    first: Packed,
}

/// The budget is used up.
pub struct Exhausted;

type Searched = Result<i32, Exhausted>;

impl<'r> Tree<'r> {
    /// A search that sees so many nodes at most.
    pub fn new(root: &'r Root, budget: u64, forward: i32) -> Self {
        Self {
            root,
            top: Node::new(root.position),
            material: Material::new(root.win_rule, forward),
            table: Table::new(budget),
            memory: Memory::new(PLIES),
            nodes: 0,
            budget,
            path: vec![0; PLIES],
            lines: vec![[0; PLIES]; PLIES],
            lengths: [0; PLIES],
            value: 0,
            first: 0,
        }
    }

    /// The best line and its value, as the last search left it. Empty before the first move was searched.
    pub fn line(&self) -> (&[Packed], i32) {
        (&self.lines[0][..self.lengths[0]], self.value)
    }

    /// What the root looks like to the eye, and the move that looks best.
    pub fn first_look(&self) -> (Option<Packed>, i32) {
        let node = &self.top;
        let scene = Scene::new(node.own, node.theirs);
        let first = Picker::new(0, [0; 2], false).next(&node.position, &scene, &self.memory);
        let value = eval::evaluate(&scene, &self.material, node.own_count, node.their_count);
        (first.map(|(mv, _)| mv), value)
    }

    /// What each move is worth after the captures that follow it.
    pub fn rate(&mut self) -> Vec<(Packed, i32)> {
        let top = self.top;
        let moves = top.position.legal_moves().map(pack);
        moves.filter_map(|mv| Some((mv, -self.quiesce(&top.play(mv), 1, -WON, WON).ok()?))).collect()
    }

    /// Searches the root to a depth, between two values.
    pub fn search(&mut self, depth: i32, alpha: i32, beta: i32) -> Searched {
        let top = self.top;
        if self.lengths[0] > 0 {
            self.first = self.lines[0][0];
        }
        self.negamax(&top, At { ply: 0, since: 0, passed: false }, depth, alpha, beta)
    }

    /// Whether a position that has just been reached ends the game, and the value of that. The order is that of the
    /// rules: captures, no move, repetition, limit.
    #[inline]
    fn ended(&self, node: &Node, at: At) -> Option<i32> {
        if self.material.is_lost(node.own_count, node.their_count) || !node.can_move() {
            return Some(at.ply as i32 - WON);
        }
        if self.repeats(node.position.hash(), at) || at.ply >= self.root.plies_left {
            return Some(DRAW);
        }
        None
    }

    /// Whether a position stands for the fourth time, or again within the line that is searched. The latter is no draw
    /// yet; but whoever gains by going round once could have gone on at once, so a second round need not be seen.
    #[inline]
    fn repeats(&self, key: u64, at: At) -> bool {
        let mut ply = at.ply;
        while ply >= at.since + 2 {
            ply -= 2;
            // It takes four plies to go away and come back.
            if at.ply - ply >= 4 && self.path[ply] == key {
                return true;
            }
        }
        self.root.thrice.contains(&key)
    }

    /// The key under which a position is remembered. Near the move limit the same position is worth less the later it
    /// stands.
    #[inline]
    fn key(&self, node: &Node, ply: usize) -> u64 {
        let key = node.position.hash();
        let left = self.root.plies_left - ply;
        if self.root.plies_left > PLIES { key } else { key ^ (left as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    #[inline]
    fn count(&mut self) -> Result<(), Exhausted> {
        if self.nodes >= self.budget {
            return Err(Exhausted);
        }
        self.nodes += 1;
        Ok(())
    }

    fn negamax(&mut self, node: &Node, at: At, depth: i32, alpha: i32, beta: i32) -> Searched {
        let ply = at.ply;
        if ply > 0 {
            if let Some(value) = self.ended(node, at) {
                self.count()?;
                self.lengths[ply] = 0;
                return Ok(value);
            }
            if depth <= 0 || ply >= DEPTH as usize {
                return self.quiesce(node, ply, alpha, beta);
            }
        }
        self.count()?;
        self.lengths[ply] = 0;
        // However it goes on, a loss here takes two plies and a win one: lines that are no better are not looked at.
        let (mut alpha, beta) = (alpha.max(ply as i32 - WON), beta.min(WON - ply as i32 - 1));
        if alpha >= beta {
            return Ok(alpha);
        }
        let first_alpha = alpha;
        let inside = beta - alpha > 1;
        let key = self.key(node, ply);
        self.path[ply] = node.position.hash();
        let mut hinted = if ply == 0 { self.first } else { 0 };
        if let Some(known) = self.table.get(key) {
            if hinted == 0 {
                hinted = known.mv;
            }
            let value = from_here(known.value, ply);
            let decides = match known.bound {
                Bound::Exact => true,
                Bound::Lower => value >= beta,
                Bound::Upper => value <= alpha,
            };
            // Inside the window the line is wanted too, not only its value.
            if decides && !inside && (known.depth >= depth || value.abs() >= DECIDED) {
                return Ok(value);
            }
        }
        let scene = Scene::new(node.own, node.theirs);
        let standing = eval::evaluate(&scene, &self.material, node.own_count, node.their_count);

        if !inside && beta.abs() < DECIDED {
            // Far above what is wanted, with little depth to lose it.
            if depth <= 2 && standing - 110 * depth >= beta && scene.hanging == 0 {
                return Ok(standing);
            }
            // If even a pass is good enough, so is some move. It is no proof, so it never gives a decided value.
            if depth >= 3 && !at.passed && standing >= beta && node.own_count >= 3 {
                let board = node.position.board();
                let next = Node::new(Position::new(board, node.position.side().other()));
                let below = At { ply: ply + 1, since: ply + 1, passed: true };
                let value = -self.negamax(&next, below, depth - 3 - depth / 4, -beta, 1 - beta)?;
                if value >= beta {
                    return Ok(value.min(DECIDED - 1));
                }
            }
        }

        // Too far below what is wanted for a quiet move to make up for it.
        let hoped = standing + 60 + 60 * depth;
        let hopeless = !inside && depth <= 2 && hoped <= alpha && alpha > -DECIDED;
        let mut picker = Picker::new(hinted, self.memory.killers(ply), hopeless);
        let mut best = if hopeless { hoped } else { -WON };
        let mut best_move = 0;
        let mut tried = [0; TRIED];
        let mut quiets = 0;
        let mut number = 0;
        while let Some((mv, taken)) = picker.next(&node.position, &scene, &self.memory) {
            let quiet = taken == 0;
            let said = self.memory.said(node.position.side() as usize, mv);
            // With little depth left, a quiet move far down the list changes nothing, and what follows even less.
            if quiet && !inside && best > -DECIDED && depth <= 3 && number >= 8 + 8 * depth * depth && said <= 0 {
                break;
            }
            let child = node.play(mv);
            let below = At { ply: ply + 1, since: if quiet { at.since } else { ply + 1 }, passed: false };
            let mut value;
            if number == 0 {
                value = -self.negamax(&child, below, depth - 1, -beta, -alpha)?;
            } else {
                let mut less = 0;
                if quiet && depth >= 3 && number >= 3 {
                    less = 1
                        + i32::from(number >= 10)
                        + i32::from(number >= 24 && depth >= 5)
                        + i32::from(depth >= 7 && number >= 6);
                    less -= i32::from(inside) + (said / 6000).clamp(-1, 1);
                    less = less.clamp(0, depth - 2);
                }
                value = -self.negamax(&child, below, depth - 1 - less, -alpha - 1, -alpha)?;
                if value > alpha && less > 0 {
                    value = -self.negamax(&child, below, depth - 1, -alpha - 1, -alpha)?;
                }
                if value > alpha && value < beta {
                    value = -self.negamax(&child, below, depth - 1, -beta, -alpha)?;
                }
            }
            number += 1;
            if value > best {
                best = value;
                best_move = mv;
                if value > alpha {
                    alpha = value;
                    if inside {
                        self.found(ply, mv, value);
                    }
                    if value >= beta {
                        if quiet {
                            let side = node.position.side() as usize;
                            self.memory.learn(side, ply, depth, mv, &tried[..quiets]);
                        }
                        break;
                    }
                }
            }
            if quiet && quiets < TRIED {
                tried[quiets] = mv;
                quiets += 1;
            }
        }
        let bound = if best >= beta {
            Bound::Lower
        } else if best > first_alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        // A move that was not good enough is no hint.
        let mv = if bound == Bound::Upper { 0 } else { best_move };
        // A draw by repetition holds on this way to the position, not on others: only the move is worth keeping.
        let depth = if best == DRAW { 0 } else { depth };
        self.table.put(key, Known { mv, value: to_here(best, ply), depth, bound });
        Ok(best)
    }

    /// Puts a move in front of the best line below.
    #[inline]
    fn found(&mut self, ply: usize, mv: Packed, value: i32) {
        let length = self.lengths[ply + 1].min(PLIES - 1);
        let (above, below) = self.lines.split_at_mut(ply + 1);
        above[ply][0] = mv;
        above[ply][1..=length].copy_from_slice(&below[0][..length]);
        self.lengths[ply] = length + 1;
        if ply == 0 {
            self.value = value;
        }
    }

    /// Searches captures alone. Nobody has to capture, so the side to move has what the position is worth as it stands.
    /// The position is no repetition: a capture made it, or the caller has looked.
    fn quiesce(&mut self, node: &Node, ply: usize, mut alpha: i32, beta: i32) -> Searched {
        self.count()?;
        self.lengths[ply] = 0;
        if self.material.is_lost(node.own_count, node.their_count) || !node.can_move() {
            return Ok(ply as i32 - WON);
        }
        if ply >= self.root.plies_left {
            return Ok(DRAW);
        }
        let worth = self.material.worth(node.own_count, node.their_count);
        if worth - MARGIN >= beta || ply + 2 >= PLIES {
            return Ok(worth - MARGIN);
        }
        let scene = Scene::new(node.own, node.theirs);
        let mut best = eval::evaluate(&scene, &self.material, node.own_count, node.their_count);
        if best >= beta {
            return Ok(best);
        }
        let inside = beta - alpha > 1;
        alpha = alpha.max(best);
        let mut list = List::new();
        list.add_captures(&scene);
        while let Some((mv, taken)) = list.next() {
            let left = node.their_count - taken as usize;
            // A win is a win; any other gain must be enough.
            let wins = self.material.is_lost(left, node.own_count);
            let gain = self.material.worth(node.own_count, left) + MARGIN;
            if !wins && gain <= alpha {
                best = best.max(gain);
                continue;
            }
            let value = -self.quiesce(&node.play(mv), ply + 1, -beta, -alpha)?;
            if value > best {
                best = value;
                if value > alpha {
                    alpha = value;
                    if inside {
                        self.found(ply, mv, value);
                    }
                    if value >= beta {
                        break;
                    }
                }
            }
        }
        Ok(best)
    }
}
