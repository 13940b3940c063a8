//! Tables: open, list, change options.

use actix_web::http::header;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get, patch, post};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Service;
use super::extract::{Auth, Body, Params, Viewer, from_path, given};
use super::views::{self, AbsenceView, TableView, VisibilityView, WinRuleView};
use crate::error::{Error, Result};
use crate::ids::{PlayerId, TableId};
use crate::ladder::tables;
use crate::options::TableOptions;
use crate::store;
use crate::store::tables::{Listing, TableRow};

/// A table's id.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "documents the path, which handlers parse by themselves to answer 404")]
pub struct TablePath {
    /// The table.
    #[param(example = "01935f3e-8a52-7c44-9a0b-5b5f0f1f7c11")]
    table_id: String,
}

/// A code for what is unlisted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CodeQuery {
    /// Shows an unlisted table or game to those who are not seated.
    #[param(example = "q7x3k9pm")]
    pub join_code: Option<String>,
}

/// A body with all options flat beside its own fields: serde cannot flatten a struct and refuse unknown fields too.
macro_rules! options_body {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub struct $name {
            $($(#[$field_doc])* $field: $type,)*
            /// How a game is won. Default `capture5`.
            #[schema(nullable = false)]
            win_rule: Option<WinRuleView>,
            /// Seconds for each ply: null, 30 or 60. Default null.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<i16>)]
            turn_seconds: Option<Option<i16>>,
            /// Plies after which the game is drawn: null or 2 to 2000. Default null.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<i16>, minimum = 2, maximum = 2000)]
            move_limit: Option<Option<i16>>,
            /// Whether `/destinations` answers while the game runs. Default true.
            #[schema(nullable = false)]
            show_destinations: Option<bool>,
            /// Whether the sides change from game to game. Default true.
            #[schema(nullable = false)]
            alternate_first: Option<bool>,
            /// Whether ratings follow. Default true.
            #[schema(nullable = false)]
            rated: Option<bool>,
            /// Who may find it. Default `public`.
            #[schema(nullable = false)]
            visibility: Option<VisibilityView>,
            /// What happens to a seat whose player stays away, or whose time is over. Default `cpu`; `wait` not with a
            /// timer.
            #[schema(nullable = false)]
            absence: Option<AbsenceView>,
            /// Seconds without a sign of life after which a seat on turn is absent: 10 to 86400. Default 120; null with
            /// a timer.
            #[serde(default, deserialize_with = "given")]
            #[schema(value_type = Option<i32>, minimum = 10, maximum = 86400)]
            absence_seconds: Option<Option<i32>>,
        }

        impl $name {
            /// `to` with what the body names.
            fn apply(&self, to: TableOptions) -> TableOptions {
                let turn_seconds = self.turn_seconds.unwrap_or(to.turn_seconds);
                // Belongs to tables without a timer: it comes and goes with that, unless it is named.
                let absence_seconds = match turn_seconds {
                    Some(_) => None,
                    None => to.absence_seconds.or(Some(TableOptions::ABSENCE_SECONDS)),
                };
                TableOptions {
                    win_rule: self.win_rule.map_or(to.win_rule, Into::into),
                    turn_seconds,
                    move_limit: self.move_limit.unwrap_or(to.move_limit),
                    show_destinations: self.show_destinations.unwrap_or(to.show_destinations),
                    alternate_first: self.alternate_first.unwrap_or(to.alternate_first),
                    rated: self.rated.unwrap_or(to.rated),
                    visibility: self.visibility.map_or(to.visibility, Into::into),
                    absence: self.absence.map_or(to.absence, Into::into),
                    absence_seconds: self.absence_seconds.unwrap_or(absence_seconds),
                }
            }
        }
    };
}

pub(super) use options_body;

options_body! {
    /// A new table: its options, each with a default, and whether its host sits down.
    #[schema(example = json!({ "win_rule": "capture5", "rated": true, "move_limit": 300 }))]
    pub struct OpenTable {
        /// Whether the host takes the first seat. Default true.
        #[schema(nullable = false)]
        sit: Option<bool>,
    }
}

options_body! {
    /// Options to change for the next game; those left out stay as they are.
    #[schema(example = json!({ "rated": false, "move_limit": null }))]
    pub struct ChangeTable {}
}

/// Open a table
///
/// Chooses the options and takes the first seat. Whoever sits second starts the game; who sat first moves first in it.
#[utoipa::path(
    tag = "tables",
    operation_id = "open_table",
    request_body = OpenTable,
    security(("bearer" = [])),
    responses(
        (status = 201, description = "The table", body = TableView, headers(("location" = String, description = "Its address"))),
        (status = 422, description = "`invalid_option`: `errors` names the option and says why")
    )
)]
#[post("/v1/tables")]
pub async fn open_table(service: Data<Service>, auth: Auth, body: Body<OpenTable>) -> Result<HttpResponse> {
    let options = body.0.apply(TableOptions::default());
    let table = tables::open(&service.pool, auth.player(), options, body.0.sit.unwrap_or(true)).await?;
    let location = (header::LOCATION, format!("/v1/tables/{}", table.table_id));
    Ok(HttpResponse::Created().insert_header(location).json(TableView::new(&table, Some(auth.player()))))
}

