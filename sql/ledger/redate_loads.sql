-- Loads that a clock which was ahead dated later than now: nobody knows when they were asked for, whatever that clock said.
-- $1 now
-- Returns nothing.
update ripen.loads
set known_at = null
where known_at > $1::timestamp and start_day <= $1::date
