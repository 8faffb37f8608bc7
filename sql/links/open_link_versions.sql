-- Opens a version for every link of an app that is new or changed.
-- $1 app token, $2 the instant
-- Returns nothing.
insert into main.links_history
select
    come.*,
    $2::timestamp as valid_from,
    null as valid_to
from (
    from ripen_internal.staged_links
    except
    from main.links where app_token = $1
) as come
