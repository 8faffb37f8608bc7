-- Saves that a request for more days than this was too heavy; fewer that were learned since $5 stay.
-- $1 slice, $2 fingerprint, $3 the days, $4 the instant, $5 the instant before which nothing is remembered
-- Returns nothing.
update ripen.slice_tables
set
    max_days = case when sized_at > $5::timestamp then least(coalesce(max_days, $3), $3) else $3 end,
    parts = case when sized_at > $5::timestamp then parts end,
    sized_at = case when sized_at > $5::timestamp then sized_at else $4::timestamp end
where slice = $1 and fingerprint = $2
