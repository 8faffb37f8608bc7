-- Records how many stored items a doubted list lacked.
-- $1 subject, $2 stored items that are missing, $3 as-of instant
-- Returns nothing.
insert into ripen_internal.doubted_lists
values ($1, $2, $3::timestamp)
