-- Records of the loads of a run that their periods may lose rows when the table replaces the live one.
-- $1 slice, $2 fingerprint, $3 run id
-- Returns nothing.
update ripen.loads
set reasons = list_append(reasons, 'loss accepted')
where slice = $1 and fingerprint = $2 and run_id = $3
