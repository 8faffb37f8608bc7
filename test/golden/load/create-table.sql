create table main."daily" (
    "day" DATE,
    "app ""quoted""" VARCHAR,
    "order" VARCHAR,
    "o'brien said ""hi""_events" BIGINT,
    "my event_revenue" DECIMAL(18,6),
    "value" DOUBLE,
    "attr_dependency" JSON,
    "_extra" JSON,
    "_load_id" BIGINT
)
