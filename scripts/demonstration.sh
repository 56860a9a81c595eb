#!/usr/bin/env bash
# Starts the server, on this machine's GPUs or on simulated ones, and shows what it does:
#   scripts/demonstration.sh PROGRAM
# Runs until Ctrl-C or, without a terminal, until the demonstration is over.
set -euo pipefail

carpool="${1:?the program}"
# For the printed commands: the program may not be on PATH.
typed="${carpool/#"$PWD"\//}"
folder=$(mktemp -d "${TMPDIR:-/tmp}/carpool-XXXXXX")
server=""

finish() {
  trap - EXIT INT TERM HUP
  if [[ -n $server ]] && kill -0 "$server" 2>/dev/null; then
    echo
    echo "Stopping the server."
    kill -TERM "$server"
    wait "$server" || true
  fi
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 0' INT TERM HUP

# show WORDS…: prints and runs a command.
show() {
  printf '\n$ carpool %s\n' "$*"
  "$carpool" "$@"
}

# The log of the server would come between the lines of the commands.
start_server() {
  "$carpool" serve "$@" 2>"$folder/server.log" &
  server=$!
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    "$carpool" queue --quiet >/dev/null 2>&1 && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$folder/server.log" >&2
  echo "The server does not answer." >&2
  exit 1
}

# Nine jobs, most of which can share. Only names, memory and run times (simulated) matter.
submit_queue() {
  local name memory runtime
  while read -r name memory runtime; do
    "$carpool" submit --quiet --parsable --name "$name" --workload "$name" --mem "$memory" \
      --runtime "$runtime" -- "./$name" >/dev/null
  done <<'JOBS'
resnet50 9G 300s
bert-base 14G 420s
vit-small 6G 240s
mnist 2G 90s
unet 11G 360s
gpt2-medium 31G 600s
mobilenet 4G 150s
dlrm 18G 300s
JOBS
  "$carpool" submit --quiet --parsable --name two-gpus --gpus 2 --mem 20G --runtime 240s -- ./two-gpus \
    >/dev/null
}

demonstrate() {
  submit_queue
  sleep 1
  show queue
  local waiting
  waiting=$("$carpool" queue --state queued --json | grep -m1 -o '"id": [0-9]*' | tr -dc 0-9 || true)
  if [[ -n $waiting ]]; then
    show explain "$waiting"
  fi
  sleep 4
  show queue
  "$carpool" wait --limit 15 1 2 3 4 5 6 7 8 9 || true
  show history
}

can_type=no
[[ -t 0 ]] && can_type=yes

if "$carpool" gpus --quiet --json 2>/dev/null | grep -q '"uuid"'; then
  echo "Starting the server on the GPUs of this machine."
  start_server
  where="in your runtime folder, where commands look for it"
  show queue
else
  echo "No GPU found. Starting the server on two simulated GPUs, 120 times as fast as real ones."
  export CARPOOL_SOCKET="$folder/socket"
  start_server --simulated 2xA100-40 --speed 120 --state "$folder/state"
  where="$CARPOOL_SOCKET"
  demonstrate
fi

if [[ $can_type == no ]]; then
  exit 0
fi
cat <<TEXT

The server runs until Ctrl-C. Its socket: $where
In another terminal${CARPOOL_SOCKET:+, after  export CARPOOL_SOCKET=$CARPOOL_SOCKET}:

  $typed submit --mem 8G --runtime 5m --name mine -- python train.py
  $typed queue
  $typed explain 10
  $typed history
  curl --unix-socket ${CARPOOL_SOCKET:-SOCKET} http://carpool/metrics
TEXT
wait "$server"
