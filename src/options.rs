//! What the host of a table chooses.

use hasami_rules::{GameOptions, MAX_PLIES, WinRule};

/// Who may find a table and its games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Those seated, and whoever knows the join code.
    Unlisted,
}

impl Visibility {
    /// The word on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Unlisted => "unlisted",
        }
    }
}

/// What happens to a seat whose player stays away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Absence {
    /// The computer plays for it.
    Cpu,
    /// It loses on time.
    Forfeit,
    /// The opponent waits.
    Wait,
}

impl Absence {
    /// The word on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Forfeit => "forfeit",
            Self::Wait => "wait",
        }
    }
}

/// The options of a table; a game keeps those it began with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableOptions {
    /// How a game is won, and so the ladder it counts for.
    pub win_rule: WinRule,
    /// Seconds for each ply; `None` is no timer.
    pub turn_seconds: Option<i16>,
    /// Plies after which the game is drawn; `None` is the rule sheet's 2,000.
    pub move_limit: Option<i16>,
    /// Whether the service tells where a piece can go while the game runs.
    pub show_destinations: bool,
    /// Whether the sides change from game to game.
    pub alternate_first: bool,
    /// Whether ratings follow.
    pub rated: bool,
    /// Who may find it.
    pub visibility: Visibility,
    /// What happens to a seat whose player stays away.
    pub absence: Absence,
    /// Seconds without a sign of life after which a seat on turn is absent; `None` with a turn timer.
    pub absence_seconds: Option<i32>,
}

/// An option that is not allowed: its name on the wire, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOption {
    /// The option's name.
    pub name: &'static str,
    /// Why not, for the one who chose it.
    pub why: String,
}

impl TableOptions {
    /// The wait before a seat is absent, where the host named none.
    pub const ABSENCE_SECONDS: i32 = 120;
    /// The turn timers there are.
    pub const TURN_SECONDS: [i16; 2] = [30, 60];

    /// What the rules need to know of them.
    #[must_use]
    pub fn game(&self) -> GameOptions {
        let move_limit = self.move_limit.and_then(|n| u16::try_from(n).ok());
        GameOptions { win_rule: self.win_rule, move_limit }
    }

    /// Holds the options against each other.
    ///
    /// # Errors
    /// The first that is not allowed.
    pub fn validate(&self) -> Result<(), InvalidOption> {
        let not = |name, why: &str| Err(InvalidOption { name, why: why.to_owned() });
        if self.turn_seconds.is_some_and(|seconds| !Self::TURN_SECONDS.contains(&seconds)) {
            return not("turn_seconds", "turn_seconds is null, 30 or 60");
        }
        if self.turn_seconds.is_some() && self.absence == Absence::Wait {
            return not(
                "absence",
                "with a turn timer absence is \"cpu\" or \"forfeit\": at its end something must happen",
            );
        }
        if let Some(plies) = self.move_limit
            && !(2..=MAX_PLIES.cast_signed()).contains(&plies)
        {
            return Err(InvalidOption {
                name: "move_limit",
                why: format!("a move limit is null or 2 to {MAX_PLIES} plies"),
            });
        }
        match (self.turn_seconds, self.absence_seconds) {
            (Some(_), Some(_)) => not("absence_seconds", "absence_seconds is only for tables without a turn timer"),
            (None, Some(10..=86_400)) | (Some(_), None) => Ok(()),
            (None, _) => not("absence_seconds", "absence_seconds is 10 to 86400"),
        }
    }
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            win_rule: WinRule::Capture5,
            turn_seconds: None,
            move_limit: None,
            show_destinations: true,
            alternate_first: true,
            rated: true,
            visibility: Visibility::Public,
            absence: Absence::Cpu,
            absence_seconds: Some(Self::ABSENCE_SECONDS),
        }
    }
}
