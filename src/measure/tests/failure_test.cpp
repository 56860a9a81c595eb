#include "measure/failure.hpp"

#include <gtest/gtest.h>

#include "measure/start_failures.hpp"

namespace carpool::measure {
namespace {

TEST(Failure, KnowsALackOfMemoryInEveryLibrarysWords) {
  for (const char* words : {
           "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
           "RuntimeError: CUDA error: out of memory",
           "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY",
           "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED",
           "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
       }) {
    EXPECT_EQ(explain_death("exit status 1", words).reason, kOutOfMemory) << words;
  }
}

TEST(Failure, KnowsWhatMpsDidFromWhatTheWorkloadDid) {
  EXPECT_EQ(explain_death("exit status 1", "CUDA_ERROR_MPS_SERVER_NOT_READY").reason, kMpsFailure);
  EXPECT_EQ(explain_death("exit status 1", "error: cudaErrorMpsClientTerminated").reason,
            kMpsFailure);
  EXPECT_EQ(explain_death("exit status 1", "ValueError: no such model").reason, "crash");
  EXPECT_EQ(explain_death("killed by SIGSEGV (11)", "").reason, "crash");
}

TEST(Failure, TellsTheExitAndTheLastLine) {
  EXPECT_EQ(explain_death("exit status 1", "Traceback:\n  File\nValueError: no \n \r\n").message,
            "exit status 1: ValueError: no");
  EXPECT_EQ(explain_death("exit status 0", "").message, "exit status 0");
  EXPECT_EQ(explain_death("exit status 0", "\n \n").message, "exit status 0");
}

TEST(Failure, CutsALongLine) {
  EXPECT_EQ(explain_death("x", std::string(10'000, 'a')).message.size(), 3 + 300U);
}

constexpr Member kFirst{.workload = 0};
constexpr Member kSecond{.workload = 1};

TEST(StartFailures, TwoFailuresInARowAreEnough) {
  StartFailures failures;
  failures.record(kFirst, {"crash", "one"}, true);
  EXPECT_FALSE(failures.given_up(kFirst));
  failures.record(kFirst, {"crash", "two"}, true);
  EXPECT_TRUE(failures.given_up(kFirst));
  EXPECT_FALSE(failures.given_up(kSecond));
  EXPECT_EQ(failures.last(std::vector{kSecond, kFirst})->message, "two");
  failures.forget(kFirst);
  EXPECT_FALSE(failures.given_up(kFirst));
  EXPECT_FALSE(failures.last(std::vector{kFirst}).has_value());
}

TEST(StartFailures, MemoryThatOthersHeldIsNoReasonToGiveUp) {
  StartFailures failures;
  for (int i = 0; i < 5; ++i) {
    failures.record(kFirst, {std::string(kOutOfMemory), ""}, true);
  }
  EXPECT_FALSE(failures.given_up(kFirst));
  failures.record(kFirst, {std::string(kOutOfMemory), ""}, false);
  failures.record(kFirst, {std::string(kOutOfMemory), ""}, false);
  EXPECT_TRUE(failures.given_up(kFirst));
}

}  // namespace
}  // namespace carpool::measure
