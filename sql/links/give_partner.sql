-- Records which partner a sub-link was given.
-- $1 app token, $2 token, $3 partner id
-- Returns nothing.
insert into ripen.given_partners values ($1, $2, $3)
