-- Marks as unknown the lines that a killed run left as being sent: the holder of the warehouse knows that no run is sending.
-- Returns how many there were.
update ripen.spend
set
    outcome = 'unknown',
    reason = 'the run that was sending it ended before its outcome was recorded',
    settled_at = now() at time zone 'UTC'
where outcome = 'sending'
