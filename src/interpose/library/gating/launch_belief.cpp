#include "interpose/library/gating/launch_belief.hpp"

#include <algorithm>

#include "interpose/library/kernel_timing.hpp"

namespace carpool::interpose {

namespace {

// What the table tells of the kernel; where it varies, of the kernel in its place of the program.
KernelEstimate known_of(const KernelTable& table, const AskingLaunch& launch, bool& unmeasured) {
  KernelEstimate known = table.find(launch.key);
  unmeasured = launch.key != 0 && known.count < kEnoughSamples;
  if (known.count == 0 && launch.key != 0) {
    const KernelEstimate slowed = table.find(kernel_key_slowed(launch.key));
    known = slowed.count < kEnoughSlowed ? known : slowed;
  }
  if (varies(known)) {
    const KernelEstimate in_place = table.find(launch.place_key);
    unmeasured = launch.place_key != 0 && in_place.count < kEnoughSamples;
    known = in_place.count > 0 ? in_place : known;
  }
  return known;
}

}  // namespace

gate::Work LaunchBelief::work_of(const SharedState& state,
                                 const AskingLaunch& launch,
                                 std::uint32_t sms,
                                 bool& unmeasured) const {
  gate::Work work{.client = 0, .kind = launch.kind, .blocks = launch.blocks};
  work.sms = static_cast<std::uint32_t>(std::min<std::uint64_t>(launch.blocks, sms));
  // The table is only read, though its type lets it be changed.
  auto& kernels = const_cast<SharedState&>(state).kernels;  // NOLINT
  durations_.estimate(work, known_of(KernelTable(kernels), launch, unmeasured));
  if (!work.known) {
    work.expected_ns *= static_cast<gate::Nanoseconds>(launch.kernels);
    work.bound_ns = work.expected_ns;
  }
  return work;
}

}  // namespace carpool::interpose
