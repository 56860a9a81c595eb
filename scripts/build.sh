#!/usr/bin/env bash
# Configures a CMake preset where that is needed, and builds it, or a part of it:
#   scripts/build.sh PRESET [TARGET…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:?a preset of CMakePresets.json}"
shift
folder="build/$preset"

# Fresh clones of one machine share compiled objects: paths below the clone are hashed relative.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-true}"

# Ninja runs CMake again by itself when a CMakeLists.txt changes, but knows nothing of the presets,
# nor of a tree that was moved together with its build folder.
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
  cmake --fresh --preset "$preset"
elif [[ ! -e $folder/build.ninja || CMakePresets.json -nt $folder/build.ninja ]]; then
  cmake --preset "$preset"
fi
cmake --build "$folder" --parallel "$(nproc)" ${1:+--target "$@"}
