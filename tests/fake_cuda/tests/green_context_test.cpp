#include <gtest/gtest.h>

#include "../control.hpp"
#include "green.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

TEST(GreenContexts, AKernelTakesAsManyWavesAsItsPartImplies) {
  EXPECT_TRUE(Machine("clock = virtual\nsms = 128").run([] {
    use_device();
    const Green half(64);
    const Green quarter(32);
    Function* spin = kernel("spin_1ms");
    std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(spin, nullptr, 1280), kSuccess);
    EXPECT_EQ(time_until_done(nullptr, before), 1'000'000);
    before = fake_cuda_now();
    EXPECT_EQ(launch(spin, half.stream, 1280), kSuccess);
    EXPECT_EQ(time_until_done(half.stream, before), 2'000'000);
    before = fake_cuda_now();
    EXPECT_EQ(launch(spin, quarter.stream, 1280), kSuccess);
    EXPECT_EQ(time_until_done(quarter.stream, before), 4'000'000);
    before = fake_cuda_now();
    EXPECT_EQ(launch(spin, quarter.stream, 1), kSuccess);
    EXPECT_EQ(time_until_done(quarter.stream, before), 1'000'000);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 4);
    EXPECT_EQ(fake_cuda_count("green_launches"), 3);
  }));
}

TEST(GreenContexts, StreamsOfOneShareItsPartAndOthersHaveTheRest) {
  EXPECT_TRUE(Machine("clock = virtual\nsms = 128").run([] {
    use_device();
    const Green half(64);
    Stream* second = half.new_green_stream();
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(launch(kernel("spin_1ms"), half.stream, 64), kSuccess);
    EXPECT_EQ(launch(kernel("spin_1ms"), second, 64), kSuccess);
    EXPECT_EQ(launch(kernel("spin_1ms"), nullptr, 64), kSuccess);
    EXPECT_EQ(time_until_done(nullptr, before), 1'000'000);
    EXPECT_EQ(time_until_done(second, before), 2'000'000);
  }));
}

TEST(GreenContexts, AKernelOfTheSameDeviceRunsThere) {
  EXPECT_TRUE(Machine("gpus = 2").run([] {
    use_device();
    const Green green(8);
    Library* library = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, "", nullptr, nullptr, 0, nullptr, nullptr, 0), kSuccess);
    Kernel* of_library = nullptr;
    ASSERT_EQ(cuLibraryGetKernel(&of_library, library, "dot"), kSuccess);
    EXPECT_EQ(launch(kernel("dot"), green.stream), kSuccess);
    EXPECT_EQ(launch(reinterpret_cast<Function*>(of_library), green.stream), kSuccess);
    use_device(1);
    Module* module = nullptr;
    Function* elsewhere = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, ""), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&elsewhere, module, "dot"), kSuccess);
    EXPECT_EQ(launch(elsewhere, green.stream), kInvalidHandle);
    EXPECT_EQ(fake_cuda_count("green_launches"), 2);
  }));
}

TEST(GreenContexts, ACooperativeKernelMustFitIntoThePart) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const Green green(8);
    const auto cooperative = [](unsigned blocks, Stream* stream) {
      return cuLaunchCooperativeKernel(kernel("dot"), blocks, 1, 1, 32, 1, 1, 0, stream, nullptr);
    };
    EXPECT_EQ(cooperative(8 * 32, green.stream), kSuccess);
    EXPECT_EQ(cooperative(8 * 32 + 1, green.stream), kCooperativeTooLarge);
    EXPECT_EQ(cooperative(8 * 32 + 1, nullptr), kSuccess);
    EXPECT_EQ(cooperative(132 * 32 + 1, nullptr), kCooperativeTooLarge);
  }));
}

