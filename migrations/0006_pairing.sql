-- How opponents find each other: the queue, and challenges. Neither lasts like games do: what is over is deleted after
-- a while, and exports leave both out.

-- One ticket a player, the last one: waiting, or what became of it, so that whoever lost an answer still finds the game.
create table tickets (
    player_id uuid constraint tickets_pkey primary key constraint tickets_player references players,
    -- Tells a ticket from the one that took its place.
    ticket_id uuid not null,

    -- The options of the game to come, whose table is public. Checked like those of tables: one that no table takes
    -- would stand in the way of everybody in its ladder.
    win_rule text not null constraint tickets_win_rule check (win_rule in ('capture5', 'lead3', 'captureall')),
    turn_seconds smallint constraint tickets_turn_seconds check (turn_seconds in (30, 60)),
    move_limit smallint constraint tickets_move_limit check (move_limit between 2 and 2000),
    show_destinations boolean not null,
    alternate_first boolean not null,
    rated boolean not null,
    absence text not null constraint tickets_absence check (absence in ('cpu', 'forfeit', 'wait')),
    absence_seconds integer constraint tickets_absence_seconds check (absence_seconds between 10 and 86400),

    -- The rating when the ticket was taken, and how far away an opponent's may be, in points: at first, and at most.
    rating_milli integer not null,
    start_window integer not null constraint tickets_start_window check (start_window between 1 and 10000),
    max_window integer constraint tickets_max_window check (max_window between start_window and 10000),

    -- A waiting ticket whose time is over is `expired` to every reader, without being touched.
    status text not null default 'waiting' constraint tickets_status check (status in ('waiting', 'paired', 'cancelled')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    table_id uuid,
    game_id uuid,

    constraint tickets_ended check ((status = 'waiting') = (ended_at is null)),
    constraint tickets_game check ((status = 'paired') = (game_id is not null) and (game_id is null) = (table_id is null))
);

-- Who waits in a ladder, longest first.
create index tickets_waiting on tickets (win_rule, created_at) where status = 'waiting';
-- How long those waited who were paired lately.
create index tickets_paired on tickets (win_rule, ended_at) where status = 'paired';
create index tickets_by_expiry on tickets (expires_at);

create table challenges (
    challenge_id uuid constraint challenges_pkey primary key,
    challenger_id uuid not null constraint challenges_challenger references players,
    challenged_id uuid not null constraint challenges_challenged references players,

    win_rule text not null constraint challenges_win_rule check (win_rule in ('capture5', 'lead3', 'captureall')),
    turn_seconds smallint constraint challenges_turn_seconds check (turn_seconds in (30, 60)),
    move_limit smallint constraint challenges_move_limit check (move_limit between 2 and 2000),
    show_destinations boolean not null,
    alternate_first boolean not null,
    rated boolean not null,
    visibility text not null constraint challenges_visibility check (visibility in ('public', 'unlisted')),
    absence text not null constraint challenges_absence check (absence in ('cpu', 'forfeit', 'wait')),
    absence_seconds integer constraint challenges_absence_seconds check (absence_seconds between 10 and 86400),

    -- A pending one whose time is over is `expired` to every reader, without being touched.
    status text not null default 'pending'
        constraint challenges_status check (status in ('pending', 'accepted', 'declined', 'cancelled')),
    -- Why it was declined.
    reason text constraint challenges_reason check (reason in
        ('generic', 'later', 'too_fast', 'too_slow', 'rated', 'casual', 'win_rule', 'options', 'no_bots', 'only_bots')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    table_id uuid,
    game_id uuid,

    constraint challenges_two_players check (challenger_id <> challenged_id),
    constraint challenges_ended check ((status = 'pending') = (ended_at is null)),
    constraint challenges_declined check ((status = 'declined') = (reason is not null)),
    constraint challenges_game check ((status = 'accepted') = (game_id is not null) and (game_id is null) = (table_id is null))
);

create index challenges_by_challenger on challenges (challenger_id, challenge_id);
create index challenges_by_challenged on challenges (challenged_id, challenge_id);
-- A player's pending ones: one for each opponent, and not too many. A unique index could not hold that: challenges may
-- be spread over machines by their own id. A lock of the challenger's holds it.
create index challenges_pending on challenges (challenger_id, challenged_id) where status = 'pending';
create index challenges_by_expiry on challenges (expires_at);
