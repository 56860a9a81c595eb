// One launch of the program on its way to the driver: counted, logged, timed, and asked for at the
// gate, as far as that is wanted.
#pragma once

#include "interpose/library/captures.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/draining/draining.hpp"
#include "interpose/library/graphs.hpp"
#include "interpose/library/kernel_timing.hpp"

namespace carpool::interpose {

// What has to follow a launch.
struct Ticket {
  TimingPair pair = kNotTimed;
  BestEffortSide* gate = nullptr;  // that has admitted it
  Handle confined = nullptr;       // the stream that it goes to instead of its own
  Device* slo = nullptr;           // that has an SLO
  std::uint64_t now_ns = 0;        // then
};

// Away from the path of programs whose launches are only counted.
[[nodiscard, gnu::cold]] TimingPair do_what_is_wanted(Device& device,
                                                      std::uint64_t wanted,
                                                      const TimedLaunch& launch,
                                                      std::uint64_t now_ns);

// A best-effort launch on a GPU that has an SLO client: waits until it may go, and learns how long
// it takes.
[[nodiscard]] Ticket kernel_waits(Device& device,
                                  const TimedLaunch& launch,
                                  gate::WorkKind kind,
                                  std::uint64_t now_ns);
// A graph asks once, and is measured as a whole: graphs with as many kernels share what is known.
[[nodiscard]] Ticket graph_waits(Device& device,
                                 std::uint64_t kernels,
                                 TimedLaunch& launch,
                                 std::uint64_t now_ns);

// What a launch with attributes is for the gate.
[[nodiscard]] gate::WorkKind kind_of(const LaunchConfig& config);

inline bool asks(const Device& device) {
  return device.gate.side == GateSide::BestEffort && BestEffortSide::has_slo_clients(device.client);
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
    device.gate.slo.launch_begins(client, now);
  } else if (asks(device)) {
    return kernel_waits(device, launch, kind, now);
  }
  const std::uint64_t wanted = client.wanted();
  return {
      .pair = wanted == kWantNothing ? kNotTimed : do_what_is_wanted(device, wanted, launch, now),
      .slo = slo ? &device : nullptr,
      .now_ns = now};
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
    device.gate.slo.launch_begins(device.client, now);
    return {.slo = &device, .now_ns = now};
  }
  return asks(device) ? graph_waits(device, kernels, launch, now) : Ticket{};
}

// The launch as it goes to the stream of a part of the SMs.
inline TimedLaunch in_part(TimedLaunch launch, Handle stream) {
  launch.stream = stream;
  launch.twin = Twin::Legacy;
  return launch;
}

// Asks the driver by `ask`, which takes the stream. A driver that refuses a kernel on a part of the
// SMs gets it in its own stream.
template <class Ask>
[[gnu::noinline]] Status launch_confined(const Ticket& ticket,
                                         const TimedLaunch& launch,
                                         const Ask& ask) {
  Status status = ask(ticket.confined);
  const bool accepted = status == kSuccess;
  if (ticket.pair != kNotTimed) {
    timing_ends(ticket.pair, in_part(launch, ticket.confined), status);
  }
  if (!accepted) {
    status = ask(launch.stream);
  }
  ticket.gate->launched_confined({launch.stream, launch.twin}, accepted);
  return status;
}

// After it.
inline Status finished(const Ticket& ticket, const TimedLaunch& launch, Status status) {
  if (ticket.slo != nullptr) {
    ticket.slo->gate.slo.launched(
        ticket.slo->client, stream_key(launch.stream, launch.twin), ticket.now_ns);
  }
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

}  // namespace carpool::interpose
