-- Records the lists of a subject that are believed although they are shorter than they say.
-- $1 subject, $2 JSON list of {list, lacking}
-- Returns nothing.
insert into ripen.short_lists
select
    $1 as subject,
    *
from (select unnest(from_json($2::json, '[{"list":"VARCHAR","lacking":"BIGINT"}]'), recursive := true))
