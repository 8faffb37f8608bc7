-- The loaded periods whose final totals may be projected.
-- Returns one row per slice and metric: slice, metric, periods (JSON list of its first day, as a date and in days since 1970, the
-- newest load and the seconds from its end to what it loaded).
select
    slice,
    metric,
    to_json(
        list({
            period: period::varchar,
            start: date_diff('day', date '1970-01-01', period),
            load_id: load_id::varchar,
            loaded_after: loaded_after
        })
    )::varchar as periods
from ripen_internal.maturing
where basis is null
group by slice, metric
