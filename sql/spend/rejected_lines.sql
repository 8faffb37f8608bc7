-- The next rejected lines of spend_lines with their reasons: rejected here, or by the service in this run.
-- $1 the line to go on behind, $2 how many at most, $3 since when the service's rejections count (TIMESTAMP)
select
    l.line,
    l.given::varchar as given,
    to_json(
        case when l.state = 'rejected' then l.reasons else ['the service: ' || s.status || ' ' || s.reason] end
    )::varchar as reasons
from spend_lines as l
left join ripen.spend as s
    on s.cost_id = l.cost_id and l.state = 'due' and s.outcome = 'rejected' and s.settled_at >= $3::timestamp
where l.line > $1 and (l.state = 'rejected' or s.cost_id is not null)
order by l.line
limit $2
