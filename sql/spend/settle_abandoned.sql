-- Calls unknown what a killed run left behind as being sent: whoever holds the warehouse knows that nobody sends.
-- Returns how many there were.
update ripen.spend
set
    outcome = 'unknown',
    reason = 'the run that was sending it ended before its outcome was recorded',
    settled_at = now() at time zone 'UTC'
where outcome = 'sending'
