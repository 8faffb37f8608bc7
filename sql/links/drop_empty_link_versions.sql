-- Drops versions of an app's links that were replaced at the very instant they began, as no instant lies inside them.
-- $1 app token
-- Returns nothing.
delete from main.links_history
where app_token = $1 and valid_to <= valid_from
