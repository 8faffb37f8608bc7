select distinct "attr_dependency"::varchar as text
from "ripen typed"
where not regexp_full_match("attr_dependency"::varchar, '\{("[^"\\]*":"[^"\\]*")?\}')
