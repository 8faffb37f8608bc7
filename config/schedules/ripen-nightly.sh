#!/bin/sh
# One nightly sync, for cron: prints nothing when it succeeds, and what went wrong when it fails. Needs no PATH.
#
# Tries again after exit code 75 (a service outage, another run), every 15 minutes for 6 hours. Ends with ripen's exit code.
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
trap 'rm -f "$said"' EXIT

while :; do
    code=0
    ripen sync --config "$config" --deadline 6h --quiet >"$said" 2>&1 || code=$?
    # The log is a convenience: that it cannot be written stops nothing.
    { cat "$said" >>"$log"; } 2>/dev/null || :
    tries=$((tries - 1))
    if [ "$code" -ne 75 ] || [ "$tries" -le 0 ]; then break; fi
    sleep "$pause"
done

if [ "$code" -ne 0 ]; then
    echo "ripen sync ended with exit code $code on $(uname -n):"
    cat "$said"
fi
exit "$code"
