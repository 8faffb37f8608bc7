-- Records when a catalog that changed in nothing was seen again.
-- $1 the instant
-- Returns nothing.
update ripen.catalog
set seen_at = $1::timestamp
