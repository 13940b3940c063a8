//! Which games there are: ids in the order of a list.

use hasami_rules::WinRule;
use sqlx::PgConnection;

use super::games::GameStatus;
use crate::error::Result;
use crate::ids::{GameId, PlayerId, TableId};

/// Which games a list shows. Unlisted ones are shown to their players only.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing {
    /// Who asks.
    pub viewer: Option<PlayerId>,
    /// Only games of this player.
    pub player: Option<PlayerId>,
    /// Only games at this table.
    pub table: Option<TableId>,
    /// Only games in this state.
    pub status: Option<GameStatus>,
    /// Only games of this ladder.
    pub ladder: Option<WinRule>,
    /// Only rated or only casual ones.
    pub rated: Option<bool>,
}

/// Ids of games before `before`, newest first. Each kind of listing has a statement of its own, so that each walks
/// an index in the order of the list.
///
/// # Errors
/// The database's.
pub async fn list(
    conn: &mut PgConnection,
    listing: Listing,
    before: Option<GameId>,
    limit: i64,
) -> Result<Vec<GameId>> {
    let before = before.map_or(uuid::Uuid::max(), |id| id.0);
    let viewer = listing.viewer.map(|p| p.0);
    let status = listing.status.map(GameStatus::as_str);
    let ladder = listing.ladder.map(WinRule::as_str);
    let ids = match (listing.player, listing.table, listing.status) {
        (Some(player), table, _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id!: GameId" from (
                    (select game_id from games
                     where first_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                       and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                       and ($6::boolean is null or rated = $6) and ($7::uuid is null or table_id = $7)
                     order by game_id desc limit $8)
                    union all
                    (select game_id from games
                     where second_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                       and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                       and ($6::boolean is null or rated = $6) and ($7::uuid is null or table_id = $7)
                     order by game_id desc limit $8)
                ) both_sides
                order by game_id desc limit $8
                "#,
                player.0,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                table.map(|t| t.0),
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, Some(table), _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where table_id = $1 and game_id < $2 and (visibility = 'public' or first_id = $3 or second_id = $3)
                  and ($4::text is null or status = $4) and ($5::text is null or win_rule = $5)
                  and ($6::boolean is null or rated = $6)
                order by game_id desc limit $7
                "#,
                table.0,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, None, Some(GameStatus::Playing)) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where status = 'playing' and game_id < $1 and (visibility = 'public' or first_id = $2 or second_id = $2)
                  and ($3::text is null or win_rule = $3) and ($4::boolean is null or rated = $4)
                order by game_id desc limit $5
                "#,
                before,
                viewer,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
        (None, None, _) => {
            sqlx::query_scalar!(
                r#"
                select game_id as "game_id: GameId" from games
                where game_id < $1 and (visibility = 'public' or first_id = $2 or second_id = $2)
                  and ($3::text is null or status = $3) and ($4::text is null or win_rule = $4)
                  and ($5::boolean is null or rated = $5)
                order by game_id desc limit $6
                "#,
                before,
                viewer,
                status,
                ladder,
                listing.rated,
                limit,
            )
            .fetch_all(conn)
            .await?
        }
    };
    Ok(ids)
}
