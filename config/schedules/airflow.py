"""The nightly sync as an Airflow DAG.

The as-of instant is the end of the data interval, so that a cleared task plans exactly what it planned the first time.
Exit code 75 (the service was unavailable, another run holds the warehouse) is worth a retry; every other failure is
not, and fails the task at once.
"""

import json
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.models import Variable

TRY_AGAIN_LATER = 75
INTERRUPTED = (130, 143)
CONFIG = "/etc/ripen/ripen.yaml"


@dag(
    dag_id="ripen",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    # A late run loads whatever is due; running every missed night one after the other would add nothing.
    catchup=False,
    # One writer: two runs at once would wait for each other.
    max_active_runs=1,
    default_args={"retries": 4, "retry_delay": timedelta(minutes=15), "retry_exponential_backoff": True},
)
def ripen():
    @task(execution_timeout=timedelta(hours=7))
    def sync(data_interval_end=None):
        as_of = data_interval_end.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        run = subprocess.run(
            ["ripen", "sync", "--config", CONFIG, "--as-of", as_of, "--deadline", "6h", "--json"],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "RIPEN_TOKEN": Variable.get("ripen_token")},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        lines = run.stdout.strip().splitlines()
        summary = json.loads(lines[-1]) if lines else {}
        if run.returncode == TRY_AGAIN_LATER or run.returncode in INTERRUPTED:
            raise AirflowException(f"ripen ended with {run.returncode}: {summary.get('failures')}")
        if run.returncode != 0:
            raise AirflowFailException(f"ripen ended with {run.returncode}: {summary.get('failures')}")
        return {"run_id": summary["run_id"], "slices": summary["slices"]}

    sync()


ripen()
