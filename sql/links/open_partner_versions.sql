-- Opens a version for every partner that is new or changed.
-- $1 the instant
-- Returns nothing.
insert into main.partners_history
select
    come.*,
    $1::timestamp as valid_from,
    null as valid_to
from (
    from ripen_internal.staged_partners
    except
    from main.partners
) as come
