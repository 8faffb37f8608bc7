-- By how much lists that are shorter than they say were so when they were believed last. What is stored of no list is new, and
-- may be as short as any other one of its subject.
-- $1 subject, $2 JSON list of the lists
-- Returns list, lacking.
select
    l.list,
    coalesce(
        s.lacking,
        case
            when l.list = '' or l.list in (select parent_token from main.links where app_token = $1) then 0
            else (select max(lacking) from ripen.short_lists where subject = $1)
        end,
        0
    ) as lacking
from (select unnest(from_json($2::json, '["VARCHAR"]')) as list) as l
left join ripen.short_lists as s on s.subject = $1 and s.list = l.list
