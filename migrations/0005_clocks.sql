-- Time: who keeps it, and what it closes.

-- An instance writes its row every few seconds. If none is fresh, no instance was there to take moves, and the time
-- since the newest beat is given back to every running deadline, once.
create table instances (
    instance_id uuid constraint instances_pkey primary key,
    beat_at timestamptz not null
)
with (fillfactor = 50);

-- The computer's players are known by their ids, and so are their levels.
alter table games drop column first_cpu_level;
alter table games drop column second_cpu_level;

-- Since when a table has waited for its second seat; it closes after a day. Null where both are taken.
alter table tables add column waits_since timestamptz default date_trunc('milliseconds', clock_timestamp());
update tables set waits_since = case when following_id is null then created_at end;
create index tables_waiting on tables (waits_since) where following_id is null and closed_at is null;

-- An outage ended here: a game without a ply for a week ends a week after this. A move never changes it, and it is null but for
-- games that lived through one, so it may stand behind the log.
alter table games add column idle_from timestamptz;

-- A table's games, newest first.
drop index games_by_table;
create index games_by_table on games (table_id, game_id);

-- What was stored before anybody kept the time: no choice of a timer then went with absence.
update tables set absence_seconds = null, absence = case absence when 'wait' then 'cpu' else absence end where turn_seconds is not null;
update games set absence_seconds = null, absence = case absence when 'wait' then 'cpu' else absence end,
                 deadline_at = clock_timestamp() + make_interval(secs => turn_seconds)
where status = 'playing' and turn_seconds is not null;
update games set deadline_at = date_trunc('milliseconds', deadline_at), check_at = date_trunc('milliseconds', clock_timestamp())
where status = 'playing';
