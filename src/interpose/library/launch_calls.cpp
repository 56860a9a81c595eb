// Wrappers of the functions that launch kernels and graphs.
#include "interpose/library/kernel_names.hpp"
#include "interpose/library/launch_ticket.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// One that is not measured: of a kind that programs hardly use, or one of several in a call.
void count_only(const TimedLaunch& launch) {
  finished(launched(launch), launch, kNotReady);
}

LaunchShape shape_of(int width, int height) {
  return {.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}};
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define LAUNCH_KERNEL(NAME, TWIN)                                                          \
  Status NAME(Handle function,                                                             \
              unsigned grid_x,                                                             \
              unsigned grid_y,                                                             \
              unsigned grid_z,                                                             \
              unsigned block_x,                                                            \
              unsigned block_y,                                                            \
              unsigned block_z,                                                            \
              unsigned shared,                                                             \
              Handle stream,                                                               \
              void** parameters,                                                           \
              void** extra) {                                                              \
    const Call call;                                                                       \
    const TimedLaunch launch{                                                              \
        .function = function,                                                              \
        .shape = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
        .stream = stream,                                                                  \
        .twin = Twin::TWIN,                                                                \
        .shared_bytes = shared};                                                           \
    const Ticket ticket = call.counts() ? launched(launch) : Ticket{};                     \
    return send(ticket, launch, [&](Handle to) {                                           \
      return REAL(NAME,                                                                    \
                  function,                                                                \
                  grid_x,                                                                  \
                  grid_y,                                                                  \
                  grid_z,                                                                  \
                  block_x,                                                                 \
                  block_y,                                                                 \
                  block_z,                                                                 \
                  shared,                                                                  \
                  to,                                                                      \
                  parameters,                                                              \
                  extra);                                                                  \
    });                                                                                    \
  }
LAUNCH_KERNEL(cuLaunchKernel, Legacy)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, PerThread)

#define LAUNCH_KERNEL_EX(NAME, TWIN)                                                            \
  Status NAME(const LaunchConfig* config, Handle function, void** parameters, void** extra) {   \
    const Call call;                                                                            \
    if (!call.counts() || config == nullptr) {                                                  \
      return REAL(NAME, config, function, parameters, extra);                                   \
    }                                                                                           \
    const TimedLaunch launch{.function = function,                                              \
                             .shape = {.grid = config->grid, .block = config->block},           \
                             .stream = config->stream,                                          \
                             .twin = Twin::TWIN,                                                \
                             .shared_bytes = config->shared_bytes};                             \
    const Ticket ticket = launched(launch, kind_of(*config));                                   \
    return send(ticket, launch, [&](Handle to) {                                                \
      if (to == config->stream) {                                                               \
        return REAL(NAME, config, function, parameters, extra);                                 \
      }                                                                                         \
      LaunchConfig moved = *config;                                                             \
      moved.stream = to;                                                                        \
      return REAL(NAME, static_cast<const LaunchConfig*>(&moved), function, parameters, extra); \
    });                                                                                         \
  }
LAUNCH_KERNEL_EX(cuLaunchKernelEx, Legacy)
LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz, PerThread)

#define LAUNCH_COOPERATIVE(NAME, TWIN)                                                     \
  Status NAME(Handle function,                                                             \
              unsigned grid_x,                                                             \
              unsigned grid_y,                                                             \
              unsigned grid_z,                                                             \
              unsigned block_x,                                                            \
              unsigned block_y,                                                            \
              unsigned block_z,                                                            \
              unsigned shared,                                                             \
              Handle stream,                                                               \
              void** parameters) {                                                         \
    const Call call;                                                                       \
    const TimedLaunch launch{                                                              \
        .function = function,                                                              \
        .shape = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}}, \
        .stream = stream,                                                                  \
        .twin = Twin::TWIN};                                                               \
    const Ticket ticket =                                                                  \
        call.counts() ? launched(launch, gate::WorkKind::Cooperative) : Ticket{};          \
    return finished(ticket,                                                                \
                    launch,                                                                \
                    REAL(NAME,                                                             \
                         function,                                                         \
                         grid_x,                                                           \
                         grid_y,                                                           \
                         grid_z,                                                           \
                         block_x,                                                          \
                         block_y,                                                          \
                         block_z,                                                          \
                         shared,                                                           \
                         stream,                                                           \
                         parameters));                                                     \
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

#define LAUNCH_GRAPH(NAME, TWIN)                                                    \
  Status NAME(Handle graph, Handle stream) {                                        \
    const Call call;                                                                \
    TimedLaunch launch{.stream = stream, .twin = Twin::TWIN};                       \
    const Ticket ticket = call.counts() ? graph_launched(graph, launch) : Ticket{}; \
    return finished(ticket, launch, REAL(NAME, graph, stream));                     \
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
