#include "measure/tests/measuring_test.hpp"

#include <cstdlib>

namespace carpool::measure {

void MeasuringTest::SetUp() {
  ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1);
  std::filesystem::create_directory(scratch());
  plan_.name = "p";
  plan_.command = {CARPOOL_FAKE_WORKLOAD, "{workload}"};
  plan_.streams_command = {CARPOOL_FAKE_WORKLOAD, "{workloads}"};
  plan_.solo_repeats = 1;
  plan_.window = {.seconds = 0.2,
                  .warm_seconds = 0.02,
                  .warm_steps = 1,
                  .least_steps = 2,
                  .longest_seconds = 5.0};
  plan_.workers.start_seconds = 10.0;
  plan_.workers.end_seconds = 0.3;
}

}  // namespace carpool::measure
