// Wrappers of the functions that launch kernels and graphs.
#include "interpose/library/captures.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/graphs.hpp"
#include "interpose/library/kernel_names.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"
#include "interpose/state/kernel_log.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {

namespace {

// Away from the path of programs whose launches are only counted.
[[gnu::noinline, gnu::cold]] void write_log(Client& client,
                                            SharedState& state,
                                            Handle function,
                                            const LaunchShape& shape,
                                            StreamKey stream) {
  const std::uint64_t name = kernel_name_hash(function);
  log_launch(client.slot().log_head,
             state.logs[client.id().slot],
             {.key = name == 0 ? 0 : kernel_key(name, shape),
              .time_ns = exact_now_ns(),
              .stream = static_cast<std::uint32_t>(stream)});
}

inline void launched(Handle function, const LaunchShape& shape, StreamKey stream) {
  if (add_to_capture(stream, 1)) {
    return;  // counted when the graph is launched
  }
  Client& client = current_device().client;
  client.count_launch(coarse_now_ns());
  SharedState* const state = client.shared();
  if (state != nullptr && state->gpu.log_wanted.load(std::memory_order_relaxed) != 0) {
    write_log(client, *state, function, shape, stream);
  }
}

inline void graph_launched(Handle graph, StreamKey stream) {
  const std::uint64_t kernels = kernels_of_graph(graph);
  if (!add_to_capture(stream, kernels)) {
    current_device().client.count_graph_launch(kernels, coarse_now_ns());
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define LAUNCH_KERNEL(NAME, TWIN)                                                        \
  Status NAME(Handle function,                                                           \
              unsigned grid_x,                                                           \
              unsigned grid_y,                                                           \
              unsigned grid_z,                                                           \
              unsigned block_x,                                                          \
              unsigned block_y,                                                          \
              unsigned block_z,                                                          \
              unsigned shared,                                                           \
              Handle stream,                                                             \
              void** parameters,                                                         \
              void** extra) {                                                            \
    const Call call;                                                                     \
    if (call.counts()) {                                                                 \
      launched(function,                                                                 \
               {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
               stream_key(stream, Twin::TWIN));                                          \
    }                                                                                    \
    return REAL(NAME,                                                                    \
                function,                                                                \
                grid_x,                                                                  \
                grid_y,                                                                  \
                grid_z,                                                                  \
                block_x,                                                                 \
                block_y,                                                                 \
                block_z,                                                                 \
                shared,                                                                  \
                stream,                                                                  \
                parameters,                                                              \
                extra);                                                                  \
  }
LAUNCH_KERNEL(cuLaunchKernel, Legacy)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, PerThread)

#define LAUNCH_KERNEL_EX(NAME, TWIN)                                                          \
  Status NAME(const LaunchConfig* config, Handle function, void** parameters, void** extra) { \
    const Call call;                                                                          \
    if (call.counts() && config != nullptr) {                                                 \
      launched(function,                                                                      \
               {.grid = config->grid, .block = config->block},                                \
               stream_key(config->stream, Twin::TWIN));                                       \
    }                                                                                         \
    return REAL(NAME, config, function, parameters, extra);                                   \
  }
LAUNCH_KERNEL_EX(cuLaunchKernelEx, Legacy)
LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz, PerThread)

#define LAUNCH_COOPERATIVE(NAME, TWIN)                                                   \
  Status NAME(Handle function,                                                           \
              unsigned grid_x,                                                           \
              unsigned grid_y,                                                           \
              unsigned grid_z,                                                           \
              unsigned block_x,                                                          \
              unsigned block_y,                                                          \
              unsigned block_z,                                                          \
              unsigned shared,                                                           \
              Handle stream,                                                             \
              void** parameters) {                                                       \
    const Call call;                                                                     \
    if (call.counts()) {                                                                 \
      launched(function,                                                                 \
               {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
               stream_key(stream, Twin::TWIN));                                          \
    }                                                                                    \
    return REAL(NAME,                                                                    \
                function,                                                                \
                grid_x,                                                                  \
                grid_y,                                                                  \
                grid_z,                                                                  \
                block_x,                                                                 \
                block_y,                                                                 \
                block_z,                                                                 \
                shared,                                                                  \
                stream,                                                                  \
                parameters);                                                             \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, Legacy)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, PerThread)

Status cuLaunchCooperativeKernelMultiDevice(LaunchParameters* list,
                                            unsigned count,
                                            unsigned flags) {
  const Call call;
  if (call.counts() && list != nullptr) {
    for (unsigned i = 0; i < count; ++i) {
      launched(list[i].function,
               {.grid = list[i].grid, .block = list[i].block},
               stream_key(list[i].stream, Twin::Legacy));
    }
  }
  return REAL(cuLaunchCooperativeKernelMultiDevice, list, count, flags);
}

// The three that CUDA 4.0 replaced; the block is set by another call.
Status cuLaunch(Handle function) {
  const Call call;
  if (call.counts()) {
    launched(function, {}, kLegacyStream);
  }
  return REAL(cuLaunch, function);
}

Status cuLaunchGrid(Handle function, int width, int height) {
  const Call call;
  if (call.counts()) {
    launched(function,
             {.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}},
             kLegacyStream);
  }
  return REAL(cuLaunchGrid, function, width, height);
}

Status cuLaunchGridAsync(Handle function, int width, int height, Handle stream) {
  const Call call;
  if (call.counts()) {
    launched(function,
             {.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}},
             stream_key(stream, Twin::Legacy));
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
