-- Adds what each night brought, from what the ledger holds already.
create view ripen_internal.moved_totals as
with since as (
    select max(as_of) - interval 31 day as since from ripen.runs
),

changes as materialized (
    select distinct
        control,
        metric,
        starts_at::date as start_day,
        seen_at
    from ripen.control_totals
    where seen_at > (select since from since)
),

-- The totals of all hours of a day of which one changed: slices that share them, and metrics that move every night, make these many.
history as materialized (
    select
        t.control,
        t.metric,
        t.starts_at,
        t.seen_at,
        t.value,
        lag(t.value) over (partition by t.control, t.metric, t.starts_at order by t.seen_at) as before
    from ripen.control_totals as t
    semi join changes as c on c.control = t.control and c.metric = t.metric and c.start_day = t.starts_at::date
),

-- The total of a day is that of its hours, but ratios of hours are no ratio of their day.
totals as materialized (
    select
        c.control,
        c.metric,
        c.start_day,
        c.seen_at,
        count(*) as hours,
        fsum(if(h.seen_at = c.seen_at, h.before, h.value)) as before,
        fsum(h.value) as after
    from (
        select
            c.control,
            c.metric,
            c.start_day,
            c.seen_at,
            s.starts_at
        from changes as c
        join (select distinct control, metric, starts_at from history) as s
            on s.control = c.control and s.metric = c.metric and s.starts_at::date = c.start_day
    ) as c
    asof join history as h
        on h.control = c.control and h.metric = c.metric and h.starts_at = c.starts_at and h.seen_at <= c.seen_at
    group by c.control, c.metric, c.start_day, c.seen_at
    having fsum(if(h.seen_at = c.seen_at, h.before, h.value)) is distinct from fsum(h.value)
),

-- Runs of different slices read different metrics.
readings as materialized (
    select
        control,
        run_id,
        read_at,
        start_day,
        end_day,
        metrics,
        dense_rank() over (order by metrics) as metrics_no
    from ripen.control_readings
),

-- When each of them was read of a day, before these nights only the last time.
looks as materialized (
    select
        d.control,
        d.start_day,
        r.metrics_no,
        max(r.read_at) as read_at
    from (select distinct control, start_day from changes) as d
    join readings as r on r.control = d.control and r.start_day <= d.start_day and r.end_day > d.start_day
    group by d.control, d.start_day, r.metrics_no, if(r.read_at > (select since from since), r.read_at, null)
),

moved as materialized (
    select
        t.control,
        t.metric,
        t.start_day,
        t.seen_at,
        t.hours,
        t.before,
        t.after,
        max(l.read_at) as before_at
    from (
        select
            t.*,
            m.metrics_no
        from totals as t
        join (select distinct control, metrics_no, unnest(metrics) as metric from readings) as m
            on m.control = t.control and m.metric = t.metric
    ) as t
    asof join looks as l
        on
            l.control = t.control
            and l.start_day = t.start_day
            and l.metrics_no = t.metrics_no
            and l.read_at < t.seen_at
    group by all
)

-- Of values that no longer grow by themselves: their time had come when they were read before.
select
    t.slice,
    m.metric,
    d.start_day as period,
    coalesce(f.found_at, d.seen_at) as found_at,
    coalesce(
        d.before_at >= p.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
        and not coalesce(list_contains(p.immature, m.metric), false),
        false
    ) as is_final,
    m.additive as is_additive,
    d.before,
    d.after
from moved as d
join ripen.slice_tables as t on t.control = d.control and t.state = 'live'
join ripen.slice_metrics as m on m.slice = t.slice and m.metric = d.metric
join ripen.periods as p
    on p.slice = t.slice and p.fingerprint = t.fingerprint and p.start_day = d.start_day and p.age = m.age
left join (
    select
        r.control,
        r.read_at,
        max(n.as_of) as found_at
    from readings as r
    join ripen.runs as n on n.run_id = r.run_id
    group by r.control, r.read_at
) as f on f.control = d.control and f.read_at = d.seen_at
where
    p.whole
    and d.before_at >= p.ends_at + to_seconds(m.comparable_seconds)
    and (m.additive or d.hours = 1)
union all by name
-- Without control totals of that night, what loads found.
select
    r.slice,
    r.metric,
    r.period,
    n.as_of as found_at,
    true as is_final,
    true as is_additive,
    r.before::double as before,
    r.after::double as after
from ripen.restatements as r
join ripen.slice_tables as t on t.slice = r.slice and t.state = 'live'
join ripen.loads as l on l.load_id = r.load_id
join ripen.runs as n on n.run_id = l.run_id
anti join readings as c
    on
        c.control = t.control
        and c.run_id = l.run_id
        and c.start_day <= r.period
        and c.end_day > r.period
        and list_contains(c.metrics, r.metric)
