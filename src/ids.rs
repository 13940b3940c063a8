//! Keys of what is stored. Each is a UUID of version 7: it sorts by its time of birth, which makes it a cursor too,
//! and it is no secret.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// A text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct ParseIdError;

macro_rules! id {
    ($(#[$doc:meta] $name:ident),+ $(,)?) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
        #[sqlx(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "a default that differs each time would surprise")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            /// Reads the one form in which ids are written: hyphens, lower case.
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let id = Self(Uuid::try_parse(text).map_err(|_| ParseIdError)?);
                if id.to_string() == text { Ok(id) } else { Err(ParseIdError) }
            }
        }
    )+};
}

id! {
    /// An identity: guest, human, bot or cpu.
    PlayerId,
    /// A login, from its first refresh token to its last.
    SessionId,
    /// A place with two seats.
    TableId,
    /// One play-through.
    GameId,
    /// A player's wait for an opponent.
    TicketId,
    /// An offer to play to a named player.
    ChallengeId,
}

/// The computer's players have ids that no birth gives: their last byte is the level.
const CPU: u128 = 0x0000_0000_0000_8000_8000_0000_0000_0000;

impl PlayerId {
    /// The computer at a level, 1 to 8.
    #[must_use]
    pub const fn of_cpu(level: u8) -> Self {
        Self(Uuid::from_u128(CPU | level as u128))
    }

    /// Whether this is the computer, at whatever level.
    #[must_use]
    pub fn is_computer(self) -> bool {
        self.cpu_level().is_some()
    }

    /// The computer's level, if this is the computer.
    #[must_use]
    pub fn cpu_level(self) -> Option<u8> {
        (1..=8).find(|level| self == Self::of_cpu(*level))
    }
}
