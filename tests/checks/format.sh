#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says. To mend: clang-format-19 -i FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

find src tests bench -name '*.hpp' -print0 -o -name '*.cpp' -print0 |
  xargs -0 clang-format-19 --dry-run -Werror
