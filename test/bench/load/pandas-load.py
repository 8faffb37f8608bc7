"""Loads report bodies the way most scripts do: json, a DataFrame, numbers by to_numeric, SQLite. Prints its processor time in ms."""

import json
import sqlite3
import sys
import time

import pandas

database, metrics, *files = sys.argv[1:]
connection = sqlite3.connect(database)
for file in files:
    with open(file, encoding="utf-8") as body:
        frame = pandas.DataFrame(json.load(body)["rows"])
    frame["day"] = pandas.to_datetime(frame["day"])
    frame["attr_dependency"] = frame["attr_dependency"].map(json.dumps)
    for metric in metrics.split(","):
        frame[metric] = pandas.to_numeric(frame[metric])
    frame.to_sql("loaded", connection, if_exists="append", index=False)
connection.commit()
connection.close()
print(time.process_time() * 1000)
