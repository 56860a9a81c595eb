// How a fake CUDA program passes its activity to the fake CUPTI; the rest of the fake is declared
// in src/gpu/cupti/abi.hpp. The environment configures it:
//   FAKE_CUPTI_SUBSCRIBED   another tool is subscribed
//   FAKE_CUPTI_DEAF         number of first subscriptions that no call reaches
//   FAKE_CUPTI_VERSION      result of cuptiGetVersion (130000)
//   FAKE_CUPTI_REFUSE       error code of cuptiActivityEnable
//   FAKE_CUPTI_NO_COUNTERS  error code of cuptiPmSamplingEnable
#pragma once

#include <cstddef>

namespace carpool::fake_cupti {

// The name of the function in the library: takes one record in CUPTI's layout, with times of
// carpool::monotonic_ns().
// As a call of the driver that launches a kernel: calls the subscriber, on entry and on exit.
inline constexpr const char* kCallLaunch = "fake_cupti_call_launch";
using CallLaunch = void (*)();

inline constexpr const char* kDeliver = "fake_cupti_deliver";
using Deliver = void (*)(const void* record, std::size_t size);

}  // namespace carpool::fake_cupti
