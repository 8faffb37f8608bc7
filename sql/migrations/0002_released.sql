-- Drops the periods that only Delta tables still had: every copy now holds what the warehouse holds.
drop table ripen.released;
