-- Holds spend_lines against the ledger: what was once accepted, or may have been, must not be sent with another content;
-- what was accepted as it stands needs no more be timely.
update spend_lines as l
set
    outcome_before = case s.outcome when 'sending' then 'unknown' else s.outcome end,
    untimely = case when s.outcome = 'accepted' then null else l.untimely end,
    reasons = case
        when s.outcome = 'rejected' or s.content = l.content then l.reasons
        else list_append(l.reasons, 'cost_id was sent before with other content: cost_type ' || s.cost_type
            || ', cost_amount ' || s.cost_amount || ' ' || s.cost_currency || ', tag ' || s.tag || ', and '
            || case s.outcome when 'accepted' then 'accepted' else 'may have been accepted' end)
    end
from ripen.spend as s
where s.cost_id = l.cost_id
