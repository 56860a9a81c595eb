#include <unistd.h>

#include <gtest/gtest.h>

#include "../control.hpp"
#include "calls.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

AllocationProperties on(int location) {
  AllocationProperties properties{};
  properties.type = 1;
  properties.handle_types = kHandleFile;
  properties.location = {location, 0};
  return properties;
}

TEST(Memory, EveryFamilyIsRefusedWhenTheDeviceIsFull) {
  EXPECT_TRUE(Machine("memory = 16").run([] {
    use_device();
    DevicePtr address = 0;
    DevicePtr more = 0;
    std::size_t pitch = 0;
    std::uint64_t handle = 0;
    Array* array = nullptr;
    MipmappedArray* mipmap = nullptr;
    ASSERT_EQ(cuMemAlloc_v2(&address, 15 * kMiB), kSuccess);
    EXPECT_EQ(free_bytes(), kMiB);
    const AllocationProperties device = on(kLocationDevice);
    const ArrayDescriptor plane{1024, 1024, 0x20, 1};
    const Array3dDescriptor cube{1024, 1024, 0, 0x20, 1, 0};
    EXPECT_EQ(cuMemAlloc_v2(&more, 2 * kMiB), kOutOfMemory);
    EXPECT_EQ(cuMemAllocPitch_v2(&more, &pitch, 1000, 2048, 4), kOutOfMemory);
    EXPECT_EQ(cuMemAllocManaged(&more, 2 * kMiB, 1), kOutOfMemory);
    EXPECT_EQ(cuMemAllocAsync(&more, 2 * kMiB, nullptr), kOutOfMemory);
    EXPECT_EQ(cuMemCreate(&handle, 2 * kMiB, &device, 0), kOutOfMemory);
    EXPECT_EQ(cuArrayCreate_v2(&array, &plane), kOutOfMemory);
    EXPECT_EQ(cuArray3DCreate_v2(&array, &cube), kOutOfMemory);
    EXPECT_EQ(cuMipmappedArrayCreate(&mipmap, &cube, 3), kOutOfMemory);
    EXPECT_EQ(fake_cuda_count("refused_allocations"), 8);
    EXPECT_EQ(cuMemFree_v2(address), kSuccess);
    EXPECT_EQ(free_bytes(), 16 * kMiB);
    EXPECT_EQ(fake_cuda_count("allocated_bytes"), 0);
    EXPECT_EQ(fake_cuda_count("allocated_peak"), 15 * kMiB);
    EXPECT_EQ(cuMemFree_v2(address), kInvalidValue);
  }));
}

TEST(Memory, ArraysHoldWhatIsCopied) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    const ArrayDescriptor row{16, 0, 0x01, 1};
    Array* first = nullptr;
    Array* second = nullptr;
    ASSERT_EQ(cuArrayCreate_v2(&first, &row), kSuccess);
    ASSERT_EQ(cuArrayCreate_v2(&second, &row), kSuccess);
    const char text[] = "multiprocessors";
    EXPECT_EQ(cuMemcpyHtoA_v2(first, 0, text, sizeof text), kSuccess);
    EXPECT_EQ(cuMemcpyAtoA_v2(second, 0, first, 5, 11), kSuccess);
    char back[11] = {};
    EXPECT_EQ(cuMemcpyAtoH_v2(back, second, 0, sizeof back), kSuccess);
    EXPECT_STREQ(back, "processors");
    EXPECT_EQ(fake_cuda_count("copy_bytes"), 16 + 11 + 11);
    EXPECT_EQ(cuArrayDestroy(first), kSuccess);
    EXPECT_EQ(cuArrayDestroy(second), kSuccess);
  }));
}

TEST(Memory, ManagedMemoryMayBeMissing) {
  EXPECT_TRUE(Machine("managed = 0").run([] {
    use_device();
    DevicePtr address = 0;
    EXPECT_EQ(cuMemAllocManaged(&address, kMiB, 1), kNotSupported);
  }));
}

TEST(Memory, HostMemoryCostsTheDeviceNothing) {
  EXPECT_TRUE(Machine("memory = 16").run([] {
    use_device();
    void* host = nullptr;
    std::uint64_t handle = 0;
    const AllocationProperties numa = on(3);
    EXPECT_EQ(cuMemHostAlloc(&host, 64 * kMiB, 0), kSuccess);
    EXPECT_EQ(cuMemCreate(&handle, 64 * kMiB, &numa, 0), kSuccess);
    EXPECT_EQ(free_bytes(), 16 * kMiB);
    EXPECT_EQ(cuMemRelease(handle), kSuccess);
    EXPECT_EQ(cuMemFreeHost(host), kSuccess);
    int word = 0;
    EXPECT_EQ(cuMemHostRegister_v2(&word, sizeof word, 0), kSuccess);
    EXPECT_EQ(cuMemHostRegister_v2(&word, sizeof word, 0), kAlreadyRegistered);
    EXPECT_EQ(cuMemHostUnregister(&word), kSuccess);
    EXPECT_EQ(cuMemHostUnregister(&word), kNotRegistered);
  }));
}

