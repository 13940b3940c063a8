//! The rules a second time: slow, plain, and without a line of the crate that it is compared with.
//!
//! It takes and gives text only, in the words of the service, so that tests of other crates can include it by path.

use std::fmt;

/// No game has more plies.
const LONGEST: u32 = 2000;

/// A game, played by text.
#[derive(Clone)]
pub struct Oracle {
    /// `grid[rank][file]`, each cell `x`, `o` or `.`; rank 1 and file `a` come first.
    grid: [[char; 9]; 9],
    mover: char,
    win_rule: String,
    move_limit: u32,
    ply: u32,
    /// The text of the position after each ply, the starting position first.
    history: Vec<String>,
    outcome: Option<(Option<&'static str>, &'static str)>,
}

impl Oracle {
    /// A new game under `capture5`, `lead3` or `captureall`, with a limit of plies or none.
    pub fn new(win_rule: &str, move_limit: Option<u32>) -> Self {
        let start = "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first";
        Self::at(start, win_rule, move_limit)
    }

    /// A game that begins with another position, given as board, blank, side to move.
    pub fn at(position: &str, win_rule: &str, move_limit: Option<u32>) -> Self {
        assert!(["capture5", "lead3", "captureall"].contains(&win_rule));
        let (board, side) = position.split_once(' ').expect("a board and a side");
        let mut grid = [['.'; 9]; 9];
        for (row, text) in board.split('/').enumerate() {
            let mut file = 0;
            for symbol in text.chars() {
                match symbol.to_digit(10) {
                    Some(empty) => file += empty as usize,
                    None => {
                        grid[8 - row][file] = symbol;
                        file += 1;
                    }
                }
            }
        }
        Self {
            grid,
            mover: if side == "first" { 'x' } else { 'o' },
            win_rule: win_rule.to_owned(),
            move_limit: move_limit.unwrap_or(LONGEST).min(LONGEST),
            ply: 0,
            history: vec![position.to_owned()],
            outcome: None,
        }
    }

    /// All legal moves of the side to move, sorted as text. They do not depend on whether the game is over.
    pub fn legal_moves(&self) -> Vec<String> {
        let mut moves = Vec::new();
        for from in squares() {
            if self.cell(from) != self.mover {
                continue;
            }
            for to in squares() {
                if self.refusal_between(from, to).is_none() {
                    moves.push(format!("{}{}", name(from), name(to)));
                }
            }
        }
        moves.sort();
        moves
    }

