//! JSON shapes that several resources share. Nothing of `rules` or `store` is serialised: the wire changes only on
//! purpose.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use hasami_rules::{Side, SquareSet, Termination, WinRule};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::{PartialSchema, ToSchema};

use super::Service;
use crate::elo::{Milli, Reason};
use crate::error::{Error, Fault, Result};
use crate::ids::PlayerId;
use crate::ladder::judge;
use crate::ladder::replay::{Loaded, Ply};
use crate::options::{Absence, TableOptions, Visibility};
use crate::player::PlayerKind;
use crate::store::players::PlayerRow;
use crate::store::tables::TableRow;

/// A time: RFC 3339, UTC, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp(pub DateTime<Utc>);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("RFC 3339, UTC, in milliseconds"))
            .examples([serde_json::json!("2026-11-30T12:00:00.123Z")])
            .into()
    }
}

impl ToSchema for Timestamp {}

/// Whole points, half a point rounded away from zero.
#[must_use]
pub fn points(milli: Milli) -> i32 {
    (milli + 500).div_euclid(1000)
}

/// Squares as text, sorted.
#[must_use]
pub fn squares(set: SquareSet) -> Vec<String> {
    let mut squares: Vec<String> = set.into_iter().map(|s| s.to_string()).collect();
    squares.sort_unstable();
    squares
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident = $own:ty { $($(#[$word:meta])* $variant:ident),+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$word])* $variant),+ }

        impl From<$own> for $name {
            fn from(own: $own) -> Self {
                match own { $(<$own>::$variant => Self::$variant),+ }
            }
        }

        impl From<$name> for $own {
            fn from(word: $name) -> Self {
                match word { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

pub(super) use words;

words! {
    /// What is behind a player: `guest` without an account, `human`, `bot`, or the service's own `cpu`.
    KindView = PlayerKind { Guest, Human, Bot, Cpu }
}
words! {
    /// How a game is won, and so its ladder: `capture5` (five pieces captured), `lead3` (three more than the
    /// opponent), `captureall` (all nine).
    WinRuleView = WinRule {
        Capture5,
        Lead3,
        #[serde(rename = "captureall")]
        CaptureAll
    }
}
words! {
    /// A side of a game: `first` moves first and starts on rank 1.
    SideView = Side { First, Second }
}
words! {
    /// How a game ended.
    TerminationView = Termination { Captures, NoMoves, Repetition, MoveLimit, Resignation, Timeout, Agreement, Abort }
}
words! {
    /// Who may find a table: everybody, or those seated and whoever has the join code.
    VisibilityView = Visibility { Public, Unlisted }
}
words! {
    /// What happens to a seat whose player stays away.
    AbsenceView = Absence { Cpu, Forfeit, Wait }
}
words! {
    /// Where a game stands.
    StatusView = crate::store::games::GameStatus { Playing, Finished, Aborted }
}
words! {
    /// The rule beside the formula that changed a rating last: `repeated_pair` (these two played often within a day),
    /// `stand_in` (the computer moved for this side), `annulled`.
    ReasonView = Reason { RepeatedPair, StandIn, Annulled }
}

/// A player.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "id": "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11", "username": "ana", "display_name": "Ana", "kind": "human" }))]
pub struct PlayerView {
    /// The id, which never changes.
    pub id: String,
    /// The handle.
    pub username: String,
    /// The name to show; the handle where no other was chosen.
    pub display_name: String,
    /// What is behind the player.
    pub kind: KindView,
}

impl From<&PlayerRow> for PlayerView {
    fn from(row: &PlayerRow) -> Self {
        Self {
            id: row.player_id.to_string(),
            username: row.username.clone(),
            display_name: row.display_name.clone().unwrap_or_else(|| row.username.clone()),
            kind: row.kind.into(),
        }
    }
}

/// All options of a table, or of a game as they stood when it began.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "win_rule": "capture5", "turn_seconds": null, "move_limit": null, "show_destinations": true, "alternate_first": true,
    "rated": true, "visibility": "public", "absence": "cpu", "absence_seconds": 120
}))]
pub struct OptionsView {
    /// How a game is won.
    pub win_rule: WinRuleView,
    /// Seconds for each ply; null is no timer.
    #[schema(required)]
    pub turn_seconds: Option<i16>,
    /// Plies after which the game is drawn; null is 2000.
    #[schema(required)]
    pub move_limit: Option<i16>,
    /// Whether `/destinations` answers while the game runs.
    pub show_destinations: bool,
    /// Whether the sides change from game to game.
    pub alternate_first: bool,
    /// Whether ratings follow.
    pub rated: bool,
    /// Who may find it.
    pub visibility: VisibilityView,
    /// What happens to a seat whose player stays away.
    pub absence: AbsenceView,
    /// Seconds without a sign of life after which a seat on turn is absent; null with a turn timer.
    #[schema(required)]
    pub absence_seconds: Option<i32>,
}

impl From<TableOptions> for OptionsView {
    fn from(options: TableOptions) -> Self {
        Self {
            win_rule: options.win_rule.into(),
            turn_seconds: options.turn_seconds,
            move_limit: options.move_limit,
            show_destinations: options.show_destinations,
            alternate_first: options.alternate_first,
            rated: options.rated,
            visibility: options.visibility.into(),
            absence: options.absence.into(),
            absence_seconds: options.absence_seconds,
        }
    }
}

/// A seat of a table.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({ "username": "ana", "kind": "human", "cpu_level": null, "wants_next": false }))]
pub struct SeatView {
    /// Whose it is.
    pub username: String,
    /// What is behind the player.
    pub kind: KindView,
    /// The computer's strength, 1 to 8; null for anybody else.
    #[schema(required)]
    pub cpu_level: Option<u8>,
    /// Whether the player asked for the next game.
    pub wants_next: bool,
}

/// A table.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableView {
    /// The id.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    pub id: String,
    /// Who opened it and may change its options.
    #[schema(example = "ana")]
    pub host: String,
    /// The options that the next game freezes.
    pub options: OptionsView,
    /// Two seats, whoever sat first leading; null is a free one.
    #[schema(min_items = 2, max_items = 2)]
    pub seats: Vec<Option<SeatView>>,
    /// The present or last game.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    pub game_id: Option<String>,
    /// Whether that game runs.
    pub running: bool,
    /// How many games there were.
    #[schema(example = 1)]
    pub games: i32,
    /// Whether the table is closed for good.
    pub closed: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Opens an unlisted table; shown to those seated and to the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "q7x3k9pm")]
    pub join_code: Option<String>,
}

