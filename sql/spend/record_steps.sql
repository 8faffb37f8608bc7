-- Records, at once, lines that are about to be sent and the outcomes of others. A line that is about to be sent keeps the former
-- outcome of its Cost ID in outcome_before, and its status and reason.
-- $1 the lines with their outcome (JSON list), $2 the file
insert into ripen.spend
select
    l.cost_id,
    l.cost_type,
    l.cost_currency,
    l.cost_amount,
    l.tag,
    nullif(l.engaged_at, '') as engaged_at,
    l.content,
    l.outcome,
    null as outcome_before,
    l.status,
    l.reason,
    $2 as file,
    l.line,
    now() at time zone 'UTC' as sent_at,
    case when l.outcome <> 'sending' then now() at time zone 'UTC' end as settled_at
from (
    select
        unnest(
            from_json(
                $1::json,
                '[{"line":"BIGINT","cost_id":"VARCHAR","cost_type":"VARCHAR","cost_currency":"VARCHAR","cost_amount":"VARCHAR","tag":"VARCHAR","engaged_at":"VARCHAR","content":"VARCHAR","outcome":"VARCHAR","status":"INTEGER","reason":"VARCHAR"}]'
            ),
            recursive := true
        )
) as l
on conflict (cost_id) do update set
    cost_type = excluded.cost_type,
    cost_currency = excluded.cost_currency,
    cost_amount = excluded.cost_amount,
    tag = excluded.tag,
    engaged_at = excluded.engaged_at,
    content = excluded.content,
    outcome = excluded.outcome,
    outcome_before = case when excluded.outcome = 'sending' then outcome else outcome_before end,
    status = case when excluded.outcome = 'sending' then status else excluded.status end,
    reason = case when excluded.outcome = 'sending' then reason else excluded.reason end,
    file = excluded.file,
    line = excluded.line,
    sent_at = case when excluded.outcome = 'sending' then excluded.sent_at else sent_at end,
    settled_at = coalesce(excluded.settled_at, settled_at)
