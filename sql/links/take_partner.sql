-- Forgets which partner a sub-link was given.
-- $1 app token, $2 token
-- Returns nothing.
delete from ripen.given_partners
where app_token = $1 and token = $2
