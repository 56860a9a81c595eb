#!/usr/bin/env bash
# Builds the CUDA workloads: workloads/cuda/build.sh [PROGRAM]
# PROGRAM is the output (build/workloads/micro). CARPOOL_CUDA_ARCH names the GPU architecture (sm_90:
# H100 and H200), CUDACXX the compiler. Exits with 77 without a CUDA compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

program="${1:-build/workloads/micro}"
compiler="${CUDACXX:-$(command -v nvcc || true)}"
if [[ -z $compiler && -x /usr/local/cuda/bin/nvcc ]]; then
  compiler=/usr/local/cuda/bin/nvcc
fi
if [[ -z $compiler ]]; then
  echo "build.sh: no nvcc on the PATH nor in /usr/local/cuda/bin; install CUDA or set CUDACXX" >&2
  exit 77
fi

mkdir -p "$(dirname "$program")"
"$compiler" -O3 -std=c++20 -arch="${CARPOOL_CUDA_ARCH:-sm_90}" -Werror all-warnings \
  -Xcompiler -Wall,-Wextra -o "$program" workloads/cuda/micro.cu
