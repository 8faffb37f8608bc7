update "ripen rejected" as t
set "attr_dependency" = s.said::JSON
from (select unnest(from_json($1::json, '[{"text":"VARCHAR","said":"VARCHAR"}]'), recursive := true)) as s
where t."attr_dependency"::varchar = s.text
