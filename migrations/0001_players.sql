-- Who plays. A guest becomes a human by claiming a name: the same row, so id, games and ratings stay.

create table players (
    player_id uuid constraint players_pkey primary key,
    kind text not null constraint players_kind check (kind in ('guest', 'human', 'bot', 'cpu')),
    -- The handle as its owner wrote it: plain ASCII, so that bytes decide its order everywhere.
    username text collate "C" not null,
    -- Free text shown beside the handle; null means the handle itself.
    display_name text,
    -- Argon2id with its parameters inside; a guest and the computer have none.
    password_hash text,
    created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp())
);

-- `Ana` and `ANA` are one name.
create unique index players_username_key on players (lower(username));

-- One row a login. A session lives while it is refreshed, and is deleted when it ends.
create table sessions (
    session_id uuid constraint sessions_pkey primary key,
    player_id uuid not null constraint sessions_player references players,
    created_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
    expires_at timestamptz not null
);

create index sessions_by_player on sessions (player_id);
create index sessions_by_expiry on sessions (expires_at);

-- Refresh tokens are kept hashed, and kept after use: a used one that comes again was stolen from one
-- of two holders, and ends the whole session.
create table refresh_tokens (
    token_hash bytea constraint refresh_tokens_pkey primary key,
    session_id uuid not null constraint refresh_tokens_session references sessions on delete cascade,
    issued_at timestamptz not null default clock_timestamp(),
    used_at timestamptz
);

create index refresh_tokens_by_session on refresh_tokens (session_id);
