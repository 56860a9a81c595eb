// How a fake CUDA program passes its activity to the fake CUPTI; the rest of the fake is declared
// in src/gpu/cupti/abi.hpp. The environment configures it:
//   FAKE_CUPTI_SUBSCRIBED   another tool is subscribed
//   FAKE_CUPTI_DEAF         number of first subscriptions that no call reaches
//   FAKE_CUPTI_LOG          file to which calls that change CUPTI's state are appended
//   FAKE_CUPTI_VERSION      result of cuptiGetVersion (130000)
//   FAKE_CUPTI_REFUSE       error code of cuptiActivityEnable
//   FAKE_CUPTI_NO_COUNTERS  error code of cuptiPmSamplingEnable
#pragma once

#include <cstddef>
#include <cstdint>

namespace carpool::fake_cupti {

// The names of functions in the library.
// As a call of the driver that launches work: calls the subscriber, on entry and on exit.
inline constexpr const char* kCallLaunch = "fake_cupti_call_launch";
using CallLaunch = void (*)(std::uint32_t call);

// Takes one record in CUPTI's layout, with times of carpool::monotonic_ns().
inline constexpr const char* kDeliver = "fake_cupti_deliver";
using Deliver = void (*)(const void* record, std::size_t size);

}  // namespace carpool::fake_cupti
