#!/usr/bin/env bash
# Makes a Debian package of a built carpool:
#   scripts/package.sh BUILD DIR [VERSION]    writes DIR/carpool_VERSION_ARCHITECTURE.deb
# BUILD is a build folder (build/release). ./start --package DIR builds and calls this.
# CARPOOL_MAINTAINER names the maintainer of the package: "Name <address>".
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly maintainer="${CARPOOL_MAINTAINER:-Carpool maintainers <carpool@example.org>}"

fail() {
  echo "package: $1" >&2
  exit "${2:-1}"
}

# The time of the sources, so that the same sources give the same package.
source_time() {
  git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/VERSION"
}

install_files() {
  local build="$1" tree="$2"
  DESTDIR="$tree" cmake --install "$build" --prefix /usr --strip >/dev/null
  cp -R "$root/packaging/etc" "$tree/etc"
  # Debian has the licence once for all packages.
  rm "$tree/usr/share/doc/carpool/LICENSE"
  install -m 644 "$root/packaging/debian/copyright" "$tree/usr/share/doc/carpool/copyright"
  gzip -9n "$tree"/usr/share/man/man1/*.1
  chmod -R u=rwX,go=rX "$tree"
}

write_changelog() {
  local version="$1" tree="$2"
  {
    echo "carpool ($version) unstable; urgency=medium"
    echo
    echo "  * Built from the sources of carpool $(<"$root/VERSION")."
    echo
    echo " -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } | gzip -9n >"$tree/usr/share/doc/carpool/changelog.gz"
}

# Prints the packages that the program and its libraries need.
dependencies_of() {
  local tree="$1" scratch="$2"
  mkdir -p "$scratch/debian"
  printf 'Source: carpool\n\nPackage: carpool\nArchitecture: any\n' >"$scratch/debian/control"
  (cd "$scratch" && dpkg-shlibdeps -O -l"$tree/usr/lib/carpool" "$tree/usr/bin/carpool" \
    "$tree"/usr/lib/carpool/*.so) | sed -n 's/^shlibs:Depends=//p'
}

write_control() {
  local version="$1" tree="$2" scratch="$3" depends size name
  depends=$(dependencies_of "$tree" "$scratch")
  [[ -n $depends ]] || fail "dpkg-shlibdeps found no dependencies"
  size=$(du -k -s --apparent-size "$tree" | cut -f1)
  mkdir "$tree/DEBIAN"
  sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$(dpkg --print-architecture)|" \
    -e "s|@MAINTAINER@|$maintainer|" -e "s|@INSTALLED_SIZE@|$size|" -e "s|@DEPENDS@|$depends|" \
    "$root/packaging/debian/control.in" >"$tree/DEBIAN/control"
  for name in postinst prerm postrm; do
    install -m 755 "$root/packaging/debian/$name" "$tree/DEBIAN/$name"
  done
  (cd "$tree" && find etc -type f -printf '/%p\n' | LC_ALL=C sort >DEBIAN/conffiles)
  (cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod 644 "$tree"/DEBIAN/{control,conffiles,md5sums}
}

main() {
  (($# == 2 || $# == 3)) || fail "usage: scripts/package.sh BUILD DIR [VERSION]" 2
  local build="$1" folder="$2" version="${3:-$(<"$root/VERSION")}" tree name
  [[ -e $build/cmake_install.cmake ]] || fail "$build is not a build folder" 2
  command -v dpkg-shlibdeps >/dev/null || fail "dpkg-shlibdeps is missing: install dpkg-dev" 2
  export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(source_time)}"
  umask 022
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  tree="$scratch/tree"
  mkdir "$tree"
  install_files "$build" "$tree"
  write_changelog "$version" "$tree"
  write_control "$version" "$tree" "$scratch"
  name="carpool_${version}_$(dpkg --print-architecture).deb"
  mkdir -p "$folder"
  dpkg-deb --root-owner-group -Zxz --build "$tree" "$folder/$name" >/dev/null
  echo "Made $folder/$name: $(du -h --apparent-size "$folder/$name" | cut -f1)"
}

main "$@"
