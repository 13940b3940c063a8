-- Where two seats and the chosen options stay together over several games.

create table tables (
    table_id uuid constraint tables_pkey primary key,
    host_id uuid not null constraint tables_host references players,

    -- The options, as the next game will freeze them.
    win_rule text not null constraint tables_win_rule check (win_rule in ('capture5', 'lead3', 'captureall')),
    turn_seconds smallint constraint tables_turn_seconds check (turn_seconds in (30, 60)),
    move_limit smallint constraint tables_move_limit check (move_limit between 2 and 2000),
    show_destinations boolean not null,
    alternate_first boolean not null,
    rated boolean not null,
    visibility text not null constraint tables_visibility check (visibility in ('public', 'unlisted')),
    absence text not null constraint tables_absence check (absence in ('cpu', 'forfeit', 'wait')),
    absence_seconds integer constraint tables_absence_seconds check (absence_seconds between 10 and 86400),
    -- Opens an unlisted table to whoever knows it; a public table has none.
    join_code text,

    -- Whoever sat first leads. Who leaves makes the other one the leader.
    leading_id uuid constraint tables_leading references players,
    following_id uuid constraint tables_following references players,
    leading_wants_next boolean not null default false,
    following_wants_next boolean not null default false,

    -- The present or last game, and how many there were. `running` is what holds "one running game a table":
    -- a game starts only by an update that finds it false. (A unique index on games could not: games may be
    -- spread over machines by their own id.)
    game_id uuid,
    running boolean not null default false,
    games integer not null default 0,
    -- Who moved first in the last game that counts for `alternate_first`.
    moved_first_id uuid,

    created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
    closed_at timestamptz,

    constraint tables_two_players check (leading_id <> following_id),
    constraint tables_leader check (leading_id is not null or following_id is null),
    constraint tables_join_code check ((visibility = 'unlisted') = (join_code is not null))
);

-- The lobby: public tables with a free seat, newest first (ids ascend with time).
create index tables_open on tables (table_id)
    where following_id is null and closed_at is null and visibility = 'public';
create index tables_public on tables (table_id)
    where closed_at is null and visibility = 'public';
