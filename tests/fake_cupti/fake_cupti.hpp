// The door through which a fake CUDA program hands its activity to the fake CUPTI; the rest of the
// fake is what src/gpu/cupti/abi.hpp declares. The environment says what it pretends:
//   FAKE_CUPTI_SUBSCRIBED   another tool is subscribed
//   FAKE_CUPTI_VERSION      what cuptiGetVersion tells (130000)
//   FAKE_CUPTI_REFUSE       the code with which cuptiActivityEnable refuses
//   FAKE_CUPTI_NO_COUNTERS  the code with which cuptiPmSamplingEnable refuses
#pragma once

#include <cstddef>

namespace carpool::fake_cupti {

// The name of the function in the library: one record as CUPTI lays it out, times on the clock of
// carpool::monotonic_ns().
inline constexpr const char* kDeliver = "fake_cupti_deliver";
using Deliver = void (*)(const void* record, std::size_t size);

}  // namespace carpool::fake_cupti
