-- Counts spend_lines by what becomes of them.
select
    count(*) as lines,
    count(*) filter (where state = 'rejected') as rejected,
    count(*) filter (where state = 'accepted') as accepted,
    count(*) filter (where state = 'unknown') as unknown,
    count(*) filter (where state = 'due') as due
from spend_lines
