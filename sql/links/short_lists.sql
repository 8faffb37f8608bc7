-- By how much the lists of a subject were shorter than they said when they were believed last.
-- $1 subject
-- Returns list, lacking.
select
    list,
    lacking
from ripen.short_lists
where subject = $1
