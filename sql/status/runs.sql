-- The last runs.
-- $1 how many, $2 path of the copy that this is (null: the warehouse), $3 paths of the configured copies (JSON list)
-- Returns one row per run, newest first, instants as text in UTC; a run without finished_at is running or was killed, and has the
-- status of its summary once every copy was published after it; the summary covers what it did before it published, null before
-- that; failures is a JSON list, in which resolved marks what no longer holds: an audit's once every copy was published, a copy's
-- once that copy was, or is no longer configured; slices, a JSON list, are those that it was for; audits, a JSON list, are those
-- that failed or wait for a slice.
with newest as (
    from ripen.runs
    order by run_number desc nulls last
    limit $1
),

-- The publish that made a copy is not over in it, nor does the copy know of others.
published as (
    select
        r.run_id,
        flatten(list(coalesce(p.copies, [$2::varchar]))) as copies
    from newest as r
    join ripen_internal.publishes as p on p.published_at > coalesce(r.finished_at, r.started_at)
    where
        p.copies is not null
        or ($2::varchar is not null and p.number = (select max(number) from ripen_internal.publishes))
    group by r.run_id
),

later as (
    select
        run_id,
        copies,
        list_has_all(copies, if($2::varchar is null, from_json($3::json, '["VARCHAR"]'), [$2::varchar])) as has_all
    from published
)

select
    r.run_id,
    r.command,
    strftime(r.as_of, '%Y-%m-%dT%H:%M:%S.%gZ') as as_of,
    strftime(r.started_at, '%Y-%m-%dT%H:%M:%S.%gZ') as started_at,
    strftime(r.finished_at, '%Y-%m-%dT%H:%M:%S.%gZ') as finished_at,
    if(r.finished_at is null and l.has_all, coalesce(r.summary ->> '$.status', r.status), r.status) as status,
    r.summary ->> '$.status' as refreshed,
    r.exit_code,
    case
        when r.summary is not null
            then coalesce(list_sum(cast(json_extract_string(r.summary, '$.slices[*].rows.loaded') as bigint [])), 0)::bigint
    end as rows_loaded,
    coalesce(to_json(r.summary ->> '$.slices[*].name'), '[]')::varchar as slices,
    cast(r.summary ->> '$.service.requests' as bigint) as requests,
    cast(r.summary ->> '$.service.retries' as bigint) as retries,
    to_json(
        [
            if(
                if(
                    f ->> '$.code' = 'AUDIT_HELD',
                    l.has_all,
                    list_contains(l.copies, f ->> '$.target') or not list_contains(from_json($3::json, '["VARCHAR"]'), f ->> '$.target')
                ),
                json_merge_patch(f, '{"resolved": true}'),
                f
            ) for f in coalesce(cast(r.summary -> '$.failures' as json []), [])
        ]
    )::varchar as failures,
    coalesce(r.summary -> '$.audits', '[]')::varchar as audits
from newest as r
left join later as l on l.run_id = r.run_id
order by r.run_number desc nulls last
