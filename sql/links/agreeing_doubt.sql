-- The doubt about a list that lacked as many stored items, or fewer. A run that is repeated in the same night is no second night.
-- $1 subject, $2 stored items that are missing now, $3 as-of instant
-- Returns at most one row: is_earlier_night.
select seen_at <= $3::timestamp - interval 6 hour as is_earlier_night
from ripen_internal.doubted_lists
where subject = $1 and missing <= $2 and seen_at <= $3::timestamp
