#!/bin/sh
# One nightly sync, for cron: prints nothing when it succeeds, and what went wrong when it fails. Needs no PATH.
#
# Tries again after exit code 75 (a service outage, another run), every 15 minutes for 6 hours. Ends with ripen's exit code.
# SIGTERM, SIGINT and SIGHUP are handed on to ripen, which ends within 20 s; between two tries they end the script.
#
# /etc/ripen/environment holds RIPEN_TOKEN=…, and PATH=… where ripen or node lie elsewhere; readable by this user alone
# (chmod 600). Other settings of this script can stand there too.

PATH=/usr/local/bin:/usr/bin:/bin
environment=${1:-/etc/ripen/environment}

set -a
. "$environment"
set +a
set -u

config=${RIPEN_CONFIG:-/etc/ripen/ripen.yaml}
log=${RIPEN_LOG:-/var/log/ripen/sync.log}
tries=${RIPEN_TRIES:-24}
pause=${RIPEN_PAUSE_SECONDS:-900}

said=$(mktemp) || exit 74
child=
stopped=0
# Hands a signal on; in a terminal those of the keyboard reach ripen by themselves, and a second one would end it at once.
stop() {
    stopped=$2
    if [ -z "$child" ] || { [ -t 0 ] && [ "$1" != TERM ]; }; then return; fi
    kill -"$1" "$child" 2>/dev/null || :
}
trap 'rm -f "$said"' EXIT
trap 'stop HUP 129' HUP
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM

while :; do
    # In the background: a shell acts on a signal while it waits, and not before what it runs in front has ended.
    ripen sync --config "$config" --deadline 6h --quiet >"$said" 2>&1 &
    child=$!
    if [ "$stopped" -ne 0 ]; then kill "$child" 2>/dev/null || :; fi
    code=0
    wait "$child" || code=$?
    # A signal ends the waiting, and not ripen.
    while kill -0 "$child" 2>/dev/null; do
        code=0
        wait "$child" || code=$?
    done
    # It may have ended just then; some shells tell its code once more, to others it is unknown (127).
    again=0
    wait "$child" 2>/dev/null || again=$?
    if [ "$again" -ne 127 ]; then code=$again; fi
    child=
    # The log is a convenience: that it cannot be written stops nothing.
    { cat "$said" >>"$log"; } 2>/dev/null || :
    tries=$((tries - 1))
    if [ "$code" -ne 75 ] || [ "$tries" -le 0 ] || [ "$stopped" -ne 0 ]; then break; fi
    sleep "$pause" &
    pausing=$!
    wait "$pausing" || :
    kill "$pausing" 2>/dev/null || :
    if [ "$stopped" -ne 0 ]; then
        code=$stopped
        break
    fi
done

if [ "$code" -ne 0 ]; then
    echo "ripen sync ended with exit code $code on $(uname -n):"
    cat "$said"
fi
exit "$code"
