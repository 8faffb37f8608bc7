-- The periods of the live table of each slice, from which freshness, coverage and finality are read. In a cube the ages of a
-- period are taken together; its state is that of the least settled one, and never final where a configured metric is not loaded.
-- $1 the configured slices (JSON list of {slice, fingerprint, metrics})
-- Returns one row per slice and period in order; instants as text in UTC, null if nothing more is expected. is_as_configured
-- is false if the configured slice has another meaning or one more metric: then the next sync requests the period again.
with configured as (
    select unnest(cast($1 as json)::struct(slice varchar, fingerprint varchar, metrics varchar []) [], max_depth := 2)
)

select
    p.slice,
    p.start_day,
    max(p.end_day) as end_day,
    min(p.requested_start) as requested_start,
    max(p.requested_end) as requested_end,
    strftime(max(p.fetched_at), '%Y-%m-%dT%H:%M:%S.%gZ') as fetched_at,
    sum(p.rows)::bigint as rows,
    -- The ages of a cube come in the same rows.
    max(p.rejected)::bigint as rejected,
    case
        when
            bool_and(p.state = 'final')
            and count(l.load_id) > 0
            and not list_has_all(flatten(list(distinct l.metrics)), any_value(c.metrics))
            then 'maturing'
        else arg_min(p.state, list_position(['open', 'cut', 'empty', 'maturing', 'final'], p.state))
    end as state,
    bool_or(p.verdict = 'unproven') as is_unproven,
    strftime(min(p.next_refresh_at), '%Y-%m-%dT%H:%M:%S.%gZ') as next_refresh_at,
    case
        when count(l.load_id) > 0
            then
                bool_and(p.fingerprint = c.fingerprint or starts_with(p.fingerprint, c.fingerprint || '.'))
                and list_has_all(flatten(list(distinct l.metrics)), any_value(c.metrics))
    end as is_as_configured
from ripen.periods as p
join configured as c on c.slice = p.slice
join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
left join ripen.loads as l on l.load_id = p.load_id
group by p.slice, p.start_day
order by p.slice, p.start_day
