-- Records that a publish is over and wrote at least one copy.
-- $1 number of the publish
-- Returns nothing.
update ripen_internal.publishes
set has_copies = true
where number = $1
