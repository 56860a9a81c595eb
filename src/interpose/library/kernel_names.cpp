#include "interpose/library/kernel_names.hpp"

#include <atomic>

#include "interpose/library/captures.hpp"
#include "interpose/library/fixed_table.hpp"
#include "interpose/library/symbols.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {

namespace {

constinit FixedTable<16384> known_kernels;         // NOLINT: shared by all threads
constinit std::atomic<bool> knows_kernels{false};  // NOLINT: most programs need no names

}  // namespace

std::uint64_t kernel_name_hash(Handle function) {
  const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(function));
  const std::uint64_t known = known_kernels.find(key);
  if (known != 0 || capture_alive()) {
    return known;
  }
  // A handle is a CUfunction or a CUkernel; each function refuses the other kind.
  using Function = Status(const char**, Handle);
  const char* name = nullptr;
  if (call_real<Function>(Symbol::cuFuncGetName, &name, function) != kSuccess &&
      call_real<Function>(Symbol::cuKernelGetName, &name, function) != kSuccess) {
    return 0;
  }
  const std::uint64_t hash = name == nullptr ? 0 : hash_name(name);
  if (hash != 0) {
    known_kernels.set(key, hash);
    knows_kernels.store(true, std::memory_order_relaxed);
  }
  return hash;
}

bool kernel_name_known(Handle function) {
  return known_kernels.find(reinterpret_cast<std::uintptr_t>(function)) != 0;
}

void forget_kernel_names() {
  known_kernels.clear();
}

}  // namespace carpool::interpose
