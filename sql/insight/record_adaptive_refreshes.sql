-- What adaptive refreshes of a slice would have left out, and what that would have cost.
-- $1 slice, $2 the costs (JSON list)
-- Returns nothing.
insert into ripen.adaptive_refreshes by name
select
    $1 as slice,
    a.*
from (
    select
        unnest(
            from_json(
                $2::json,
                '[{"tolerance":"DOUBLE","is_configured":"BOOLEAN","ages_left_out":["INTEGER"],"fetches":"BIGINT","fetches_left_out":"BIGINT","rows":"BIGINT","rows_left_out":"BIGINT","totals":"BIGINT","totals_differed":"BIGINT","most_differed":"DOUBLE"}]'
            )
        ) as a
)
