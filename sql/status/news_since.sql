-- The instant after which things are news, if none is asked for: that of the last sync at least 12 hours before the newest one, so that
-- a night that took several runs is told as one, and again after a backfill or a replay in the daytime. A killed run told nobody.
-- $1 as-of instant (UTC)
-- Returns one row: since (null if there was no such run).
select max(r.as_of) as since
from ripen.runs as r
where
    r.command = 'sync'
    and r.status <> 'running'
    and r.as_of <= (select max(as_of) from ripen.runs where command = 'sync' and as_of <= $1::timestamp) - interval 12 hour
