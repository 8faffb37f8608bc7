"""The nightly sync as an Airflow DAG, for Airflow 2.4 or newer and Airflow 3.

10:30 UTC: the networks' spend of the day before is complete by 09:00 UTC.

The as-of instant is the scheduled one, so that a cleared task plans what it planned the first time. Exit code 75 (the
service was unavailable, another run holds the warehouse) and a signal are worth a retry, every 15 minutes for 6 hours;
every other failure is not. What ripen says goes to the log of the task; its environment is that of the worker.

The token comes from the Airflow Variable `ripen_token`, or from RIPEN_TOKEN in the worker's environment.
"""

import json
import logging
import os
import subprocess
import tempfile
from datetime import datetime, timedelta, timezone

from airflow.exceptions import AirflowException, AirflowFailException

try:  # Airflow 3
    from airflow.sdk import Variable, dag, task
except ImportError:  # Airflow 2
    from airflow.decorators import dag, task
    from airflow.models import Variable

# 75, and SIGHUP, SIGINT, SIGKILL (a machine short of memory) and SIGTERM: as ripen, or a shell before it, tells them, and as Python does.
WORTH_A_RETRY = (75, 129, 130, 137, 143, -1, -2, -9, -15)
CONFIG = "/etc/ripen/ripen.yaml"

log = logging.getLogger("airflow.task")


def environment():
    """What the worker has, and the token."""
    if "RIPEN_TOKEN" in os.environ:
        return dict(os.environ)
    return {**os.environ, "RIPEN_TOKEN": Variable.get("ripen_token")}


def run_ripen(arguments):
    """Runs ripen, its words line by line in the log of the task; returns its exit code and its last line of output."""
    with tempfile.TemporaryFile("w+") as results:
        process = subprocess.Popen(
            ["ripen", *arguments], env=environment(), stdout=results, stderr=subprocess.PIPE, text=True
        )
        try:
            for line in process.stderr:
                log.info(line.rstrip())
            process.wait()
        except BaseException:
            # A timeout or a kill of the task: ripen ends within 20 s of SIGTERM, and keeps what it loaded.
            process.terminate()
            process.wait(timeout=30)
            raise
        results.seek(0)
        lines = results.read().strip().splitlines()
    return process.returncode, lines[-1] if lines else "{}"


@dag(
    dag_id="ripen",
    schedule="30 10 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    # A late run loads whatever is due; running every missed night one after the other would add nothing.
    catchup=False,
    # One writer: two runs at once would wait for each other.
    max_active_runs=1,
    default_args={"retries": 24, "retry_delay": timedelta(minutes=15)},
)
def ripen():
    @task(execution_timeout=timedelta(hours=7))
    def sync(data_interval_end=None):
        arguments = ["sync", "--config", CONFIG, "--deadline", "6h", "--json"]
        # A run that was triggered by hand may have no interval: it plans for now.
        if data_interval_end is not None:
            as_of = data_interval_end.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            arguments += ["--as-of", as_of]
        code, result = run_ripen(arguments)
        summary = json.loads(result)
        if code == 0:
            return {"run_id": summary["run_id"], "slices": summary["slices"]}
        for failure in summary.get("failures", []):
            log.error("%s: %s %s", failure["code"], failure["message"], failure.get("hint") or "")
        codes = ", ".join(failure["code"] for failure in summary.get("failures", [])) or "see the log above"
        error = AirflowException if code in WORTH_A_RETRY else AirflowFailException
        raise error(f"ripen ended with {code}: {codes}")

    sync()


ripen()
