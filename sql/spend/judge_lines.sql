-- Decides what becomes of each line of spend_lines.
-- $1 whether unknown outcomes are to be sent again
update spend_lines
set
    reasons = case when untimely is null then reasons else list_append(reasons, untimely) end,
    state = case
        when len(reasons) > 0 or untimely is not null then 'rejected'
        when outcome_before = 'accepted' then 'accepted'
        when outcome_before = 'unknown' and not $1 then 'unknown'
        else 'due'
    end
