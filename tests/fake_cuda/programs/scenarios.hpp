// What the client program can do. Each scenario prints lines "key=value" and returns 0 if the
// driver behaved; a call that fails unexpectedly ends the program with a message and code 1.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api.hpp"

namespace fake_cuda {

inline constexpr std::uint64_t kMiB = 1ULL << 20U;

class Options {
 public:
  std::map<std::string, std::string> values;

  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t fallback) const;
};

// Ends the program unless the call succeeded.
void need(Result result, const char* call);
// cuInit, and the primary context made current in this thread.
Context* use_primary(const Api& api);
// A kernel of this name.
Function* kernel_named(const Api& api, const std::string& name);

// Launches a kernel --count times in each way: cuLaunchKernel, Ex and cooperative, with their
// twins, in the legacy default stream, the thread's and one that was made; checks that each one
// ran.
int run_launches(const Api& api, const Options& options);
// Captures in --mode global, thread or relaxed, while another thread allocates; launches the graph
// --count times if the capture held. --helper relaxed: the other thread asks to be left alone.
int run_graphs(const Api& api, const Options& options);
// Allocates --mib at a time from --family until the driver refuses, or --count times.
int run_allocations(const Api& api, const Options& options);
// Forks while other threads are in the driver; the child calls it, and must get an error and no
// hang.
int run_fork(const Api& api, const Options& options);
// Uses the driver, and then replaces the process by this program with the scenario "launches".
int run_exec(const Api& api, const Options& options);
// --count streams with --kernels kernels each, ordered by events.
int run_streams(const Api& api, const Options& options);
// Holds --mib and launches --kernel without end, or --count times; prints "ready" when it begins.
int run_loop(const Api& api, const Options& options);
// Measures what a launch of an empty kernel costs the caller, over --count launches.
int run_cost(const Api& api, const Options& options);
// Of the fake driver: what all processes of the device did together. Needs no context.
int run_totals(const Api& api, const Options& options);
// For every function: the file that the pointer leads to.
int run_doors(const Api& api, const Options& options);

}  // namespace fake_cuda
