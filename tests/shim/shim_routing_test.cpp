// cuGetProcAddress of libcarpool_cuda.so.
#include "shim_fixture.hpp"

namespace carpool::shim_test {
namespace {

TEST_F(Shim, AnswersEveryLookUpWithItsOwnFunctionOfTheSameNameVersionAndTwin) {
  const Values seen = run({"symbol", "routes"});
  EXPECT_GT(seen.at("asked"), 250U);
  EXPECT_GT(seen.at("wrapped"), 120U);
  EXPECT_EQ(seen.at("wrong"), 0U);
}

TEST_F(Shim, HandsOutTheDriversFunctionsWhenItIsOff) {
  const Values seen = run({"symbol", "routes"}, {{"CARPOOL_SHIM", "off"}});
  EXPECT_EQ(seen.at("wrapped"), 0U);
}

TEST_F(Shim, ReportsAsAbsentWhatTheDriverLacks) {
  settings("missing = cuLaunchKernelEx cuLaunchKernelEx_ptsz");
  const Values seen = run({"symbol", "absent"});
  EXPECT_EQ(seen.at("found"), 0U);
  EXPECT_EQ(seen.at("symbol_status"), 1U);  // not found
  EXPECT_EQ(seen.at("called"), 801U);       // not supported: the fake driver has no textures
}

TEST_F(Shim, AnswersForADriverThatHasOnlyTheFirstVersionOfTheLookUp) {
  settings("version = 11080");
  const Values seen = run({"symbol", "old-driver"}, {{"CARPOOL_REAL_LIBCUDA", driver_before_12()}});
  EXPECT_EQ(seen.at("failures"), 0U);
  EXPECT_EQ(seen.at("launch"), 1U);
  EXPECT_EQ(seen.at("launch_status"), 0U);
  EXPECT_EQ(seen.at("memory"), 1U);
  EXPECT_EQ(seen.at("newer"), 1U);
  EXPECT_EQ(seen.at("newer_status"), 1U);  // not found
  EXPECT_EQ(seen.at("old_door"), 1U);
  EXPECT_EQ(seen.at("launches"), 1U);
}

// NVIDIA's libraries look for the driver each by itself, with a CUDA runtime of their own. They
// stop where they want private tables of a real driver.
struct VendorLibrary {
  const char* file;
  const char* function;
};

class ShimVendor : public Shim, public testing::WithParamInterface<VendorLibrary> {};

TEST_P(ShimVendor, AsksTheLibraryInFrontOfTheDriver) {
  const std::filesystem::path library =
      std::filesystem::path("/usr/local/cuda/lib64") / GetParam().file;
  if (!std::filesystem::exists(library)) {
    GTEST_SKIP() << library << " is not installed";
  }
  // What NVIDIA's libraries leave behind is not ours to find.
  const Values seen = run({"symbol", "load", library.string(), GetParam().function},
                          {{"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}});
  EXPECT_GT(seen.at("lookups"), 400U);
  EXPECT_GE(seen.at("inits"), 1U);
}

TEST_F(Shim, StandsInFrontOfARuntimeInsideTheProgram) {
#ifdef SHIM_STATIC_RUNTIME
  program_ = SHIM_STATIC_RUNTIME;
  const Values seen = run({}, {{"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}});
  EXPECT_GT(seen.at("lookups"), 400U);
  EXPECT_GE(seen.at("inits"), 1U);
#else
  GTEST_SKIP() << "NVIDIA's static runtime is not installed";
#endif
}

INSTANTIATE_TEST_SUITE_P(Vendor,
                         ShimVendor,
                         testing::Values(VendorLibrary{"libcudart.so.13", "cudaGetDeviceCount"},
                                         VendorLibrary{"libcublasLt.so.13", "cublasLtCreate"},
                                         VendorLibrary{"libcublas.so.13", "cublasCreate_v2"},
                                         VendorLibrary{"libcudnn.so.9", "cudnnCreate"}),
                         [](const auto& each) {
                           const std::string file = each.param.file;
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace carpool::shim_test
