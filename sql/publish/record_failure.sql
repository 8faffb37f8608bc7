-- Records that a publish could write no copy.
-- $1 number of the publish
-- Returns nothing.
update ripen_internal.publishes
set has_failed = true
where number = $1
