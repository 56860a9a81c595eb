#!/usr/bin/env bash
# Every shell script parses, passes shellcheck, and may be run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mapfile -t scripts < <(
  echo start
  echo test
  echo .ci/run
  printf "%s\n" packaging/debian/{postinst,prerm,postrm}
  find scripts tests bench workloads -name '*.sh' | sort
)
status=0
for script in "${scripts[@]}"; do
  bash -n "$script" || status=1
  [[ -x $script ]] || {
    echo "$script: not executable"
    status=1
  }
done
shellcheck "${scripts[@]}" || status=1
exit "$status"
