// Wrappers of the functions that launch kernels and graphs.
#include <algorithm>

#include "interpose/library/captures.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/draining.hpp"
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

// What has to follow a launch.
struct Ticket {
  TimingPair pair = kNotTimed;
  BestEffortSide* gate = nullptr;  // that has admitted it
  Handle confined = nullptr;       // the stream that it goes to instead of its own
};

// Away from the path of programs whose launches are only counted.
[[gnu::noinline, gnu::cold]] TimingPair do_what_is_wanted(Device& device,
                                                          std::uint64_t wanted,
                                                          const TimedLaunch& launch,
                                                          std::uint64_t now_ns) {
  if ((wanted & kWantLog) != 0) {
    write_log(device.client, launch, stream_key(launch.stream, launch.twin));
  }
  return (wanted & kWantDurations) != 0 ? timing_begins(device, launch, now_ns, Sampling::Sparse)
                                        : kNotTimed;
}

std::uint64_t blocks_of(const LaunchShape& shape) {
  return std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
}

// A best-effort launch on a GPU that has an SLO client: waits until it may go, and learns how long
// it takes.
[[gnu::noinline]] Ticket wait_for_gate(Device& device,
                                       const TimedLaunch& launch,
                                       const AskingLaunch& asking,
                                       std::uint64_t now_ns) {
  const Admission admission = device.gate.best_effort.admit(device.client, asking);
  stop_if_draining();  // the signal may have come meanwhile
  if ((device.client.wanted() & kWantLog) != 0 && launch.function != nullptr) {
    write_log(device.client, launch, stream_key(launch.stream, launch.twin));
  }
  BestEffortSide* const gate = admission.asked ? &device.gate.best_effort : nullptr;
  if (admission.confined != nullptr) {
    return {.gate = gate, .confined = admission.confined};  // its time there says little
  }
  const Sampling sampling = admission.unmeasured ? Sampling::Eager : Sampling::Sparse;
  return {.pair = timing_begins(device, launch, now_ns, sampling), .gate = gate};
}

bool asks(const Device& device) {
  return device.gate.side == GateSide::BestEffort && BestEffortSide::has_slo_clients(device.client);
}

AskingLaunch asking_for(const TimedLaunch& launch, gate::WorkKind kind) {
  const std::uint64_t name = kernel_name_hash(launch.function);
  return {.place = {launch.stream, launch.twin},
          .kind = kind,
          .key = name == 0 ? 0 : kernel_key(name, launch.shape),
          .blocks = blocks_of(launch.shape),
          .function = kind == gate::WorkKind::Kernel ? launch.function : nullptr,
          .shape = launch.shape,
          .shared_bytes = launch.shared_bytes};
}

// A launch that the program makes: counted before the driver gets it.
inline Ticket launched(const TimedLaunch& launch, gate::WorkKind kind = gate::WorkKind::Kernel) {
  if (add_to_capture(stream_key(launch.stream, launch.twin), 1)) {
    return {};  // counted when the graph is launched
  }
  stop_if_draining();
  Device& device = current_device();
  Client& client = device.client;
  const bool slo = device.gate.side == GateSide::Slo;
  const std::uint64_t now = slo ? exact_now_ns() : coarse_now_ns();
  client.count_launch(now);
  if (slo) {
    device.gate.slo.launched(client, now);
  } else if (asks(device)) {
    return wait_for_gate(device, launch, asking_for(launch, kind), now);
  }
  const std::uint64_t wanted = client.wanted();
  return {.pair =
              wanted == kWantNothing ? kNotTimed : do_what_is_wanted(device, wanted, launch, now)};
}

// Asks the driver by `ask`, which takes the stream. A driver that refuses a kernel on a part of the
// SMs gets it in its own stream.
template <class Ask>
[[gnu::noinline]] Status launch_confined(const Ticket& ticket,
                                         const TimedLaunch& launch,
                                         const Ask& ask) {
  Status status = ask(ticket.confined);
  const bool accepted = status == kSuccess;
  if (!accepted) {
    status = ask(launch.stream);
  }
  ticket.gate->launched_confined({launch.stream, launch.twin}, accepted);
  return status;
}

