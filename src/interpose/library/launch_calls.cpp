// Wrappers of the functions that launch kernels and graphs.
#include "interpose/library/captures.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/graphs.hpp"
#include "interpose/library/kernel_names.hpp"
#include "interpose/library/kernel_timing.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"
#include "interpose/state/kernel_log.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {

namespace {

void write_log(Client& client, const TimedLaunch& launch, StreamKey stream) {
  KernelLogRing* const ring = client.log();
  if (ring == nullptr) {
    return;
  }
  const std::uint64_t name = kernel_name_hash(launch.function);
  log_launch(client.slot().log_head,
             *ring,
             {.key = name == 0 ? 0 : kernel_key(name, launch.shape),
              .time_ns = exact_now_ns(),
              .stream = static_cast<std::uint32_t>(stream)});
}

// Away from the path of programs whose launches are only counted.
[[gnu::noinline, gnu::cold]] TimingPair do_what_is_wanted(Client& client,
                                                          std::uint64_t wanted,
                                                          const TimedLaunch& launch,
                                                          std::uint64_t now_ns) {
  if ((wanted & kWantLog) != 0) {
    write_log(client, launch, stream_key(launch.stream, launch.twin));
  }
  return (wanted & kWantDurations) != 0 ? timing_begins(client, launch, now_ns) : kNotTimed;
}

// A launch that the program makes: counted before the driver gets it.
inline TimingPair launched(const TimedLaunch& launch) {
  if (add_to_capture(stream_key(launch.stream, launch.twin), 1)) {
    return kNotTimed;  // counted when the graph is launched
  }
  Client& client = current_device().client;
  const std::uint64_t now = coarse_now_ns();
  client.count_launch(now);
  const std::uint64_t wanted = client.wanted();
  return wanted == kWantNothing ? kNotTimed : do_what_is_wanted(client, wanted, launch, now);
}

// After it.
inline Status finished(TimingPair pair, const TimedLaunch& launch, Status status) {
  if (pair != kNotTimed) {
    timing_ends(pair, launch, status);
  }
  return status;
}

// One that is not measured: of a kind that programs hardly use, or one of several in a call.
void count_only(const TimedLaunch& launch) {
  finished(launched(launch), launch, kNotReady);
}

LaunchShape shape_of(int width, int height) {
  return {.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}};
}