where r.after_final and n.as_of > (select since from since);

comment on view ripen_internal.moved_totals is 'Totals of the last 31 days that the service states differently although their time had come';
comment on column ripen_internal.moved_totals.slice is 'Name of the slice';
comment on column ripen_internal.moved_totals.metric is 'Name of the metric';
comment on column ripen_internal.moved_totals.period is 'First day of the period';
comment on column ripen_internal.moved_totals.found_at is 'As-of instant of the run that found it (UTC)';
comment on column ripen_internal.moved_totals.is_final is 'Whether the total before was final';
comment on column ripen_internal.moved_totals.is_additive is 'Whether the totals of several periods add up';
comment on column ripen_internal.moved_totals.before is 'The total that the service stated before, NULL for none';
comment on column ripen_internal.moved_totals.after is 'The total that it states since, NULL for none';

-- A name may hold a blank, but no comma.
create view ripen_internal.restless_metrics as
select distinct
    slice,
    unnest(string_split(regexp_extract(message, '^Most final totals of (.+) moved in ', 1), ', ')) as metric
from ripen.warnings
where code = 'METRIC_RESTLESS';

comment on view ripen_internal.restless_metrics is 'Metrics most of whose final totals moved night after night, as was told once';
comment on column ripen_internal.restless_metrics.slice is 'Name of the slice';
comment on column ripen_internal.restless_metrics.metric is 'Name of the metric';

create view ripen.news as
with since as (
    select max(as_of) - interval 31 day as since from ripen.runs
),

-- Metrics most of whose final totals moved in several nights. They are told only once, so that one which came to rest stays among them.
-- Final totals of periods that are too old to be read cannot move.
restless as (
    select
        w.slice,
        w.metric,
        count(*) filter (f.is_final) as finals
    from ripen_internal.restless_metrics as w
    join ripen.slice_tables as t on t.slice = w.slice and t.state = 'live'
    join (
        select
            control,
            min(start_day) as first_day
        from ripen.control_readings
        where read_at > (select since from since)
        group by control
    ) as r on r.control = t.control
    left join ripen.finality as f on f.slice = w.slice and f.metric = w.metric and f.period >= r.first_day
    group by w.slice, w.metric
),

moved as (
    select
        found_at,
        kind,
        slice,
        name,
        periods,
        first_period,
        last_period,
        if(is_summed, sum_before, null) as before,
        if(is_summed, sum_after, null) as after,
        if(is_summed, (sum_after - sum_before) / nullif(abs(sum_before), 0), largest_share) as share
    from (
        select
            t.found_at,
            case
                when not t.is_final then 'total moved'
                when 2 * count(*) > r.finals then 'restless total moved'
                else 'final total moved'
            end as kind,
            t.slice,
            t.metric as name,
            count(*) as periods,
            min(t.period) as first_period,
            max(t.period) as last_period,
            t.is_additive or count(*) = 1 as is_summed,
            -- Exact, so that every copy has the same sum in whatever order it adds.
            sum(try_cast(t.before as decimal(38, 9)))::double as sum_before,
            sum(try_cast(t.after as decimal(38, 9)))::double as sum_after,
            arg_max(
                (t.after - t.before) / abs(t.before),
                {share: abs((t.after - t.before) / t.before), period: t.period}
            ) filter (t.before <> 0 and t.after is not null) as largest_share
        from ripen_internal.moved_totals as t
        left join restless as r on r.slice = t.slice and r.metric = t.metric
        group by t.found_at, t.is_final, t.is_additive, t.slice, t.metric, r.finals
    )
),

-- Most loads bring the same metrics, and to search the list of each takes several times as long.
metric_lists as materialized (
    select
        metrics,
        row_number() over () as metrics_no
    from (select distinct metrics from ripen.loads)
),

metrics_in as materialized (
    select
        metrics_no,
        unnest(metrics) as metric
    from metric_lists
),

-- The periods loaded lately, with every load that brought them.
loaded as materialized (
    select
        p.slice,
        p.age,
        p.start_day,
        p.end_day,
        p.ends_at,
        p.fingerprint,
        p.trusted_at,
        p.immature,
        o.metrics_no as stored_no,
        l.load_id,
        i.metrics_no,
        l.known_at,
        l.verdict <> 'unproven' and l.rows_rejected = 0 as is_trusted,
        r.as_of,
        r.run_number
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    join ripen.loads as n on n.load_id = p.load_id
    join metric_lists as o on o.metrics = n.metrics
    join ripen.runs as e on e.run_id = n.run_id and e.as_of > (select since from since)
    join ripen.loads as l
        on l.slice = p.slice and l.fingerprint = p.fingerprint and l.start_day <= p.start_day and l.end_day >= p.end_day
    join metric_lists as i on i.metrics = l.metrics
    join ripen.runs as r on r.run_id = l.run_id
),