impl TableView {
    /// The table as `viewer` may see it.
    #[must_use]
    pub fn new(row: &TableRow, viewer: Option<PlayerId>) -> Self {
        let inside = viewer.is_some_and(|v| row.seats(v) || row.host_id == v);
        let seat = |id: Option<PlayerId>, username: &Option<String>, kind: Option<PlayerKind>, wants_next| {
            let cpu_level = id?.cpu_level();
            // The computer always agrees.
            let wants_next = wants_next || cpu_level.is_some() && !row.running;
            Some(SeatView { username: username.clone()?, kind: kind?.into(), cpu_level, wants_next })
        };
        Self {
            id: row.table_id.to_string(),
            host: row.host_username.clone(),
            options: row.options().into(),
            seats: vec![
                seat(row.leading_id, &row.leading_username, row.leading_kind, row.leading_wants_next),
                seat(row.following_id, &row.following_username, row.following_kind, row.following_wants_next),
            ],
            game_id: row.game_id.map(|id| id.to_string()),
            running: row.running,
            games: row.games,
            closed: row.closed,
            created_at: Timestamp(row.created_at),
            join_code: row.join_code.clone().filter(|_| inside),
        }
    }
}

/// A side of a game: who plays it, their ratings, and what it captured.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "username": "ana", "kind": "human", "rating_before": 1500, "rating_before_milli": 1500000,
    "rating_after": 1520, "rating_after_milli": 1520000, "captured": 5
}))]
pub struct GameSeatView {
    /// Who plays it.
    pub username: String,
    /// What is behind the player.
    pub kind: KindView,
    /// Whole points before the game; null in a casual game.
    #[schema(required)]
    pub rating_before: Option<i32>,
    /// The same in thousandths.
    #[schema(required)]
    pub rating_before_milli: Option<i32>,
    /// Whole points after the game; null while it runs, and where no rating follows from it.
    #[schema(required)]
    pub rating_after: Option<i32>,
    /// The same in thousandths.
    #[schema(required)]
    pub rating_after_milli: Option<i32>,
    /// How many pieces this side has taken.
    pub captured: u8,
}

