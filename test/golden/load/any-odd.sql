select count(*) as rows from "ripen typed" where "odd,"
