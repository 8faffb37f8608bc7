-- When the parts of a slice were last found to be needed. Append-only: a released migration is never edited.

alter table ripen.slice_tables add column parts_needed_at timestamp;

comment on column ripen.slice_tables.parts_needed_at is 'The instant a run planned for that found the parts, or found again that a request without them was too heavy (UTC)';
