-- What finality and completeness need to know of a period and a metric, besides when it was fetched. Instants are TIMESTAMP
-- in UTC. Append-only: a released migration is never edited.

alter table ripen.periods add column empty_runs integer default 0;

alter table ripen.periods add column verdict varchar default 'proven';

alter table ripen.periods add column sound_at timestamp;

-- An answer without rows was believed at once; now it is asked for once more.
update ripen.periods
set
    empty_runs = case when rows = 0 then 1 else 0 end,
    verdict = coalesce(
        (select l.verdict from ripen.loads as l where l.load_id = ripen.periods.load_id),
        'unverifiable'
    ),
    sound_at = case when whole and rejected = 0 and rows > 0 then fetched_at end;

comment on column ripen.periods.empty_runs is 'Runs in a row whose answer had no rows for the period, 0 while it has some';
comment on column ripen.periods.verdict is 'Completeness of its newest load: proven, unverifiable or unproven';
comment on column ripen.periods.sound_at is 'The fetch that counts for finality (UTC), null where nothing of the period can be final: cut, rows rejected, unproven, or empty by one answer alone';
comment on column ripen.periods.state is 'open: not over, maturing: some metric may still change, final: none can, cut: only some of its days were asked for, empty: without rows, not confirmed by a later run yet';

alter table ripen.slice_metrics add column additivity varchar default 'assumed';

comment on column ripen.slice_metrics.additivity is 'How that is known: stated in the configuration, documented for the metric, assumed from its name, or seen in the answers';

create table ripen.additivity (
    slice varchar not null,
    metric varchar not null,
    adds_up boolean not null,
    seen_at timestamp not null
);

comment on table ripen.additivity is 'Metrics whose additivity is not documented, and what the totals of answers have shown of it';
comment on column ripen.additivity.slice is 'Name of the slice';
comment on column ripen.additivity.metric is 'Name of the metric';
comment on column ripen.additivity.adds_up is 'Whether the rows add up to the total, false: the metric is not additive here and is no longer summed';
comment on column ripen.additivity.seen_at is 'When an answer first showed it (UTC)';

create table ripen.metric_horizons (
    metric varchar not null,
    horizon_seconds bigint,
    seen_at timestamp not null
);

comment on table ripen.metric_horizons is 'The longest horizon the catalog ever gave each configured metric: a list that changes overnight makes nothing final';
comment on column ripen.metric_horizons.metric is 'Name of the metric';
comment on column ripen.metric_horizons.horizon_seconds is 'How long after a period ends the value may still change, null means for ever';
comment on column ripen.metric_horizons.seen_at is 'When the catalog first gave it (UTC)';

create or replace view ripen.finality as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.fetched_at,
    p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds) as final_at,
    coalesce(
        list_contains(l.metrics, m.metric)
        and p.sound_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds),
        false
    ) as is_final
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
join ripen.slice_tables as t
    on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice;

comment on view ripen.finality is 'Per slice, period and metric: whether the stored value is final';
comment on column ripen.finality.slice is 'Name of the slice';
comment on column ripen.finality.period is 'First day of the period';
comment on column ripen.finality.metric is 'Name of the metric';
comment on column ripen.finality.fetched_at is 'When the stored value was asked for (UTC)';
comment on column ripen.finality.final_at is 'The instant from which a fetched value is final (UTC), null means never';
comment on column ripen.finality.is_final is 'Whether the stored value was fetched at or after that instant';
