-- The load of an audit whose totals were those of the stored rows: it brings no rows, and counts as a fetch of its period.
-- $1 run_id, $2 slice, $3 fingerprint, $4 metrics (JSON list), $5 first day, $6 day after the last, $7 parameters (JSON),
-- $8 bytes, $9 the totals compared (JSON), $10 requested at, $11 received at, $12 the instant that counts as the fetch (UTC)
-- Returns nothing.
insert into ripen.loads by name
select
    nextval('ripen_internal.load_ids') as load_id,
    $1 as run_id,
    $2 as slice,
    $3 as fingerprint,
    from_json($4::json, '["VARCHAR"]') as metrics,
    $5::date as start_day,
    $6::date as end_day,
    ['audit'] as reasons,
    $7::json as parameters,
    1 as requests,
    $8::bigint as bytes,
    0 as rows_fetched,
    0 as rows_loaded,
    0 as rows_rejected,
    'proven' as verdict,
    $9::json as proof,
    $10::timestamp as requested_at,
    $11::timestamp as received_at,
    now() at time zone 'UTC' as loaded_at,
    $12::timestamp as known_at
