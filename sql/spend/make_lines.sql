-- Makes the table a file's lines are staged in; it lives no longer than the connection.
create or replace temp table spend_lines (
    line bigint,
    cost_id varchar,
    cost_type varchar,
    cost_currency varchar,
    cost_amount varchar,
    tag varchar,
    engaged_at varchar,
    content varchar,
    reasons varchar[],
    untimely varchar,
    given json,
    state varchar,
    outcome_before varchar
)
