#include <gtest/gtest.h>

#include "../abi/functions.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

void* look(const char* name, int version, std::uint64_t flags = 0) {
  void* address = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2(name, &address, version, flags, &status), kSuccess);
  EXPECT_EQ(status == 0, address != nullptr);
  return address;
}

int status_of(const char* name, int version) {
  void* address = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2(name, &address, version, 0, &status), kSuccess);
  return status;
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

TEST(Lookup, TheNewestFunctionThatTheVersionKnows) {
  EXPECT_TRUE(Machine().run([] {
    EXPECT_EQ(look("cuCtxSynchronize", 2000), address_of(&cuCtxSynchronize));
    EXPECT_EQ(look("cuCtxSynchronize", 12080), address_of(&cuCtxSynchronize));
    EXPECT_EQ(look("cuCtxSynchronize", 13000), address_of(&cuCtxSynchronize_v2));
    EXPECT_EQ(look("cuCtxCreate", 3020), address_of(&cuCtxCreate_v2));
    EXPECT_EQ(look("cuCtxCreate", 11040), address_of(&cuCtxCreate_v3));
    EXPECT_EQ(look("cuCtxCreate", 13000), address_of(&cuCtxCreate_v4));
    EXPECT_EQ(look("cuMemcpyBatchAsync", 12080), address_of(&cuMemcpyBatchAsync));
    EXPECT_EQ(look("cuMemcpyBatchAsync", 13000), address_of(&cuMemcpyBatchAsync_v2));
    EXPECT_EQ(look("cuGetProcAddress", 11030), address_of(&cuGetProcAddress));
    EXPECT_EQ(look("cuGetProcAddress", 12000), address_of(&cuGetProcAddress_v2));
  }));
}

TEST(Lookup, ThePerThreadTwinOnlyWhenItIsAskedForAndKnown) {
  EXPECT_TRUE(Machine().run([] {
    EXPECT_EQ(look("cuLaunchKernel", 13000), address_of(&cuLaunchKernel));
    EXPECT_EQ(look("cuLaunchKernel", 13000, kLookupLegacy), address_of(&cuLaunchKernel));
    EXPECT_EQ(look("cuLaunchKernel", 7000, kLookupPerThread), address_of(&cuLaunchKernel_ptsz));
    EXPECT_EQ(look("cuLaunchKernel", 4000, kLookupPerThread), address_of(&cuLaunchKernel));
    EXPECT_EQ(look("cuMemAlloc", 13000, kLookupPerThread), address_of(&cuMemAlloc_v2));
    EXPECT_EQ(look("cuMemcpyHtoD", 13000, kLookupPerThread), address_of(&cuMemcpyHtoD_v2_ptds));
  }));
}

TEST(Lookup, TellsWhatIsNotThere) {
  EXPECT_TRUE(Machine().run([] {
    EXPECT_EQ(status_of("", 0), kSymbolNotFound);
    EXPECT_EQ(status_of("cuNothing", 13000), kSymbolNotFound);
    EXPECT_EQ(status_of("cuLaunchKernelEx", 11030), kVersionNotSufficient);
    void* address = nullptr;
    EXPECT_EQ(cuGetProcAddress_v2("cuInit", &address, 13010, 0, nullptr), kInvalidValue);
    EXPECT_EQ(cuGetProcAddress_v2(nullptr, &address, 13000, 0, nullptr), kInvalidValue);
    EXPECT_EQ(cuGetProcAddress("cuNothing", &address, 13000, 0), kNotFound);
    const Uuid id{};
    const void* table = &id;
    EXPECT_EQ(cuGetExportTable(&table, &id), kNotFound);
    EXPECT_EQ(table, nullptr);
  }));
}

TEST(Lookup, AnOlderDriverKnowsLess) {
  const Machine machine("version = 12080\nmissing = cuLaunchKernelEx");
  EXPECT_TRUE(machine.run([] {
    EXPECT_EQ(look("cuCtxSynchronize", 12080), address_of(&cuCtxSynchronize));
    void* address = nullptr;
    EXPECT_EQ(cuGetProcAddress_v2("cuInit", &address, 13000, 0, nullptr), kInvalidValue);
    EXPECT_EQ(status_of("cuLaunchKernelEx", 12080), kSymbolNotFound);
    int version = 0;
    EXPECT_EQ(cuDriverGetVersion(&version), kSuccess);
    EXPECT_EQ(version, 12080);
  }));
}

TEST(Lookup, AFunctionFailsAsTheSettingsSay) {
  EXPECT_TRUE(Machine("fail.cuInit = 999").run([] { EXPECT_EQ(cuInit(0), 999); }));
}

}  // namespace
}  // namespace fake_cuda
