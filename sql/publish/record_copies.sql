-- Records that a publish is over, and which copies it wrote.
-- $1 number of the publish, $2 paths of the copies (JSON list)
-- Returns nothing.
update ripen_internal.publishes
set copies = from_json($2::json, '["VARCHAR"]')
where number = $1