// After it.
inline Status finished(const Ticket& ticket, const TimedLaunch& launch, Status status) {
  if (ticket.pair != kNotTimed) {
    timing_ends(ticket.pair, launch, status);
  }
  if (ticket.gate != nullptr) {
    ticket.gate->launched({launch.stream, launch.twin});
  }
  return status;
}

template <class Ask>
inline Status send(const Ticket& ticket, const TimedLaunch& launch, const Ask& ask) {
  return ticket.confined == nullptr ? finished(ticket, launch, ask(launch.stream))
                                    : launch_confined(ticket, launch, ask);
}

// How a launch with attributes may be treated. Null function: it is not confined.
gate::WorkKind kind_of(const LaunchConfig& config) {
  const auto* const attributes = static_cast<const LaunchAttribute*>(config.attributes);
  gate::WorkKind kind = gate::WorkKind::Kernel;
  for (unsigned i = 0; attributes != nullptr && i < config.attribute_count; ++i) {
    if (std::ranges::find(kHarmlessAttributes, attributes[i].id) == kHarmlessAttributes.end()) {
      kind = gate::WorkKind::Cooperative;  // or with a meaning that is not known
    }
  }
  return kind;
}

// One that is not measured: of a kind that programs hardly use, or one of several in a call.
void count_only(const TimedLaunch& launch) {
  finished(launched(launch), launch, kNotReady);
}

LaunchShape shape_of(int width, int height) {
  return {.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}};
}

// A graph asks once, and is measured as a whole: graphs with as many kernels share what is known.
[[gnu::noinline]] Ticket graph_waits(Device& device,
                                     std::uint64_t kernels,
                                     TimedLaunch& launch,
                                     std::uint64_t now_ns) {
  static const std::uint64_t name = hash_name("(graph)");
  launch.key = kernel_key(name + kernels, {});
  return wait_for_gate(device,
                       launch,
                       {.place = {launch.stream, launch.twin},
                        .kind = gate::WorkKind::Graph,
                        .key = launch.key,
                        .blocks = kernels * device.gate.best_effort.device().sms,
                        .kernels = std::max<std::uint64_t>(1, kernels)},
                       now_ns);
}

inline Ticket graph_launched(Handle graph, TimedLaunch& launch) {
  const std::uint64_t kernels = kernels_of_graph(graph);
  if (add_to_capture(stream_key(launch.stream, launch.twin), kernels)) {
    return {};
  }
  stop_if_draining();
  Device& device = current_device();
  const bool slo = device.gate.side == GateSide::Slo;
  const std::uint64_t now = slo ? exact_now_ns() : coarse_now_ns();
  device.client.count_graph_launch(kernels, now);
  if (slo) {
    device.gate.slo.launched(device.client, now);
  }
  return asks(device) ? graph_waits(device, kernels, launch, now) : Ticket{};
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
        Twin::TWIN,                                                               \
        0,                                                                        \
        shared};                                                                  \
    const Ticket ticket = call.counts() ? launched(launch) : Ticket{};            \
    return send(ticket, launch, [&](Handle to) {                                  \
      return REAL(NAME,                                                           \
                  function,                                                       \
                  grid_x,                                                         \
                  grid_y,                                                         \
                  grid_z,                                                         \
                  block_x,                                                        \
                  block_y,                                                        \
                  block_z,                                                        \
                  shared,                                                         \
                  to,                                                             \
                  parameters,                                                     \
                  extra);                                                         \
    });                                                                           \
  }
LAUNCH_KERNEL(cuLaunchKernel, Legacy)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, PerThread)

#define LAUNCH_KERNEL_EX(NAME, TWIN)                                                            \
  Status NAME(const LaunchConfig* config, Handle function, void** parameters, void** extra) {   \
    const Call call;                                                                            \
    if (!call.counts() || config == nullptr) {                                                  \
      return REAL(NAME, config, function, parameters, extra);                                   \
    }                                                                                           \
    const TimedLaunch launch{function,                                                          \
                             {.grid = config->grid, .block = config->block},                    \
                             config->stream,                                                    \
                             Twin::TWIN,                                                        \
                             0,                                                                 \
                             config->shared_bytes};                                             \
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
    const Ticket ticket =                                                         \
        call.counts() ? launched(launch, gate::WorkKind::Cooperative) : Ticket{}; \
    return finished(ticket,                                                       \
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
