// A green context of the first device with a stream of its own, as most tests want it.
#pragma once

#include "../control.hpp"
#include "calls.hpp"

namespace fake_cuda {

inline DeviceResource whole_device() {
  DeviceResource resource{};
  EXPECT_EQ(cuDeviceGetDevResource(0, &resource, kResourceSm), kSuccess);
  return resource;
}

// The first group of a split into at least so many multiprocessors.
inline DeviceResource group_of(unsigned sms) {
  const DeviceResource whole = whole_device();
  DeviceResource group{};
  unsigned number = 1;
  EXPECT_EQ(cuDevSmResourceSplitByCount(&group, &number, &whole, nullptr, 0, sms), kSuccess);
  EXPECT_EQ(number, 1);
  return group;
}

inline ResourceDescriptor* description_of(DeviceResource resource) {
  ResourceDescriptor* descriptor = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&descriptor, &resource, 1), kSuccess);
  return descriptor;
}

struct Green {
  GreenContext* handle = nullptr;
  Context* context = nullptr;
  Stream* stream = nullptr;

  explicit Green(unsigned sms) {
    EXPECT_EQ(cuGreenCtxCreate(&handle, description_of(group_of(sms)), 0, kGreenDefaultStream),
              kSuccess);
    EXPECT_EQ(cuCtxFromGreenCtx(&context, handle), kSuccess);
    stream = new_green_stream();
  }
  [[nodiscard]] Stream* new_green_stream() const {
    Stream* made = nullptr;
    EXPECT_EQ(cuGreenCtxStreamCreate(&made, handle, kNonBlocking, 0), kSuccess);
    return made;
  }
  // An event that is made while the green context is current.
  [[nodiscard]] Event* new_green_event() const {
    EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
    Event* event = new_event();
    EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), kSuccess);
    return event;
  }
};

// What passes on the device's clock until the stream is done.
inline std::int64_t time_until_done(Stream* stream, std::int64_t since) {
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  return fake_cuda_now() - since;
}

}  // namespace fake_cuda
