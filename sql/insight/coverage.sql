-- Which periods control totals tell something of: the whole periods that slices have loaded, and when each was read.
-- $1 days of history
-- Returns one row per control: control, periods (JSON list of first day, end and the instant it ended), readings (JSON list of metrics
-- and when they were read over which days). Days and seconds count from 1970.
with periods as (
    select distinct
        t.control,
        p.start_day,
        p.end_day,
        p.ends_at
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.whole and t.control is not null
    qualify p.end_day > max(p.end_day) over (partition by t.control) - $1::integer
),

readings as (
    select
        control,
        metrics,
        list({
            seconds: epoch(read_at),
            start: date_diff('day', date '1970-01-01', start_day),
            "end": date_diff('day', date '1970-01-01', end_day)
        }) as readings
    from ripen.control_readings
    where metrics is not null
    group by control, metrics
)

select
    p.control,
    to_json(
        list({
            start: date_diff('day', date '1970-01-01', p.start_day),
            "end": date_diff('day', date '1970-01-01', p.end_day),
            seconds: epoch(p.ends_at)
        } order by p.start_day)
    )::varchar as periods,
    any_value(r.readings) as readings
from periods as p
join (
    select
        control,
        to_json(list({metrics: metrics, readings: readings}))::varchar as readings
    from readings
    group by control
) as r on r.control = p.control
group by p.control
