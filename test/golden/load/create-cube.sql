create table main."daily" (
    "day" DATE,
    "app ""quoted""" VARCHAR,
    "order" VARCHAR,
    "cohort" VARCHAR,
    "metric" VARCHAR,
    "age" VARCHAR,
    "age_days" INTEGER,
    "value" DECIMAL(18,6),
    "attr_dependency" JSON,
    "_load_id" BIGINT
)