    /// Why a move is illegal on this board, `None` for a legal one.
    pub fn refusal(&self, mv: &str) -> Option<&'static str> {
        let (from, to) = read(mv);
        self.refusal_between(from, to)
    }

    fn refusal_between(&self, from: Cell, to: Cell) -> Option<&'static str> {
        if from == to {
            return Some("null_move");
        }
        if self.cell(from) == '.' {
            return Some("empty_square");
        }
        if self.cell(from) != self.mover {
            return Some("not_your_piece");
        }
        let step = ((to.0 - from.0).signum(), (to.1 - from.1).signum());
        if step.0 != 0 && step.1 != 0 {
            return Some("diagonal");
        }
        let mut walk = (from.0 + step.0, from.1 + step.1);
        while walk != to {
            if self.cell(walk) != '.' {
                return Some("blocked");
            }
            walk = (walk.0 + step.0, walk.1 + step.1);
        }
        (self.cell(to) != '.').then_some("occupied")
    }

    /// Makes a legal move and gives the captured squares, sorted as text.
    ///
    /// Panics when the game is over or the move is not legal.
    pub fn play(&mut self, mv: &str) -> Vec<String> {
        assert_eq!(self.outcome, None, "the game is over");
        assert_eq!(self.refusal(mv), None, "{mv}");
        let (from, to) = read(mv);
        let own = self.mover;
        let enemy = opponent(own);
        self.put(from, '.');
        self.put(to, own);

        let mut fallen = Vec::new();
        for step in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
            let mut run = Vec::new();
            let mut walk = (to.0 + step.0, to.1 + step.1);
            while self.cell(walk) == enemy {
                run.push(walk);
                walk = (walk.0 + step.0, walk.1 + step.1);
            }
            if self.cell(walk) == own {
                fallen.extend(run);
            }
        }
        for corner in [(0, 0), (0, 8), (8, 0), (8, 8)] {
            let beside: Vec<Cell> =
                squares().filter(|s| (s.0 - corner.0).abs() + (s.1 - corner.1).abs() == 1).collect();
            if self.cell(corner) == enemy && beside.contains(&to) && beside.iter().all(|&s| self.cell(s) == own) {
                fallen.push(corner);
            }
        }
        for &square in &fallen {
            self.put(square, '.');
        }

        self.mover = enemy;
        self.ply += 1;
        self.history.push(self.to_string());
        self.outcome = self.judge(own);
        let mut names: Vec<_> = fallen.into_iter().map(name).collect();
        names.sort();
        names
    }

    fn judge(&self, own: char) -> Option<(Option<&'static str>, &'static str)> {
        let winner = side(own);
        let taken = self.captured(winner);
        let lost = self.captured(side(opponent(own)));
        let won = match self.win_rule.as_str() {
            "capture5" => taken >= 5,
            "lead3" => taken >= lost && taken - lost >= 3,
            _ => taken == 9,
        };
        if won {
            return Some((Some(winner), "captures"));
        }
        if self.legal_moves().is_empty() {
            return Some((Some(winner), "no_moves"));
        }
        if self.stood_at().len() == 4 {
            return Some((None, "repetition"));
        }
        (self.ply >= self.move_limit).then_some((None, "move_limit"))
    }

    /// Board, blank, side to move.
    pub fn position(&self) -> String {
        self.to_string()
    }

    /// The winner, if any, and the termination; `None` while the game goes on.
    pub fn outcome(&self) -> Option<(Option<&'static str>, &'static str)> {
        self.outcome
    }

    /// After which plies the present position stood, 0 being the start.
    pub fn stood_at(&self) -> Vec<u32> {
        let present = self.position();
        (0..=self.ply).filter(|&ply| self.history[ply as usize] == present).collect()
    }

    /// How many pieces the side `first` or `second` has captured.
    pub fn captured(&self, side: &str) -> usize {
        let enemy = match side {
            "first" => 'o',
            "second" => 'x',
            _ => panic!("{side} is not a side"),
        };
        9 - squares().filter(|&s| self.cell(s) == enemy).count()
    }

    /// What stands on a square; off the board, nothing that is a piece or empty.
    fn cell(&self, (rank, file): Cell) -> char {
        match (usize::try_from(rank), usize::try_from(file)) {
            (Ok(rank @ 0..9), Ok(file @ 0..9)) => self.grid[rank][file],
            _ => '#',
        }
    }

    fn put(&mut self, (rank, file): Cell, piece: char) {
        self.grid[rank as usize][file as usize] = piece;
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<String> = self.grid.iter().rev().map(|row| row.iter().collect()).collect();
        let mut board = rows.join("/");
        for empty in (1..=9).rev() {
            board = board.replace(&".".repeat(empty), &empty.to_string());
        }
        write!(f, "{board} {}", side(self.mover))
    }
}

/// Rank and file, counted from 0.
type Cell = (i32, i32);

fn squares() -> impl Iterator<Item = Cell> {
    (0..9).flat_map(|rank| (0..9).map(move |file| (rank, file)))
}

fn name((rank, file): Cell) -> String {
    let file = "abcdefghi".chars().nth(file as usize).expect("a file");
    format!("{file}{}", rank + 1)
}

fn read(mv: &str) -> (Cell, Cell) {
    let &[from_file, from_rank, to_file, to_rank] = mv.as_bytes() else {
        panic!("{mv} is not a move");
    };
    let cell = |file: u8, rank: u8| (i32::from(rank) - i32::from(b'1'), i32::from(file) - i32::from(b'a'));
    (cell(from_file, from_rank), cell(to_file, to_rank))
}

fn opponent(piece: char) -> char {
    if piece == 'x' { 'o' } else { 'x' }
}

fn side(piece: char) -> &'static str {
    if piece == 'x' { "first" } else { "second" }
}
