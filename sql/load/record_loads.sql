-- The ledger rows of loads, inside the transaction that replaces their windows.
-- $1 run_id, $2 slice, $3 fingerprint, $4 metrics (JSON list), $5 the loads (JSON list)
-- Returns nothing.
insert into ripen.loads by name
select
    $1 as run_id,
    $2 as slice,
    $3 as fingerprint,
    from_json($4::json, '["VARCHAR"]') as metrics,
    now() at time zone 'UTC' as loaded_at,
    l.* replace (l.parameters::json as parameters, l.proof::json as proof)
from (
    select
        unnest(
            from_json(
                $5::json,
                '[{"load_id":"BIGINT","start_day":"DATE","end_day":"DATE","reasons":["VARCHAR"],"parameters":"VARCHAR","requests":"INTEGER","bytes":"BIGINT","rows_fetched":"BIGINT","rows_loaded":"BIGINT","rows_rejected":"BIGINT","verdict":"VARCHAR","proof":"VARCHAR","requested_at":"TIMESTAMP","received_at":"TIMESTAMP","known_at":"TIMESTAMP"}]'
            ),
            max_depth := 2
        )
) as l
