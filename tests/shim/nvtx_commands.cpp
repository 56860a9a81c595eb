// A program that marks its requests by NVTX, and speaks NVTX's interface for tools itself.
#include <thread>

#include "fake_nvtx.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the ranges are written for NVTX's own header, too
using namespace fake_nvtx;

#include "nvtx_commands.inc"

}  // namespace

int run_nvtx(Program& program, int /*count*/) {
  return mark_requests(program);
}

}  // namespace carpool::shim_test
