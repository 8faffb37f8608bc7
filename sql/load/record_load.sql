-- The ledger row of one load, inside the transaction that replaces its window.
-- $1 load_id, $2 run_id, $3 slice, $4 fingerprint, $5 start_day, $6 end_day, $7 reasons (JSON list), $8 parameters (JSON),
-- $9 metrics (JSON list), $10 requests, $11 bytes, $12 rows_fetched, $13 rows_loaded, $14 rows_rejected, $15 verdict,
-- $16 proof (JSON), $17 requested_at, $18 received_at, $19 known_at
insert into ripen.loads
select
    $1::bigint,
    $2,
    $3,
    $4,
    $5::date,
    $6::date,
    from_json($7::json, '["VARCHAR"]'),
    $8::json,
    from_json($9::json, '["VARCHAR"]'),
    $10::integer,
    $11::bigint,
    $12::bigint,
    $13::bigint,
    $14::bigint,
    $15,
    $16::json,
    $17::timestamp,
    $18::timestamp,
    now() at time zone 'UTC',
    $19::timestamp
