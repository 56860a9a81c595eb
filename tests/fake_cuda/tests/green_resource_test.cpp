#include <gtest/gtest.h>

#include "green.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

TEST(GreenResources, ADeviceSaysHowItCanBeSplit) {
  EXPECT_TRUE(Machine("gpus = 2").run([] {
    use_device();
    const DeviceResource whole = whole_device();
    EXPECT_EQ(whole.type, kResourceSm);
    EXPECT_EQ(whole.count, 132);
    EXPECT_EQ(whole.least, 8);
    EXPECT_EQ(whole.multiple_of, 8);
    Context* context = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&context), kSuccess);
    DeviceResource same{};
    EXPECT_EQ(cuCtxGetDevResource(context, &same, kResourceSm), kSuccess);
    EXPECT_EQ(same.count, 132);
    EXPECT_EQ(cuDeviceGetDevResource(2, &same, kResourceSm), kInvalidDevice);
    EXPECT_EQ(cuDeviceGetDevResource(0, nullptr, kResourceSm), kInvalidValue);
    EXPECT_EQ(cuDeviceGetDevResource(0, &same, 2), kInvalidResourceType);
    EXPECT_EQ(cuCtxGetDevResource(nullptr, &same, kResourceSm), kInvalidContext);
  }));
}

TEST(GreenResources, AGroupIsRoundedUp) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    EXPECT_EQ(group_of(0).count, 8);
    EXPECT_EQ(group_of(8).count, 8);
    EXPECT_EQ(group_of(9).count, 16);
    EXPECT_EQ(group_of(66).count, 72);
    const DeviceResource whole = whole_device();
    DeviceResource group{};
    unsigned number = 1;
    EXPECT_EQ(cuDevSmResourceSplitByCount(&group, &number, &whole, nullptr, kSplitSingly, 5),
              kSuccess);
    EXPECT_EQ(group.count, 6);
  }));
}

TEST(GreenResources, AsManyGroupsAsThereIsRoomFor) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const DeviceResource whole = whole_device();
    unsigned number = 0;
    EXPECT_EQ(cuDevSmResourceSplitByCount(nullptr, &number, &whole, nullptr, 0, 30), kSuccess);
    EXPECT_EQ(number, 4);
    std::array<DeviceResource, 9> groups{};
    DeviceResource rest{};
    number = groups.size();
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups.data(), &number, &whole, &rest, 0, 30), kSuccess);
    EXPECT_EQ(number, 4);
    EXPECT_EQ(groups[3].count, 32);
    EXPECT_EQ(groups[4].count, 0);
    EXPECT_EQ(rest.count, 4);
    number = 2;
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups.data(), &number, &whole, &rest, 0, 30), kSuccess);
    EXPECT_EQ(number, 2);
    EXPECT_EQ(rest.count, 68);
    number = 66;
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups.data(), &number, &groups[0], nullptr, 0, 8),
              kInvalidResourceConfiguration);  // split already
  }));
}

TEST(GreenResources, NothingRemainsOfAWholeSplit) {
  EXPECT_TRUE(Machine("sms = 16").run([] {
    use_device();
    const DeviceResource whole = whole_device();
    std::array<DeviceResource, 2> groups{};
    DeviceResource rest{};
    unsigned number = 2;
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups.data(), &number, &whole, &rest, 0, 8), kSuccess);
    EXPECT_EQ(rest.type, kResourceInvalid);
    ResourceDescriptor* descriptor = nullptr;
    EXPECT_EQ(cuDevResourceGenerateDesc(&descriptor, &rest, 1), kInvalidResourceType);
  }));
}

TEST(GreenResources, AWrongSplitIsRefused) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    DeviceResource whole = whole_device();
    DeviceResource group{};
    unsigned number = 1;
    const auto split = [&](unsigned flags, unsigned least) {
      return cuDevSmResourceSplitByCount(&group, &number, &whole, nullptr, flags, least);
    };
    EXPECT_EQ(split(4, 8), kInvalidValue);
    EXPECT_EQ(split(0, 133), kInvalidValue);
    EXPECT_EQ(split(0, 129), kInvalidResourceConfiguration);  // 136 are not there
    EXPECT_EQ(cuDevSmResourceSplitByCount(&group, nullptr, &whole, nullptr, 0, 8), kInvalidValue);
    number = 0;
    EXPECT_EQ(split(0, 8), kInvalidValue);
    whole.type = kResourceInvalid;
    EXPECT_EQ(split(0, 8), kInvalidResourceType);
  }));
}

TEST(GreenResources, ADescriptionTakesPartsOfOneSplit) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const DeviceResource whole = whole_device();
    std::array<DeviceResource, 3> parts{};
    unsigned number = 2;
    ASSERT_EQ(cuDevSmResourceSplitByCount(parts.data(), &number, &whole, &parts[2], 0, 32),
              kSuccess);
    ResourceDescriptor* descriptor = nullptr;
    ASSERT_EQ(cuDevResourceGenerateDesc(&descriptor, parts.data(), 2), kSuccess);
    GreenContext* green = nullptr;
    ASSERT_EQ(cuGreenCtxCreate(&green, descriptor, 0, kGreenDefaultStream), kSuccess);
    DeviceResource both{};
    EXPECT_EQ(cuGreenCtxGetDevResource(green, &both, kResourceSm), kSuccess);
    EXPECT_EQ(both.count, 64);
    EXPECT_EQ(cuDevSmResourceSplitByCount(parts.data(), &number, &both, nullptr, 0, 32), kSuccess);

    std::array<DeviceResource, 2> twice{parts[0], parts[0]};
    EXPECT_EQ(cuDevResourceGenerateDesc(&descriptor, twice.data(), 2),
              kInvalidResourceConfiguration);
    std::array<DeviceResource, 2> strange{parts[0], group_of(8)};
    EXPECT_EQ(cuDevResourceGenerateDesc(&descriptor, strange.data(), 2),
              kInvalidResourceConfiguration);
    EXPECT_EQ(cuDevResourceGenerateDesc(&descriptor, parts.data(), 0), kInvalidValue);
  }));
}

}  // namespace
}  // namespace fake_cuda
