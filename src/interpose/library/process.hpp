// What the library is in this process: counting, or only passing calls on.
#pragma once

#include <atomic>
#include <cstdint>

namespace carpool::interpose {

// False with CARPOOL_SHIM=off: wrappers are not even handed out by cuGetProcAddress.
[[nodiscard]] bool shim_wanted();

// After the real cuInit succeeded.
void process_started();

// Set between process_started() and a fork, whose child cannot use CUDA.
extern std::atomic<bool> process_active;  // NOLINT: shared by all threads

// How deep the calling thread is in wrappers: the driver, and libraries that it calls, may call
// exported functions while they work for the program.
extern constinit thread_local std::uint32_t call_depth;  // NOLINT

// Lives as long as one call of a wrapper.
class Call {
 public:
  Call() : outermost_(call_depth++ == 0) {}
  ~Call() { --call_depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the call is one of the program in an active process.
  [[nodiscard]] bool counts() const {
    return outermost_ && process_active.load(std::memory_order_relaxed);
  }

 private:
  bool outermost_;
};

}  // namespace carpool::interpose
