// Requests of random programs wait hardly longer because work goes on while they are launched.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "interpose/tests/gate/sliced_gpu.hpp"

namespace carpool::interpose::gate {
namespace {

LaunchingProgram random_program() {
  return {.commands = *rc::gen::inRange<std::uint32_t>(1, 300),
          .each_launch = *rc::gen::inRange<Nanoseconds>(1, 10) * 10 * kMicrosecond,
          .each_kernel = *rc::gen::inRange<Nanoseconds>(1, 8) * 10 * kMicrosecond,
          .parts = *rc::gen::inRange<std::uint32_t>(1, 5),
          .looks_between = *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(GateLaunchPhaseProperty, WaitsGrowByNoMoreThanTheSloAllows, ()) {
  // Tries with a little more, which may cost a kernel of the other program; and buckets.
  constexpr Nanoseconds kTolerance = 1300 * kMicrosecond;
  const LaunchingProgram program = random_program();
  const Nanoseconds slo = *rc::gen::inRange<Nanoseconds>(5, 100) * kMillisecond;
  const LaunchPhaseResult result = serve_many(program, slo, slo / 2);
  const Nanoseconds allowed = std::clamp(slo / 25, 100 * kMicrosecond, 2 * kMillisecond);
  RC_LOG() << program.commands << " commands of " << program.each_launch << " and "
           << program.each_kernel << " ns, " << program.parts << " parts, looks "
           << program.looks_between << ": " << result.alone << " ns alone, " << result.beside
           << " ns beside, open for " << result.open << "\n";
  RC_ASSERT(result.open_first == 0);
  RC_ASSERT(result.beside <= result.alone + result.alone / 16 + allowed + kTolerance);
}

}  // namespace
}  // namespace carpool::interpose::gate
