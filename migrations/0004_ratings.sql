-- What games are worth. The ledger is append-only and is the truth of ratings; everything else here is derived
-- from it and can be counted again.

create table ledger (
    player_id uuid not null constraint ledger_player references players,
    ladder text not null constraint ledger_ladder check (ladder in ('capture5', 'lead3', 'captureall')),
    -- Gapless from 1, and the only order: times may be equal or cross.
    number integer not null constraint ledger_number check (number >= 1),
    -- An annulled game keeps its row and gets a second one that takes the change back.
    entry text not null constraint ledger_entry check (entry in ('result', 'annulment')),
    game_id uuid not null,
    opponent_id uuid not null constraint ledger_opponent references players,
    opponent_milli integer not null,
    score double precision not null constraint ledger_score check (score in (0, 0.5, 1)),
    expected double precision not null,
    k double precision not null,
    before_milli integer not null,
    after_milli integer not null,
    change_milli integer not null,
    reason text constraint ledger_reason check (reason in ('repeated_pair', 'stand_in', 'annulled')),
    at timestamptz not null,
    constraint ledger_pkey primary key (player_id, ladder, number),
    -- However often a game's end is written, it counts once.
    constraint ledger_once unique (player_id, game_id, entry),
    constraint ledger_sum check (after_milli - before_milli = change_milli)
);

-- Two players' games against each other: head to head, and the damping of repeated pairs.
create index ledger_pairs on ledger (player_id, ladder, opponent_id, at);

-- The present state of a player in a ladder: the last ledger row, summed up. Its row is what an ending locks.
create table ratings (
    player_id uuid not null constraint ratings_player references players,
    ladder text not null constraint ratings_ladder check (ladder in ('capture5', 'lead3', 'captureall')),
    -- Copies of the player's, so that one index gives a leaderboard page in its order.
    username text collate "C" not null,
    kind text not null,
    rating_milli integer not null default 1500000 constraint ratings_floor check (rating_milli >= 100000),
    peak_milli integer not null default 1500000,
    number integer not null default 0,
    wins integer not null default 0,
    draws integer not null default 0,
    losses integer not null default 0,
    last_rated_at timestamptz,
    -- Whether the leaderboard shows this player. Every view reads this mark, so that all agree.
    listed boolean not null default false,
    constraint ratings_pkey primary key (player_id, ladder)
)
with (fillfactor = 85);

create index ratings_board on ratings (ladder, rating_milli desc, username) where listed;
create index ratings_board_by_kind on ratings (ladder, kind, rating_milli desc, username) where listed;
-- Finds those whose 90 days are over.
create index ratings_lapsing on ratings (last_rated_at) where listed;

-- Exact ranks without a hot row. Listed players are counted in buckets of two widths: 10 points (level 1) and
-- a tenth of a point (level 2). A finished game only appends to `rank_deltas`; one statement now and then folds
-- those into the buckets. A rank is the sum of wide buckets above, of narrow ones above within the own wide one,
-- of deltas not folded yet, and of the players above within the own narrow bucket.
create table rank_buckets (
    ladder text not null,
    level smallint not null constraint rank_buckets_level check (level in (1, 2)),
    bucket integer not null,
    players integer not null,
    constraint rank_buckets_pkey primary key (ladder, level, bucket)
)
with (fillfactor = 50);

create table rank_deltas (
    ladder text not null,
    rating_milli integer not null,
    change smallint not null constraint rank_deltas_change check (change in (-1, 1))
)
-- Its rows live for a second: clean up often, or the dead ones slow each rank down.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0,
      autovacuum_vacuum_insert_threshold = 2000);

create index rank_deltas_by_rating on rank_deltas (ladder, rating_milli) include (change);
