#!/usr/bin/env bash
# Builds libcarpool_cuda.so for AArch64 and runs its tests over the fake driver under qemu.
#   scripts/shim-aarch64.sh [BUILD]    BUILD: folder of a build of this machine (default: build/ci) with carpool_shim_test
# Needs the Debian packages g++-aarch64-linux-gnu, libc6-arm64-cross and qemu-user.
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
native=$(cd "${1:-$root/build/ci}" && pwd)
build=$root/build/aarch64

for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$program" >/dev/null; then
    echo "shim-aarch64: $program is missing; install g++-aarch64-linux-gnu, libc6-arm64-cross and qemu-user" >&2
    exit 2
  fi
done
if [[ ! -x $native/bin/carpool_shim_test ]]; then
  echo "shim-aarch64: $native/bin/carpool_shim_test is missing; build it first" >&2
  exit 2
fi

cmake -S "$root" -B "$build" -G Ninja -DCARPOOL_SHIM_ONLY=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g1' \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ >/dev/null
cmake --build "$build" --target carpool_cuda carpool_interpose_gate fake_cuda fake_cuda_before_12 shim_program |
  tail -n 1

g++ -std=c++20 -O1 -static -DTESTED_PROGRAM="\"$build/tests/shim/shim_program\"" \
  "$root/tests/shim/under_qemu.cpp" -o "$build/under_qemu"

# One is that of the compiler, which does nothing.
if ! readelf --wide --dynamic "$build/lib/carpool/libcarpool_cuda.so" | grep -q 'INIT_ARRAYSZ.* 8 (bytes)'; then
  echo "shim-aarch64: libcarpool_cuda.so has constructors" >&2
  exit 1
fi

# Left out: a program that starts another one, which the kernel would have to give to qemu; fifty forks beside busy
# threads, which take qemu up to a minute, with the library or without; a count of measured launches, which is lower on a
# slow machine; two comparisons of latencies; programs with NVIDIA's libraries, which are those of this machine.
export CARPOOL_TESTED_SHIM=$build/lib/carpool/libcarpool_cuda.so
export CARPOOL_TESTED_DRIVER=$build/tests/fake_cuda/lib/libcuda.so.1
export CARPOOL_TESTED_DRIVER_BEFORE_12=$build/tests/fake_cuda/before_12/libcuda.so.1
export CARPOOL_TESTED_PROGRAM=$build/under_qemu
exec "$native/bin/carpool_shim_test" --gtest_filter='-*GoesOnInAProgram*:*DoesNotWaitForThreads*:*MeasuresBesideCaptures*:*Runtime*:Vendor/*:ShimGate.RequestsDoNotWait*:ShimGate.ARequestThatWaitsLong*'