/// Which tables to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListTables {
    /// Only those with a free seat. Default false.
    #[serde(default)]
    #[param(example = true)]
    open: bool,
    /// Only those of this ladder.
    #[param(example = "capture5", inline)]
    ladder: Option<WinRuleView>,
    /// Only rated, or only casual ones.
    #[param(example = true)]
    rated: Option<bool>,
    /// How many, 1 to 100. Default 50.
    #[param(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u8>,
    /// `next` of the page before.
    #[param(example = "Y3Vyc29yIG9mIHRoZSBwYWdlIGJlZm9yZQ")]
    cursor: Option<String>,
}

/// A page of tables.
#[derive(Debug, Serialize, ToSchema)]
pub struct TablesView {
    /// The tables, newest first.
    items: Vec<TableView>,
    /// The cursor of the next page; null on the last.
    #[schema(required, example = "Y3Vyc29yIG9mIHRoaXMgcGFnZQ")]
    next: Option<String>,
}

/// List tables
///
/// Public tables, newest first. With `open=true`, those that wait for an opponent.
#[utoipa::path(
    tag = "tables",
    operation_id = "list_tables",
    params(ListTables),
    security((), ("bearer" = [])),
    responses((status = 200, description = "A page of tables", body = TablesView))
)]
#[get("/v1/tables")]
pub async fn list_tables(service: Data<Service>, viewer: Viewer, params: Params<ListTables>) -> Result<HttpResponse> {
    let params = params.0;
    let limit = views::page_size(params.limit)?;
    let before =
        views::open_cursor(&service, "tables", params.cursor.as_deref(), |place| place.parse::<TableId>().ok())?;
    let listing = Listing { open: params.open, ladder: params.ladder.map(Into::into), rated: params.rated };
    let mut conn = service.pool.acquire().await?;
    let mut ids = store::tables::list(&mut conn, listing, before, limit as i64 + 1).await?;
    let next = views::seal_cursor(&service, "tables", &mut ids, limit, TableId::to_string);
    let mut rows = store::tables::find_many(&mut conn, &ids).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.table_id));
    let items = rows.iter().map(|row| TableView::new(row, viewer.0)).collect();
    Ok(HttpResponse::Ok().json(TablesView { items, next }))
}

/// Read a table
///
/// Its options, seats, and present or last game. An unlisted table is found by those seated, its host, and with
/// its join code.
#[utoipa::path(
    tag = "tables",
    operation_id = "get_table",
    params(TablePath, CodeQuery),
    security((), ("bearer" = [])),
    responses((status = 200, description = "The table", body = TableView), (status = 404, description = "`table_not_found`"))
)]
#[get("/v1/tables/{table_id}")]
pub async fn get_table(
    service: Data<Service>,
    path: Path<String>,
    viewer: Viewer,
    params: Params<CodeQuery>,
) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let table =
        tables::load_visible(&mut *service.pool.acquire().await?, table_id, viewer.0, params.0.join_code.as_deref())
            .await?;
    if let Some(player) = viewer.0 {
        seen(&service, &table, player).await?;
    }
    Ok(HttpResponse::Ok().json(TableView::new(&table, viewer.0)))
}

/// A player who is seated has dealt with a table: a sign of life in its game.
pub(super) async fn seen(service: &Service, table: &TableRow, player: PlayerId) -> Result<()> {
    match table.game_id {
        Some(game_id) if table.running && table.seats(player) => super::games::seen(service, game_id, player).await,
        _ => Ok(()),
    }
}

/// Change a table's options
///
/// For the next game, by the host, while no game runs. Whoever has asked for the next game asks anew: it is another one.
#[utoipa::path(
    tag = "tables",
    operation_id = "change_table",
    params(TablePath),
    request_body = ChangeTable,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The table", body = TableView),
        (status = 403, description = "`forbidden`: only the host may"),
        (status = 404, description = "`table_not_found`"),
        (status = 409, description = "`game_running`"),
        (status = 410, description = "`table_closed`"),
        (status = 422, description = "`invalid_option`: `errors` names the option and says why")
    )
)]
#[patch("/v1/tables/{table_id}")]
pub async fn change_table(
    service: Data<Service>,
    path: Path<String>,
    auth: Auth,
    body: Body<ChangeTable>,
) -> Result<HttpResponse> {
    let table_id = from_path(&path, Error::TableNotFound)?;
    let table =
        tables::change_options(&service.pool, table_id, auth.player(), move |options| body.0.apply(options)).await?;
    Ok(HttpResponse::Ok().json(TableView::new(&table, Some(auth.player()))))
}