became_final as (
    select
        l.slice,
        m.metric,
        l.start_day,
        arg_min(l.as_of, l.load_id) as found_at
    from loaded as l
    join (
        select
            s.slice,
            s.age,
            s.metric,
            s.horizon_seconds,
            s.settle_seconds,
            i.metrics_no
        from ripen.slice_metrics as s
        join metrics_in as i on i.metric = s.metric
    ) as m on m.slice = l.slice and m.age = l.age and m.metrics_no = l.metrics_no
    semi join metrics_in as o on o.metrics_no = l.stored_no and o.metric = m.metric
    where
        l.is_trusted
        and l.known_at >= l.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
        and l.trusted_at >= l.ends_at + to_seconds(m.horizon_seconds + m.settle_seconds)
        and not coalesce(list_contains(l.immature, m.metric), false)
    group by l.slice, m.metric, l.start_day
),

failures as (
    select
        as_of,
        run_number,
        unnest(cast(summary -> '$.failures' as json [])) as failure
    from ripen.runs
),

-- A day that the night after its end did not load, while an earlier run had loaded older ones.
first_loads as (
    select
        slice,
        fingerprint,
        start_day,
        any_value(ends_at) as ends_at,
        arg_min(as_of, load_id) as found_at,
        arg_min(run_number, load_id) as run_number,
        arg_min(known_at, load_id) >= any_value(ends_at) + interval 1 day as is_late
    from loaded
    group by slice, fingerprint, start_day
),

-- It was missing if no run came in time, or one failed on it or loaded newer days. Else its date period comes to it late.
gaps as (
    select
        g.found_at,
        g.slice,
        g.start_day
    from first_loads as g
    join (
        select
            l.slice,
            l.fingerprint,
            l.start_day,
            r.run_number,
            r.command,
            r.as_of
        from ripen.loads as l
        join ripen.runs as r on r.run_id = l.run_id
    ) as e on e.slice = g.slice and e.fingerprint = g.fingerprint and e.run_number < g.run_number
    left join failures as f
        on
            f.failure ->> '$.slice' = g.slice
            and f.run_number < g.run_number
            and g.start_day between string_split(f.failure ->> '$.window', ':')[1]::date
            and string_split(f.failure ->> '$.window', ':')[2]::date
    where g.is_late
    group by g.found_at, g.slice, g.start_day, g.ends_at
    having
        bool_or(e.start_day < g.start_day)
        and (
            count(f.run_number) > 0
            or bool_or(e.start_day > g.start_day)
            or not bool_or(e.command = 'sync' and e.as_of >= g.ends_at)
        )
),

catalog_changes as (
    select
        r.as_of as found_at,
        c.name,
        c.before,
        c.change
    from ripen.schema_changes as c
    join ripen.runs as r on r.run_id = c.run_id
    where c.object = 'catalog' and c.change in ('item appeared', 'item vanished')
),

-- A metric may move from one list to another.
metrics as (
    select
        found_at,
        regexp_extract(name, '^[a-z]+_metrics (.+)$', 1) as metric,
        any_value(change) as change
    from catalog_changes
    where regexp_matches(name, '^[a-z]+_metrics ')
    group by found_at, metric
    having count(distinct change) = 1
),

-- Configured metrics stay, and are warned of every night.
kept_metrics as (
    select
        r.as_of as found_at,
        unnest(string_split(regexp_extract(w.message, 'in full: ([^;]+);', 1), ', ')) as metric
    from ripen.warnings as w
    join ripen.runs as r on r.run_id = w.run_id
    where w.code = 'CATALOG_METRIC_GONE'
),

partners as (
    select
        partner_id,
        display_name,
        valid_from,
        is_listed,
        coalesce(lag(is_listed) over (partition by partner_id order by valid_from), false) as was_listed,
        min(valid_from) filter (is_listed) over () as first_list_at
    from main.partners_history
),

audits as (
    select
        r.as_of as found_at,
        'audit warned' as kind,
        w.message
    from ripen.warnings as w
    join ripen.runs as r on r.run_id = w.run_id
    where w.code = 'AUDIT_FAILED'
    union all
    select
        as_of as found_at,
        'audit held' as kind,
        failure ->> '$.message' as message
    from failures
    where failure ->> '$.code' = 'AUDIT_HELD'
),

