-- The truth of the product: each game's packed move log, in the game's own row.

create table games (
    game_id uuid constraint games_pkey primary key,
    table_id uuid not null constraint games_table references tables,
    number integer not null,
    first_id uuid not null constraint games_first references players,
    second_id uuid not null constraint games_second references players,
    started_at timestamptz not null,

    -- The table's options as they stood when the game began.
    win_rule text not null,
    turn_seconds smallint,
    move_limit smallint,
    show_destinations boolean not null,
    alternate_first boolean not null,
    rated boolean not null,
    visibility text not null,
    absence text not null,
    absence_seconds integer,
    first_cpu_level smallint constraint games_first_cpu_level check (first_cpu_level between 1 and 8),
    second_cpu_level smallint constraint games_second_cpu_level check (second_cpu_level between 1 and 8),

    -- A repetition draw is followed by a rerun; the two name each other.
    rerun_of uuid,
    rerun uuid,

    winner text constraint games_winner check (winner in ('first', 'second')),
    termination text constraint games_termination check (termination in
        ('captures', 'no_moves', 'repetition', 'move_limit', 'resignation', 'timeout', 'agreement', 'abort')),
    ended_at timestamptz,
    -- Milli-points. While the game runs `before` is the rating at its start, afterwards the ledger's.
    first_before_milli integer,
    second_before_milli integer,
    first_after_milli integer,
    second_after_milli integer,

    -- What time does to a game. `check_at` is never later than the instant at which something is due, and a
    -- move leaves it alone, so that an index may hold it. A player who is `away` is absent at once on each turn.
    check_at timestamptz,
    first_seen_at timestamptz not null,
    second_seen_at timestamptz not null,
    first_away boolean not null default false,
    second_away boolean not null default false,

    -- From here on stands what each move changes. No index may name one of these columns, nor may an index's
    -- condition (but for `status`, which a move that goes on leaves alone): every move is then a HOT update.
    status text not null default 'playing' constraint games_status check (status in ('playing', 'finished', 'aborted')),
    draw_offer text constraint games_draw_offer check (draw_offer in ('first', 'second')),
    deadline_at timestamptz,
    ply_at timestamptz not null,
    position_hash bigint not null,
    ply smallint not null default 0,

    -- The log is last and holds its newest record first. Both versions of an updated row then end in the same
    -- bytes, and the write-ahead log carries only what is new, however long the game is. A column added later
    -- goes before it (by a copy of the relation) or is one that a move never changes and has no alignment.
    log bytea not null default '',

    constraint games_two_players check (first_id <> second_id),
    constraint games_ended check ((status = 'playing') = (ended_at is null) and (status = 'playing') = (termination is null))
)
with (fillfactor = 70, toast_tuple_target = 8160);

-- A long log stays in the row, uncompressed, as long as a page holds it.
alter table games alter column log set storage external;

create index games_by_table on games (table_id);
create index games_by_first on games (first_id, game_id);
create index games_by_second on games (second_id, game_id);
create index games_running on games (game_id) where status = 'playing';
create index games_due on games (check_at) where status = 'playing';
