#!/usr/bin/env bash
# The Debian packages of packages.txt: list them, or install those that are missing.
set -euo pipefail
shopt -s inherit_errexit

list_file="$(dirname "${BASH_SOURCE[0]}")/packages.txt"

usage() {
  cat <<'TEXT'
Usage: scripts/packages.sh list SECTION...      print the packages of these sections
       scripts/packages.sh missing SECTION...   print those that are not installed
       scripts/packages.sh ensure SECTION...    install those that are not installed
Sections: build, bundle, package, test, install, bench, fuzz (see scripts/packages.txt).
As a user other than root, ensure installs nothing: it says what to ask for, and exits with 2.
TEXT
}

list_packages() {
  local section
  for section in "$@"; do
    grep -qxF "[$section]" "$list_file" || {
      echo "packages: no section '$section' in scripts/packages.txt" >&2
      return 2
    }
    awk -v want="[$section]" '
      /^\[/ { inside = ($0 == want); next }
      inside && NF && !/^#/ { print $1 }' "$list_file"
  done
}

missing_packages() {
  local wanted installed
  wanted=$(list_packages "$@")
  # dpkg-query fails if it does not know a name, but prints the others.
  # shellcheck disable=SC2016,SC2086  # a dpkg format, and a list to split
  installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null |
    awk '$1 == "ii" { print $2 }' || true)
  grep -vxF -f <(echo "$installed") <<<"$wanted" || true
}

# Other distributions name packages differently; there CMake checks the libraries.
explain_without_dpkg() {
  local tool absent=()
  for tool in cmake ninja g++ pkg-config; do
    command -v "$tool" >/dev/null || absent+=("$tool")
  done
  {
    echo "This is not a Debian system, so packages cannot be installed automatically. Required, by their"
    echo "Debian names:"
    list_packages "$@" | sed 's/^/    /'
  } >&2
  if ((${#absent[@]})); then
    echo "Not found: ${absent[*]}" >&2
    return 2
  fi
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    explain_without_dpkg "$@"
    return
  fi
  local names missing
  names=$(missing_packages "$@")
  read -r -d '' -a missing <<<"$names" || true
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    cat >&2 <<TEXT
These Debian packages are missing: ${missing[*]}
Nothing was installed. Run this, or ask an administrator to, and try again:

    sudo apt-get install --no-install-recommends ${missing[*]}

TEXT
    return 2
  fi
  echo "Installing ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
  # An unreachable third-party source must not prevent installing from Debian.
  "${apt[@]}" update </dev/null || echo "packages: the package lists may be out of date" >&2
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null
}

main() {
  local command="${1:-}"
  if [[ $command == --help ]]; then
    usage
    return
  fi
  if (($# < 2)); then
    usage >&2
    return 2
  fi
  shift
  case "$command" in
    list) list_packages "$@" ;;
    missing) missing_packages "$@" ;;
    ensure) ensure_packages "$@" ;;
    *)
      usage >&2
      return 2
      ;;
  esac
}

main "$@"