TEST(Memory, APoolKeepsWhatItsThresholdAllows) {
  EXPECT_TRUE(Machine("memory = 16").run([] {
    use_device();
    Pool* pool = nullptr;
    ASSERT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), kSuccess);
    DevicePtr first = 0;
    DevicePtr second = 0;
    EXPECT_EQ(cuMemAllocAsync(&first, 4 * kMiB, nullptr), kSuccess);
    EXPECT_EQ(cuMemFreeAsync(first, nullptr), kSuccess);
    EXPECT_EQ(free_bytes(), 16 * kMiB);
    std::uint64_t threshold = 3 * kMiB;
    EXPECT_EQ(cuMemPoolSetAttribute(pool, kPoolReleaseThreshold, &threshold), kSuccess);
    EXPECT_EQ(cuMemAllocAsync(&first, 4 * kMiB, nullptr), kSuccess);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&second, 2 * kMiB, pool, nullptr), kSuccess);
    EXPECT_EQ(free_bytes(), 10 * kMiB);
    EXPECT_EQ(cuMemFreeAsync(first, nullptr), kSuccess);
    EXPECT_EQ(cuMemFreeAsync(second, nullptr), kSuccess);
    std::uint64_t reserved = 0;
    std::uint64_t used = 1;
    EXPECT_EQ(cuMemPoolGetAttribute(pool, kPoolReserved, &reserved), kSuccess);
    EXPECT_EQ(cuMemPoolGetAttribute(pool, kPoolUsed, &used), kSuccess);
    EXPECT_EQ(reserved, 3 * kMiB);
    EXPECT_EQ(used, 0);
    EXPECT_EQ(free_bytes(), 13 * kMiB);
    EXPECT_EQ(cuMemPoolTrimTo(pool, 0), kSuccess);
    EXPECT_EQ(free_bytes(), 16 * kMiB);
  }));
}

TEST(Memory, PhysicalMemoryLivesUntilItIsReleasedAndUnmapped) {
  EXPECT_TRUE(Machine("memory = 16").run([] {
    use_device();
    std::uint64_t handle = 0;
    DevicePtr range = 0;
    const AllocationProperties device = on(kLocationDevice);
    EXPECT_EQ(cuMemCreate(&handle, kMiB, &device, 0), kInvalidValue);  // not a multiple
    ASSERT_EQ(cuMemCreate(&handle, 4 * kMiB, &device, 0), kSuccess);
    ASSERT_EQ(cuMemAddressReserve(&range, 8 * kMiB, 0, 0, 0), kSuccess);
    EXPECT_EQ(free_bytes(), 12 * kMiB);
    ASSERT_EQ(cuMemMap(range, 4 * kMiB, 0, handle, 0), kSuccess);
    const AccessDescription access{{kLocationDevice, 0}, 3};
    ASSERT_EQ(cuMemSetAccess(range, 4 * kMiB, &access, 1), kSuccess);
    EXPECT_EQ(cuMemsetD8_v2(range, 7, 4 * kMiB), kSuccess);
    EXPECT_EQ(cuMemRelease(handle), kSuccess);
    EXPECT_EQ(free_bytes(), 12 * kMiB);
    std::uint64_t again = 0;
    EXPECT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range)), kSuccess);
    EXPECT_EQ(cuMemUnmap(range, 4 * kMiB), kSuccess);
    EXPECT_EQ(free_bytes(), 12 * kMiB);
    EXPECT_EQ(cuMemRelease(again), kSuccess);
    EXPECT_EQ(free_bytes(), 16 * kMiB);
    EXPECT_EQ(cuMemAddressFree(range, 8 * kMiB), kSuccess);
  }));
}

TEST(Memory, AnotherProcessOpensItAndPaysNothing) {
  const Machine machine("memory = 16");
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  int done[2];
  ASSERT_EQ(::pipe(done), 0);
  const pid_t owner = machine.start([&] {
    use_device();
    DevicePtr address = 0;
    ASSERT_EQ(cuMemAlloc_v2(&address, 4 * kMiB), kSuccess);
    EXPECT_EQ(cuMemsetD8_v2(address, 42, 4 * kMiB), kSuccess);
    IpcHandle handle{};
    ASSERT_EQ(cuIpcGetMemHandle(&handle, address), kSuccess);
    EXPECT_EQ(cuIpcOpenMemHandle_v2(&address, handle, 1), kInvalidContext);
    ASSERT_EQ(::write(pipe[1], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    char end = 0;
    EXPECT_EQ(::read(done[0], &end, 1), 1);
  });
  EXPECT_TRUE(machine.run([&] {
    use_device();
    IpcHandle handle{};
    ASSERT_EQ(::read(pipe[0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
    DevicePtr address = 0;
    ASSERT_EQ(cuIpcOpenMemHandle_v2(&address, handle, 1), kSuccess);
    unsigned char byte = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&byte, address + 4 * kMiB - 1, 1), kSuccess);
    EXPECT_EQ(byte, 42);
    EXPECT_EQ(free_bytes(), 12 * kMiB);
    EXPECT_EQ(cuIpcCloseMemHandle(address), kSuccess);
    EXPECT_EQ(free_bytes(), 12 * kMiB);
  }));
  ASSERT_EQ(::write(done[1], "", 1), 1);
  EXPECT_TRUE(Machine::ended_well(owner));
}

}  // namespace
}  // namespace fake_cuda
