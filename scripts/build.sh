#!/usr/bin/env bash
# Configures a CMake preset if needed and builds it, or some of its targets:
#   scripts/build.sh PRESET [TARGET…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:?a preset of CMakePresets.json}"
shift
folder="build/$preset"

# Clones on one machine share compiled objects: ccache hashes paths relative to the clone.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-true}"

# Ninja runs CMake again when a CMakeLists.txt changes, but not when the presets change or the tree
# was moved with its build folder.
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
  cmake --fresh --preset "$preset"
elif [[ ! -e $folder/build.ninja || CMakePresets.json -nt $folder/build.ninja ]]; then
  cmake --preset "$preset"
fi
cmake --build "$folder" --parallel "$(nproc)" ${1:+--target "$@"}