/// Both sides of a game.
#[derive(Debug, Serialize, ToSchema)]
pub struct GameSeatsView {
    /// Who moves first.
    pub first: GameSeatView,
    /// Who moves second.
    pub second: GameSeatView,
}

/// A game as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct GameView {
    /// The id.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c12")]
    pub id: String,
    /// Its table.
    #[schema(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    pub table_id: String,
    /// Which game of its table, 1 for the first.
    #[schema(example = 1)]
    pub number: i32,
    /// The ladder that it counts for if it is rated: its win rule.
    pub ladder: WinRuleView,
    /// Whether ratings follow.
    pub rated: bool,
    /// The table's options when the game began.
    pub options: OptionsView,
    /// Both sides.
    pub seats: GameSeatsView,
    /// Ranks 9 to 1, `x` first, `o` second, digits for empty runs, and the side to move (after the end, the side
    /// whose turn it would be).
    #[schema(example = "ooooooooo/9/9/9/9/9/9/9/xxxxxxxxx first")]
    pub position: String,
    /// Plies made.
    #[schema(example = 0)]
    pub ply: u16,
    /// Whose turn it is; null after the end.
    #[schema(required)]
    pub to_move: Option<SideView>,
    /// Where the game stands.
    pub status: StatusView,
    /// Who won; null for a draw, an aborted game and one that runs.
    #[schema(required)]
    pub winner: Option<SideView>,
    /// How it ended; null while it runs.
    #[schema(required)]
    pub termination: Option<TerminationView>,
    /// How often the present position has stood, this time included; the fourth is a draw.
    #[schema(example = 1)]
    pub repetitions: u8,
    /// After which plies it stood; 0 is the start.
    #[schema(example = json!([0]))]
    pub stood_at: Vec<u16>,
    /// The side whose offer of a draw stands.
    #[schema(required)]
    pub draw_offer: Option<SideView>,
    /// When the next ply is due; null without a turn timer.
    #[schema(required)]
    pub deadline_at: Option<Timestamp>,
    /// When the game began.
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
    /// The game whose repetition draw this one repeats.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c13")]
    pub rerun_of: Option<String>,
    /// The game that repeats this one after its repetition draw.
    #[schema(required, example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c13")]
    pub rerun: Option<String>,
}

impl From<&Loaded> for GameView {
    fn from(loaded: &Loaded) -> Self {
        let (row, game) = (&loaded.row, &loaded.game);
        let running = row.ended_at.is_none();
        let first = GameSeatView {
            username: row.first_username.clone(),
            kind: row.first_kind.into(),
            rating_before: row.first_before_milli.map(points),
            rating_before_milli: row.first_before_milli,
            rating_after: row.first_after_milli.map(points),
            rating_after_milli: row.first_after_milli,
            captured: game.captured_by(Side::First),
        };
        let second = GameSeatView {
            username: row.second_username.clone(),
            kind: row.second_kind.into(),
            rating_before: row.second_before_milli.map(points),
            rating_before_milli: row.second_before_milli,
            rating_after: row.second_after_milli.map(points),
            rating_after_milli: row.second_after_milli,
            captured: game.captured_by(Side::Second),
        };
        Self {
            id: row.game_id.to_string(),
            table_id: row.table_id.to_string(),
            number: row.number,
            ladder: row.win_rule.0.into(),
            rated: row.rated,
            options: row.options().into(),
            seats: GameSeatsView { first, second },
            position: game.position().to_string(),
            ply: game.ply(),
            to_move: game.to_move().filter(|_| running).map(Into::into),
            status: row.status.into(),
            winner: row.winner.map(|w| w.0.into()),
            termination: row.termination.map(|t| t.0.into()),
            repetitions: game.repetitions(),
            stood_at: game.stood_at(),
            draw_offer: row.draw_offer.map(|s| s.0.into()),
            deadline_at: row.deadline_at.map(Timestamp),
            started_at: Timestamp(row.started_at),
            ended_at: row.ended_at.map(Timestamp),
            rerun_of: row.rerun_of.map(|g| g.to_string()),
            rerun: row.rerun.map(|g| g.to_string()),
        }
    }
}

