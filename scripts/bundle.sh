#!/usr/bin/env bash
# Makes a relocatable folder of a built carpool: what `cmake --install` installs, all shared
# libraries except glibc, and their licences.
#   scripts/bundle.sh BINARY DIR     create or replace DIR
#   scripts/bundle.sh --check DIR    fail if DIR exists and is not a bundle
set -euo pipefail
shopt -s inherit_errexit

readonly max_bytes=40000000
readonly marker=share/carpool/bundle.txt # marks a folder as a bundle
readonly usual_place=/opt/carpool # which the units of a bundle name
# The loader and the libraries of glibc must be those of the machine that runs the bundle.
readonly glibc='^(linux-vdso|ld-linux.*|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl|nsl|BrokenLocale|thread_db|nss_.*))\.so'

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
  echo "bundle: $1" >&2
  exit "${2:-1}"
}

check_target() {
  local target="$1"
  if [[ -e $target && ! -d $target ]]; then
    fail "$target is not a folder" 2
  fi
  if [[ -d $target && ! -e $target/$marker && -n $(ls -A "$target") ]]; then
    fail "$target is not empty and was not made by --bundle; name another folder" 2
  fi
}

# Prints "name path" for each library to ship.
libraries_of() {
  local name path
  ldd "$1" | while read -r name _ path _; do
    if [[ $name =~ $glibc || $name == /* ]]; then
      continue
    fi
    [[ $path == /* ]] || fail "$name, which $1 needs, is not installed"
    echo "$name $path"
  done
}

# Debian's copyright file of the package that a library comes from.
copy_licence() {
  local library="$1" folder="$2" package
  # Debian records paths below /usr; the loader reports /lib, which is a link to /usr/lib.
  package=$(dpkg-query -S "$(realpath "$library")" "$library" 2>/dev/null |
    sed -n '1s/[:,].*//p' || true)
  if [[ -n $package && -e /usr/share/doc/$package/copyright ]]; then
    cp -L "/usr/share/doc/$package/copyright" "$folder/$package.txt"
  fi
}

fill() {
  local binary="$1" stage="$2" libraries name path build
  build=$(dirname "$(dirname "$binary")")
  cmake --install "$build" --prefix "$stage" --strip >/dev/null ||
    fail "cannot install from $build; build everything first"
  sed -i "s|$stage/|$usual_place/|" "$stage"/lib/systemd/*/carpool.service
  mkdir -p "$stage/share/doc/carpool/libraries"
  libraries=$(libraries_of "$binary")
  while read -r name path; do
    cp -L "$path" "$stage/lib/$name"
    copy_licence "$path" "$stage/share/doc/carpool/libraries"
  done <<<"$libraries"
  chmod u+w "$stage"/lib/*.so*
  # Strip first: strip can damage a file that patchelf has changed.
  strip --strip-unneeded "$stage"/lib/*.so*
  # shellcheck disable=SC2016  # $ORIGIN is for the loader
  patchelf --set-rpath '$ORIGIN/../lib' "$stage/bin/carpool"
  for path in "$stage"/lib/*.so*; do
    # shellcheck disable=SC2016
    patchelf --set-rpath '$ORIGIN' "$path"
  done
  echo "carpool $(<"$root/VERSION")" >"$stage/$marker"
}

verify() {
  local stage="$1" size outside
  outside=$(libraries_of "$stage/bin/carpool" | awk -v own="$stage/" 'index($2, own) != 1')
  [[ -z $outside ]] || fail "the bundle still looks outside itself for: $outside"
  size=$(du -sb "$stage" | cut -f1)
  ((size <= max_bytes)) || fail "the bundle has $size bytes; at most $max_bytes are allowed"
  (cd / && env -i "$stage/bin/carpool" --version >/dev/null) ||
    fail "the bundled carpool does not start"
}

main() {
  (($# == 2)) || fail "usage: scripts/bundle.sh BINARY DIR | --check DIR" 2
  local target
  # The target and its parent folders need not exist.
  target=$(realpath -m "$2")
  check_target "$target"
  [[ $1 != --check ]] || return 0
  [[ -x $1 ]] || fail "there is no program $1"
  mkdir -p "$(dirname "$target")"
  # Created beside the target and moved there when complete.
  stage=$(mktemp -d "$(dirname "$target")/.carpool-bundle.XXXXXX")
  trap 'rm -rf "$stage"' EXIT
  chmod 755 "$stage"
  fill "$(realpath "$1")" "$stage"
  verify "$stage"
  rm -rf "$target"
  mv "$stage" "$target"
  echo "Made $target: $(du -sh --apparent-size "$target" | cut -f1)"
}

main "$@"
