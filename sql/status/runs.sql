-- The last runs.
-- $1 how many, $2 whether this is a copy
-- Returns one row per run, newest first, instants as text in UTC; a run without finished_at is running or was killed; its
-- summary covers what it did before it published, null before that; failures is a JSON list, without those of audits that held
-- it back if something was published later; slices, a JSON list, are those that it was for; audits, a JSON list, are those that failed or wait for a slice.
select
    run_id,
    command,
    strftime(as_of, '%Y-%m-%dT%H:%M:%S.%gZ') as as_of,
    strftime(started_at, '%Y-%m-%dT%H:%M:%S.%gZ') as started_at,
    strftime(finished_at, '%Y-%m-%dT%H:%M:%S.%gZ') as finished_at,
    status,
    summary ->> '$.status' as refreshed,
    exit_code,
    case
        when summary is not null
            then coalesce(list_sum(cast(json_extract_string(summary, '$.slices[*].rows.loaded') as bigint [])), 0)::bigint
    end as rows_loaded,
    coalesce(to_json(summary ->> '$.slices[*].name'), '[]')::varchar as slices,
    cast(summary ->> '$.service.requests' as bigint) as requests,
    cast(summary ->> '$.service.retries' as bigint) as retries,
    coalesce(
        case
            when finished_at < (
                select max(published_at)
                from ripen_internal.publishes
                -- The publish that made a copy is not over in it.
                where has_copies or ($2 and number = (select max(number) from ripen_internal.publishes))
            )
                then to_json([f for f in cast(summary -> '$.failures' as json []) if f ->> '$.code' <> 'AUDIT_HELD'])
            else summary -> '$.failures'
        end,
        '[]'
    )::varchar as failures,
    coalesce(summary -> '$.audits', '[]')::varchar as audits
from ripen.runs
order by run_number desc nulls last
limit $1