/// Who made a ply: the seat's player, or the computer for it.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByView {
    /// The player.
    Player,
    /// The computer.
    Cpu,
}

/// One ply of a game's history.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "ply": 1, "side": "first", "move": "e1e5", "captured": [], "by": "player", "position_hash": "6a09e667f3bcc908",
    "at": "2026-11-30T12:00:03.210Z", "elapsed_ms": 3087
}))]
pub struct PlyView {
    /// Which, 1 for the first.
    pub ply: u16,
    /// Who moved.
    pub side: SideView,
    /// From-square and to-square.
    #[serde(rename = "move")]
    pub mv: String,
    /// Where pieces fell, sorted as text.
    pub captured: Vec<String>,
    /// Who made it.
    pub by: ByView,
    /// The 64-bit key of the position after it, in 16 hex digits.
    pub position_hash: String,
    /// When.
    pub at: Timestamp,
    /// Milliseconds since the ply before, or since the start.
    pub elapsed_ms: u64,
}

impl From<&Ply> for PlyView {
    fn from(ply: &Ply) -> Self {
        debug_assert_eq!(ply.side, judge::mover(ply.ply));
        Self {
            ply: ply.ply,
            side: ply.side.into(),
            mv: ply.mv.to_string(),
            captured: squares(ply.captured),
            by: if ply.by_cpu { ByView::Cpu } else { ByView::Player },
            position_hash: format!("{:016x}", ply.position_hash),
            at: Timestamp(ply.at),
            elapsed_ms: ply.elapsed_ms,
        }
    }
}

/// Possible moves by from-square.
pub type Destinations = BTreeMap<String, Vec<String>>;

/// How much of a list is asked for, where it is not named.
pub const DEFAULT_LIMIT: u8 = 50;
/// How much of a list is given at most.
pub const MAX_LIMIT: u8 = 100;

/// The size of a page.
///
/// # Errors
/// Names the parameter.
pub fn page_size(limit: Option<u8>) -> Result<usize> {
    match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(usize::from(limit)),
        _ => Err(Error::malformed(Fault::parameter("limit", format!("limit is 1 to {MAX_LIMIT}")))),
    }
}

/// Reads a list's cursor.
///
/// # Errors
/// Names the parameter where this is no cursor of this list.
pub fn open_cursor<T>(
    service: &Service,
    list: &str,
    cursor: Option<&str>,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>> {
    let Some(cursor) = cursor else { return Ok(None) };
    let place = service.cursors.open(list, cursor).and_then(|place| read(&place));
    let fault =
        || Error::malformed(Fault::parameter("cursor", "this is no cursor of this list: take it from `next` as it is"));
    place.map(Some).ok_or_else(fault)
}

/// Cuts a list that was read one row too far, and writes the cursor to its rest.
pub fn seal_cursor<T>(
    service: &Service,
    list: &str,
    rows: &mut Vec<T>,
    limit: usize,
    place: impl FnOnce(&T) -> String,
) -> Option<String> {
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(|last| service.cursors.seal(list, &place(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_on_the_wire_are_those_of_paths_and_columns() {
        fn check<V: From<T> + Serialize, T: Copy>(all: &[T], own: fn(T) -> &'static str) {
            for value in all {
                assert_eq!(serde_json::to_value(V::from(*value)).unwrap(), own(*value));
            }
        }
        check::<WinRuleView, _>(&WinRule::ALL, WinRule::as_str);
        check::<SideView, _>(&Side::ALL, Side::as_str);
        check::<TerminationView, _>(&Termination::ALL, Termination::as_str);
        check::<KindView, _>(
            &[PlayerKind::Guest, PlayerKind::Human, PlayerKind::Bot, PlayerKind::Cpu],
            PlayerKind::as_str,
        );
        check::<VisibilityView, _>(&[Visibility::Public, Visibility::Unlisted], Visibility::as_str);
        check::<AbsenceView, _>(&[Absence::Cpu, Absence::Forfeit, Absence::Wait], Absence::as_str);
        check::<ReasonView, _>(&[Reason::RepeatedPair, Reason::StandIn, Reason::Annulled], Reason::as_str);
    }
}