-- Their day is that of a reading in the offset of the slice.
horizons as (
    select
        t.control,
        e.slice,
        e.metric,
        e.final_moved,
        e.last_moved_day,
        m.horizon_seconds / 86400.0 as horizon_days,
        e.supported_days,
        (
            select any_value(p.end_day::timestamp - p.ends_at)
            from ripen.periods as p
            where p.slice = e.slice and p.fingerprint = t.fingerprint
        ) as offset_east
    from ripen_internal.horizon_evidence as e
    join ripen.slice_tables as t on t.slice = e.slice and t.state = 'live'
    join ripen.slice_metrics as m on m.slice = e.slice and m.metric = e.metric
    where e.final_moved > 0 and e.supported_days > m.horizon_seconds / 86400.0
),

items as (
    select
        found_at,
        kind,
        slice,
        name,
        null as label,
        periods,
        first_period,
        last_period,
        before,
        after,
        share
    from moved
    union all by name
    select
        found_at,
        'became final' as kind,
        slice,
        metric as name,
        count(*) as periods,
        min(start_day) as first_period,
        max(start_day) as last_period
    from became_final
    group by found_at, slice, metric
    union all by name
    select
        found_at,
        'gap filled' as kind,
        slice,
        count(*) as periods,
        min(start_day) as first_period,
        max(start_day) as last_period
    from gaps
    group by found_at, slice
    union all by name
    select
        c.found_at,
        case c.change when 'item appeared' then 'app new' else 'app gone' end as kind,
        c.name[6:] as name,
        coalesce(c.before, a.name) as label
    from catalog_changes as c
    left join ripen.catalog as a on a.filter = 'apps' and a.id = c.name[6:]
    where c.name like 'apps %'
    union all by name
    select
        c.found_at,
        case c.change when 'item appeared' then 'metric new' else 'metric gone' end as kind,
        c.metric as name,
        m.name as label
    from metrics as c
    left join main.metrics as m on m.id = c.metric
    union all by name
    select
        k.found_at,
        'metric kept' as kind,
        k.metric as name,
        m.name as label
    from (
        from kept_metrics
        qualify
            found_at > coalesce(lag(found_at) over (partition by metric order by found_at), timestamp '1970-01-01')
            + interval 7 day
    ) as k
    left join main.metrics as m on m.id = k.metric
    union all by name
    select
        valid_from as found_at,
        case when is_listed then 'partner new' else 'partner gone' end as kind,
        partner_id as name,
        display_name as label
    from partners
    where is_listed <> was_listed and valid_from > first_list_at
    union all by name
    select
        (
            select max(n.as_of)
            from ripen.control_readings as r
            join ripen.runs as n on n.run_id = r.run_id
            where r.control = h.control and (r.read_at + h.offset_east)::date = h.last_moved_day
        ) as found_at,
        'horizon contradicted' as kind,
        h.slice,
        h.metric as name,
        h.final_moved as periods,
        h.horizon_days as before,
        h.supported_days as after
    from horizons as h
    union all by name
    select
        found_at,
        kind,
        regexp_extract(message, '^The audit (.+?) (?:returned|could)', 1) as name,
        message as label
    from audits
)

select
    found_at,
    kind,
    slice,
    name,
    label,
    periods::bigint as periods,
    first_period::date as first_period,
    last_period::date as last_period,
    before::double as before,
    after::double as after,
    share::double as share
from items
where found_at > (select since from since);

comment on view ripen.news is 'What the nights of the last 31 days brought: totals of the service that moved, values that became final, and what came, went or failed an audit';
comment on column ripen.news.found_at is 'As-of instant of the run that found it (UTC)';
comment on column ripen.news.kind is 'final total moved, total moved (it may still change), restless total moved (of a metric that moves every night), became final, horizon contradicted, gap filled, app new, app gone, metric new, metric gone, metric kept (configured, and no longer listed in full), partner new, partner gone, audit warned or audit held';
comment on column ripen.news.slice is 'Name of the slice, NULL if it concerns none';
comment on column ripen.news.name is 'Name of the metric or audit, token of the app, id of the partner; NULL for a gap';
comment on column ripen.news.label is 'Readable name of the app, metric or partner; what the audit returned';
comment on column ripen.news.periods is 'How many periods; NULL if it concerns none';
comment on column ripen.news.first_period is 'First day of the earliest of these periods';
comment on column ripen.news.last_period is 'First day of the latest of these periods';
comment on column ripen.news.before is 'What the service stated before for these periods together, NULL if that does not add up; the horizon in days';
comment on column ripen.news.after is 'What it states since; the horizon in days that the history supports';
comment on column ripen.news.share is 'The change as a share of the total before, the largest one if totals do not add up; NULL without one';
