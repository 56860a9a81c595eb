// What copies tell of requests.
#include <gtest/gtest.h>

#include "interpose/library/requests/copy_direction.hpp"

namespace carpool::interpose {
namespace {

static_assert(named_direction("cuMemcpyHtoDAsync_v2") == CopyDirection::ToDevice);
static_assert(named_direction("cuMemcpyHtoA") == CopyDirection::ToDevice);
static_assert(named_direction("cuMemcpyDtoH_v2") == CopyDirection::ToHost);
static_assert(named_direction("cuMemcpyAtoHAsync_v2") == CopyDirection::ToHost);
static_assert(named_direction("cuMemcpyDtoD_v2") == CopyDirection::OnDevice);
static_assert(named_direction("cuMemsetD32Async") == CopyDirection::OnDevice);
static_assert(named_direction("cuMemcpy3DPeerAsync") == CopyDirection::OnDevice);
static_assert(named_direction("cuMemcpy2D_v2") == CopyDirection::Unknown);
static_assert(named_direction("cuMemcpyAsync") == CopyDirection::Unknown);

TEST(RequestCopy, FunctionsThatReturnWhenTheCopyIsDone) {
  EXPECT_TRUE(named_copy("cuMemcpyDtoH_v2").returns_when_done);
  EXPECT_FALSE(named_copy("cuMemcpyDtoHAsync_v2").returns_when_done);
  EXPECT_EQ(named_copy("cuMemcpyDtoH_v2").twin, Twin::Legacy);
  EXPECT_EQ(named_copy("cuMemcpyDtoH_v2_ptds").twin, Twin::PerThread);
}

TEST(RequestCopy, TheShapeTellsTheDirectionWhereTheNameDoesNot) {
  constexpr unsigned kUnified = 4;
  const auto between = [](unsigned source, unsigned target) {
    Copy2D plane{};
    plane.source_type = source;
    plane.target_type = target;
    Copy3D cube{};
    cube.source_type = source;
    cube.target_type = target;
    const CopyDirection of_cube = request_copy(named_copy("cuMemcpy3D_v2"), &cube).direction;
    EXPECT_EQ(request_copy(named_copy("cuMemcpy2D_v2"), &plane).direction, of_cube);
    EXPECT_EQ(request_copy(named_copy("cuMemcpy3DPeer"), &cube).direction, CopyDirection::OnDevice);
    return of_cube;
  };
  EXPECT_EQ(between(kDeviceMemory, kHostMemory), CopyDirection::ToHost);
  EXPECT_EQ(between(kArrayMemory, kHostMemory), CopyDirection::ToHost);
  EXPECT_EQ(between(kHostMemory, kDeviceMemory), CopyDirection::ToDevice);
  EXPECT_EQ(between(kDeviceMemory, kArrayMemory), CopyDirection::OnDevice);
  EXPECT_EQ(between(kUnified, kUnified), CopyDirection::Unknown);
  const Copy2D* const none = nullptr;
  EXPECT_EQ(request_copy(named_copy("cuMemcpy2D_v2"), none).direction, CopyDirection::Unknown);
}

}  // namespace
}  // namespace carpool::interpose
