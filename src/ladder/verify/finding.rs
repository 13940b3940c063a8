//! What does not agree, and how values are compared.

use std::fmt::{self, Display};

use crate::store::audit::LedgerRow;

/// A stored value that is not what follows from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Of which relation.
    pub relation: &'static str,
    /// In which row: its primary key, the parts divided by slashes.
    pub key: String,
    /// In which column; `row` for a whole one.
    pub column: &'static str,
    /// What is there.
    pub found: String,
    /// What should be.
    pub expected: String,
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relation, key, column, found, expected } = self;
        write!(f, "{relation} {key} {column}: found {found}, expected {expected}")
    }
}

/// The primary key of a ledger row.
#[must_use]
pub fn ledger_key(row: &LedgerRow) -> String {
    format!("{}/{}/{}", row.player_id, row.ladder.0, row.number)
}

/// A ledger row without a game of its player.
pub(in crate::ladder) fn stray(row: &LedgerRow) -> Mismatch {
    let (found, expected) = (row.game_id.to_string(), "a game of this player".to_owned());
    Mismatch { relation: "ledger", key: ledger_key(row), column: "game_id", found, expected }
}

/// The comparisons of one row.
#[derive(Debug)]
pub(in crate::ladder) struct Checks {
    relation: &'static str,
    key: String,
    found: Vec<Mismatch>,
}

impl Checks {
    pub(in crate::ladder) fn new(relation: &'static str, key: String) -> Self {
        Self { relation, key, found: Vec::new() }
    }

    pub(in crate::ladder) fn fail(&mut self, column: &'static str, found: impl Display, expected: impl Display) {
        let (relation, key) = (self.relation, self.key.clone());
        self.found.push(Mismatch { relation, key, column, found: found.to_string(), expected: expected.to_string() });
    }

    pub(in crate::ladder) fn same<T: PartialEq + Display>(&mut self, column: &'static str, found: T, expected: T) {
        if found != expected {
            self.fail(column, found, expected);
        }
    }

    pub(in crate::ladder) fn same_or_null<T: PartialEq + Display>(
        &mut self,
        column: &'static str,
        found: Option<T>,
        expected: Option<T>,
    ) {
        if found != expected {
            self.fail(column, or_null(found), or_null(expected));
        }
    }

    /// To the last bit.
    pub(in crate::ladder) fn same_float(&mut self, column: &'static str, found: f64, expected: f64) {
        if found.to_bits() != expected.to_bits() {
            self.fail(column, found, expected);
        }
    }

    /// Takes another row's in.
    pub(in crate::ladder) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
    }

    pub(in crate::ladder) fn take(&mut self) -> Vec<Mismatch> {
        std::mem::take(&mut self.found)
    }
}

pub(super) fn or_null(value: Option<impl Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}
