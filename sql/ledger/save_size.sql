-- Saves how much one request may cover: what was learned since $6 besides stays, the fewer days of two.
-- $1 slice, $2 fingerprint, $3 days, more than which were too heavy, $4 the parts in which a single period was light enough (JSON
-- list), either null, $5 the instant, $6 the instant before which nothing is remembered
-- Returns nothing.
update ripen.slice_tables
set
    max_days = least(case when sized_at > $6::timestamp then max_days end, $3::integer),
    parts = coalesce($4::json, case when sized_at > $6::timestamp then parts end),
    sized_at = case when sized_at > $6::timestamp then sized_at else $5::timestamp end
where slice = $1 and fingerprint = $2
