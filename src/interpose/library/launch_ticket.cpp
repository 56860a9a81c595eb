#include "interpose/library/launch_ticket.hpp"

#include <algorithm>
#include <array>

#include "interpose/library/kernel_names.hpp"
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

std::uint64_t blocks_of(const LaunchShape& shape) {
  return std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
}

Ticket wait_for_gate(Device& device,
                     const TimedLaunch& launch,
                     const AskingLaunch& asking,
                     std::uint64_t now_ns) {
  const Admission admission = device.gate.best_effort.admit(device.client, asking);
  stop_if_draining();  // the signal may have come meanwhile
  if ((device.client.wanted() & kWantLog) != 0 && launch.function != nullptr) {
    write_log(device.client, launch, stream_key(launch.stream, launch.twin));
  }
  BestEffortSide* const gate = admission.asked ? &device.gate.best_effort : nullptr;
  TimedLaunch timed = launch;
  timed.place_key = asking.place_key;
  timed.sms_permille = admission.sms_permille;
  if (admission.confined != nullptr) {
    timed = in_part(timed, admission.confined);
  }
  const Sampling sampling = admission.unmeasured ? Sampling::Eager : Sampling::Sparse;
  return {.pair = timing_begins(device, timed, now_ns, sampling),
          .gate = gate,
          .confined = admission.confined};
}

// Launches of this thread that asked, the last one first.
constinit thread_local std::array<std::uint64_t, 2> last_keys{};  // NOLINT

AskingLaunch asking_for(const TimedLaunch& launch, gate::WorkKind kind) {
  const std::uint64_t name = kernel_name_hash(launch.function);
  const std::uint64_t key = name == 0 ? 0 : kernel_key(name, launch.shape);
  const std::uint64_t place_key = key == 0 ? 0 : kernel_key_after(key, last_keys[0], last_keys[1]);
  last_keys = {key, last_keys[0]};
  return {.place = {launch.stream, launch.twin},
          .kind = kind,
          .key = key,
          .place_key = place_key,
          .blocks = blocks_of(launch.shape),
          .function = kind == gate::WorkKind::Kernel ? launch.function : nullptr,
          .shape = launch.shape,
          .shared_bytes = launch.shared_bytes};
}

}  // namespace

TimingPair do_what_is_wanted(Device& device,
                             std::uint64_t wanted,
                             const TimedLaunch& launch,
                             std::uint64_t now_ns) {
  if ((wanted & kWantLog) != 0) {
    write_log(device.client, launch, stream_key(launch.stream, launch.twin));
  }
  return (wanted & kWantDurations) != 0 ? timing_begins(device, launch, now_ns, Sampling::Sparse)
                                        : kNotTimed;
}

Ticket kernel_waits(Device& device,
                    const TimedLaunch& launch,
                    gate::WorkKind kind,
                    std::uint64_t now_ns) {
  return wait_for_gate(device, launch, asking_for(launch, kind), now_ns);
}

Ticket graph_waits(Device& device,
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

}  // namespace carpool::interpose