TEST(GreenContexts, AStreamTellsItsContexts) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const Green green(8);
    Context* primary = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&primary), kSuccess);
    Context* context = nullptr;
    GreenContext* handle = nullptr;
    EXPECT_EQ(cuStreamGetCtx_v2(green.stream, &context, &handle), kSuccess);
    EXPECT_EQ(context, primary);
    EXPECT_EQ(handle, green.handle);
    EXPECT_EQ(cuStreamGetCtx(green.stream, &context), kSuccess);
    EXPECT_EQ(context, green.context);
    EXPECT_EQ(cuStreamGetCtx_v2(nullptr, &context, &handle), kSuccess);
    EXPECT_EQ(context, primary);
    EXPECT_EQ(handle, nullptr);
    EXPECT_EQ(cuStreamGetGreenCtx(green.stream, &handle), kSuccess);
    EXPECT_EQ(handle, green.handle);
    ASSERT_EQ(cuCtxPushCurrent_v2(green.context), kSuccess);
    EXPECT_EQ(cuStreamGetGreenCtx(nullptr, &handle), kSuccess);
    EXPECT_EQ(handle, green.handle);
    EXPECT_EQ(cuStreamGetGreenCtx(new_stream(), &handle), kSuccess);
    EXPECT_EQ(handle, green.handle);
    EXPECT_EQ(cuStreamGetCtx_v2_ptsz(nullptr, &context, &handle), kInvalidHandle);
    unsigned long long id = 0;
    unsigned long long same = 1;
    EXPECT_EQ(cuGreenCtxGetId(green.handle, &id), kSuccess);
    EXPECT_EQ(cuGreenCtxGetId(nullptr, &same), kSuccess);
    EXPECT_EQ(id, same);
  }));
}

TEST(GreenContexts, AWrongCreationIsRefused) {
  EXPECT_TRUE(Machine("gpus = 2").run([] {
    use_device();
    const Green green(8);
    ResourceDescriptor* descriptor = description_of(group_of(8));
    GreenContext* more = nullptr;
    EXPECT_EQ(cuGreenCtxCreate(&more, descriptor, 0, 0), kInvalidValue);
    EXPECT_EQ(cuGreenCtxCreate(&more, descriptor, 1, kGreenDefaultStream), kInvalidValue);
    EXPECT_EQ(cuGreenCtxCreate(&more, descriptor, 2, kGreenDefaultStream), kInvalidDevice);
    EXPECT_EQ(cuGreenCtxCreate(&more, nullptr, 0, kGreenDefaultStream), kInvalidValue);
    EXPECT_EQ(cuGreenCtxCreate(nullptr, descriptor, 0, kGreenDefaultStream), kInvalidValue);
    Stream* stream = nullptr;
    EXPECT_EQ(cuGreenCtxStreamCreate(&stream, green.handle, 0, 0), kInvalidValue);
    EXPECT_EQ(cuGreenCtxStreamCreate(&stream, nullptr, kNonBlocking, 0), kInvalidContext);
    EXPECT_EQ(cuCtxDestroy_v2(green.context), kInvalidContext);
  }));
}

TEST(GreenContexts, ADestroyedOneTakesItsStreamsAlong) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const Green green(8);
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), kSuccess);
    EXPECT_EQ(active, 1);  // held by the green context
    EXPECT_EQ(cuGreenCtxDestroy(green.handle), kSuccess);
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), kSuccess);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuGreenCtxDestroy(green.handle), kInvalidContext);
    EXPECT_EQ(cuCtxSetCurrent(green.context), kInvalidContext);
    EXPECT_EQ(cuStreamSynchronize(green.stream), kContextDestroyed);
    EXPECT_EQ(launch(kernel("dot"), green.stream), kContextDestroyed);
    EXPECT_EQ(cuStreamDestroy_v2(green.stream), kContextDestroyed);
  }));
}

TEST(GreenContexts, ADriverMayHaveNone) {
  EXPECT_TRUE(Machine("green_contexts = 0").run([] {
    use_device();
    void* address = nullptr;
    int status = 0;
    EXPECT_EQ(cuGetProcAddress_v2("cuGreenCtxCreate", &address, 13000, 0, &status), kSuccess);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(status, kSymbolNotFound);
    DeviceResource resource{};
    EXPECT_EQ(cuDeviceGetDevResource(0, &resource, kResourceSm), kNotSupported);
    Context* context = nullptr;
    GreenContext* green = nullptr;
    EXPECT_EQ(cuStreamGetCtx_v2(nullptr, &context, &green), kSuccess);
  }));
}

}  // namespace
}  // namespace fake_cuda
