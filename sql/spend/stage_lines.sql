-- Stages judged lines into the temporary table spend_lines.
-- $1 the lines (JSON list)
insert into spend_lines
select
    l.line,
    l.cost_id,
    l.cost_type,
    l.cost_currency,
    l.cost_amount,
    l.tag,
    nullif(l.engaged_at, '') as engaged_at,
    l.content,
    l.reasons,
    l.untimely,
    l.given,
    null as state,
    null as outcome_before
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"line":"BIGINT","cost_id":"VARCHAR","cost_type":"VARCHAR","cost_currency":"VARCHAR","cost_amount":"VARCHAR","tag":"VARCHAR","engaged_at":"VARCHAR","content":"VARCHAR","reasons":["VARCHAR"],"untimely":"VARCHAR","given":"JSON"}]'
            ),
            recursive := true
        )
) as l
