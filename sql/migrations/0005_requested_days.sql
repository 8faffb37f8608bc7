-- Names three columns of ripen.periods by what they hold: the days that were requested, and the instant that finality trusts.
drop view ripen.finality;

alter table ripen.periods rename column asked_start to requested_start;
alter table ripen.periods rename column asked_end to requested_end;
alter table ripen.periods rename column sound_at to trusted_at;

create view ripen.finality as
select
    p.slice,
    p.start_day as period,
    m.metric,
    p.fetched_at,
    p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds) as final_at,
    coalesce(
        list_contains(l.metrics, m.metric)
        and p.trusted_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
        and not coalesce(list_contains(p.immature, m.metric), false),
        false
    ) as is_final
from ripen.periods as p
join ripen.loads as l on l.load_id = p.load_id
join ripen.slice_tables as t
    on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
join ripen.slice_metrics as m on m.slice = p.slice and m.age = p.age;

comment on view ripen.finality is 'Per slice, period and metric: whether the stored value is final';
comment on column ripen.finality.slice is 'Name of the slice';
comment on column ripen.finality.period is 'First day of the period';
comment on column ripen.finality.metric is 'Name of the metric';
comment on column ripen.finality.fetched_at is 'When the stored value was requested (UTC)';
comment on column ripen.finality.final_at is 'The instant from which a fetched value is final (UTC); null means never';
comment on column ripen.finality.is_final is 'Whether the stored value was computed at or after that instant, and its answer did not call it immature';
