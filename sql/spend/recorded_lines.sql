-- What was already sent of these Cost IDs; a line that is being sent counts as unknown.
-- $1 the Cost IDs (JSON list)
-- Returns cost_id, content, words (the content, for people), outcome.
select
    cost_id,
    content,
    'cost_type ' || cost_type || ', cost_amount ' || cost_amount || ' ' || cost_currency || ', tag ' || tag as words,
    case outcome when 'sending' then 'unknown' else outcome end as outcome
from ripen.spend
where cost_id in (select unnest(from_json($1::json, '["VARCHAR"]')))