inline void graph_launched(Handle graph, StreamKey stream) {
  const std::uint64_t kernels = kernels_of_graph(graph);
  if (!add_to_capture(stream, kernels)) {
    current_device().client.count_graph_launch(kernels, coarse_now_ns());
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define LAUNCH_KERNEL(NAME, TWIN)                                                 \
  Status NAME(Handle function,                                                    \
              unsigned grid_x,                                                    \
              unsigned grid_y,                                                    \
              unsigned grid_z,                                                    \
              unsigned block_x,                                                   \
              unsigned block_y,                                                   \
              unsigned block_z,                                                   \
              unsigned shared,                                                    \
              Handle stream,                                                      \
              void** parameters,                                                  \
              void** extra) {                                                     \
    const Call call;                                                              \
    const TimedLaunch launch{                                                     \
        function,                                                                 \
        {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
        stream,                                                                   \
        Twin::TWIN};                                                              \
    const TimingPair pair = call.counts() ? launched(launch) : kNotTimed;         \
    return finished(pair,                                                         \
                    launch,                                                       \
                    REAL(NAME,                                                    \
                         function,                                                \
                         grid_x,                                                  \
                         grid_y,                                                  \
                         grid_z,                                                  \
                         block_x,                                                 \
                         block_y,                                                 \
                         block_z,                                                 \
                         shared,                                                  \
                         stream,                                                  \
                         parameters,                                              \
                         extra));                                                 \
  }
LAUNCH_KERNEL(cuLaunchKernel, Legacy)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, PerThread)

#define LAUNCH_KERNEL_EX(NAME, TWIN)                                                           \
  Status NAME(const LaunchConfig* config, Handle function, void** parameters, void** extra) {  \
    const Call call;                                                                           \
    if (!call.counts() || config == nullptr) {                                                 \
      return REAL(NAME, config, function, parameters, extra);                                  \
    }                                                                                          \
    const TimedLaunch launch{                                                                  \
        function, {.grid = config->grid, .block = config->block}, config->stream, Twin::TWIN}; \
    const TimingPair pair = launched(launch);                                                  \
    return finished(pair, launch, REAL(NAME, config, function, parameters, extra));            \
  }
LAUNCH_KERNEL_EX(cuLaunchKernelEx, Legacy)
LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz, PerThread)

#define LAUNCH_COOPERATIVE(NAME, TWIN)                                            \
  Status NAME(Handle function,                                                    \
              unsigned grid_x,                                                    \
              unsigned grid_y,                                                    \
              unsigned grid_z,                                                    \
              unsigned block_x,                                                   \
              unsigned block_y,                                                   \
              unsigned block_z,                                                   \
              unsigned shared,                                                    \
              Handle stream,                                                      \
              void** parameters) {                                                \
    const Call call;                                                              \
    const TimedLaunch launch{                                                     \
        function,                                                                 \
        {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
        stream,                                                                   \
        Twin::TWIN};                                                              \
    const TimingPair pair = call.counts() ? launched(launch) : kNotTimed;         \
    return finished(pair,                                                         \
                    launch,                                                       \
                    REAL(NAME,                                                    \
                         function,                                                \
                         grid_x,                                                  \
                         grid_y,                                                  \
                         grid_z,                                                  \
                         block_x,                                                 \
                         block_y,                                                 \
                         block_z,                                                 \
                         shared,                                                  \
                         stream,                                                  \
                         parameters));                                            \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, Legacy)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, PerThread)

Status cuLaunchCooperativeKernelMultiDevice(LaunchParameters* list,
                                            unsigned count,
                                            unsigned flags) {
  const Call call;
  if (call.counts() && list != nullptr) {
    for (unsigned i = 0; i < count; ++i) {
      count_only({.function = list[i].function,
                  .shape = {.grid = list[i].grid, .block = list[i].block},
                  .stream = list[i].stream});
    }
  }
  return REAL(cuLaunchCooperativeKernelMultiDevice, list, count, flags);
}

// The three that CUDA 4.0 replaced; the block is set by another call.
Status cuLaunch(Handle function) {
  const Call call;
  if (call.counts()) {
    count_only({.function = function});
  }
  return REAL(cuLaunch, function);
}

Status cuLaunchGrid(Handle function, int width, int height) {
  const Call call;
  if (call.counts()) {
    count_only({.function = function, .shape = shape_of(width, height)});
  }
  return REAL(cuLaunchGrid, function, width, height);
}

Status cuLaunchGridAsync(Handle function, int width, int height, Handle stream) {
  const Call call;
  if (call.counts()) {
    count_only({.function = function, .shape = shape_of(width, height), .stream = stream});
  }
  return REAL(cuLaunchGridAsync, function, width, height, stream);
}

#define LAUNCH_GRAPH(NAME, TWIN)                             \
  Status NAME(Handle graph, Handle stream) {                 \
    const Call call;                                         \
    if (call.counts()) {                                     \
      graph_launched(graph, stream_key(stream, Twin::TWIN)); \
    }                                                        \
    return REAL(NAME, graph, stream);                        \
  }
LAUNCH_GRAPH(cuGraphLaunch, Legacy)
LAUNCH_GRAPH(cuGraphLaunch_ptsz, PerThread)

// Handles of kernels may be given out again.
#define UNLOAD(NAME)           \
  Status NAME(Handle loaded) { \
    const Call call;           \
    if (call.counts()) {       \
      forget_kernel_names();   \
    }                          \
    return REAL(NAME, loaded); \
  }
UNLOAD(cuModuleUnload)
UNLOAD(cuLibraryUnload)

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
