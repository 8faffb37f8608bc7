-- The next lines of spend_lines to send, in order.
-- $1 the line to go on behind, $2 how many at most
select line, cost_id, cost_type, cost_currency, cost_amount, tag, engaged_at, content, outcome_before
from spend_lines
where state = 'due' and line > $1
order by line
limit $2
