-- Rejects lines of spend_lines whose Cost ID stands on another: of equal copies the first counts; of different ones nobody
-- can say which is meant.
update spend_lines as l
set reasons = list_append(
    l.reasons,
    case
        when c.contents > 1
            then 'cost_id stood on ' || c.copies || ' lines with different content, the first being line ' || c.first_line
        else 'cost_id stood on line ' || c.first_line || ' already, with the same content'
    end
)
from (
    select cost_id, count(*) as copies, count(distinct content) as contents, min(line) as first_line
    from spend_lines
    where cost_id <> ''
    group by cost_id
    having count(*) > 1
) as c
where l.cost_id = c.cost_id and (c.contents > 1 or l.line > c.first_line)
