#include "run/failure_classifier.hpp"

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

RunExit failed_with(std::string_view text) {
  return classify_exit({.code = 1}, "", text);
}

TEST(FailureClassifier, ThePyTorchMessageGivesTheRequestedAndTheHeldMemory) {
  const RunExit exit = failed_with(
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
      "capacity of 39.39 GiB of which 10.25 MiB is free. Including non-PyTorch memory, this "
      "process "
      "has 2.50 GiB memory in use. Of the allocated memory 2.00 GiB is allocated by PyTorch, and "
      "256.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(exit.end, RunEnd::OutOfMemory);
  EXPECT_EQ(exit.wanted_bytes, 20 * kMiB);
  EXPECT_EQ(exit.held_bytes, 2560 * kMiB);
}

TEST(FailureClassifier, WithoutAFigureOfTheProcessAllocatedAndReservedMemoryAreHeld) {
  const RunExit exit = failed_with(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a "
      "total capacity of 39.39 GiB. Of the allocated memory 2.00 GiB is allocated by PyTorch, and "
      "256.00 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(exit.wanted_bytes, 1024 * kMiB);
  EXPECT_EQ(exit.held_bytes, 2304 * kMiB);
}

TEST(FailureClassifier, MessagesOfOldPyTorchAreRecognised) {
  const RunExit exit = failed_with(
      "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.76 GiB total "
      "capacity; 9.00 GiB already allocated; 12.00 MiB free; 9.50 GiB reserved in total by "
      "PyTorch)\n");
  EXPECT_EQ(exit.end, RunEnd::OutOfMemory);
  EXPECT_EQ(exit.wanted_bytes, 512 * kMiB);
  EXPECT_EQ(exit.held_bytes, 9728 * kMiB);
}

TEST(FailureClassifier, MessagesOfJaxTensorFlowCuPyAndPlainCudaAreRecognised) {
  const RunExit jax = failed_with(
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
      "allocate 4294967296 bytes.\n");
  EXPECT_EQ(jax.end, RunEnd::OutOfMemory);
  EXPECT_EQ(jax.wanted_bytes, 4096 * kMiB);
  EXPECT_EQ(failed_with("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when "
                        "allocating tensor with shape[64,256,56,56] on GPU:0 [Op:Conv2D]\n")
                .end,
            RunEnd::OutOfMemory);
  const RunExit tensorflow = failed_with(
      "W cuda_driver.cc:118] failed to allocate 2.00GiB (2147483648 bytes) from device: "
      "CUDA_ERROR_OUT_OF_MEMORY: out of memory\nAborted\n");
  EXPECT_EQ(tensorflow.end, RunEnd::OutOfMemory);
  EXPECT_EQ(tensorflow.wanted_bytes, 2048 * kMiB);
  const RunExit cupy = failed_with(
      "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,048,576 bytes (allocated so "
      "far: 2,097,152 bytes).\n");
  EXPECT_EQ(cupy.wanted_bytes, kMiB);
  EXPECT_EQ(cupy.held_bytes, 2 * kMiB);
  EXPECT_EQ(failed_with("GPUassert: CUDA error: out of memory main.cu 12\n").end,
            RunEnd::OutOfMemory);
}

TEST(FailureClassifier, APathOrCommandWithOomInItDoesNotCount) {
  for (const char* text :
       {"python: can't open file '/data/OOM/train.py': [Errno 2] No such file or directory\n",
        "+ ./run.sh --tag 'CUDA out of memory. Tried to allocate'\nrun.sh: not found\n",
        "bash: /opt/CUDA_ERROR_OUT_OF_MEMORY/bin/x: No such file or directory\n",
        "unsuccessful\nOOM\nNon-OK-status\n"}) {
    EXPECT_EQ(failed_with(text).end, RunEnd::Failed) << text;
  }
}

TEST(FailureClassifier, AnExceptionThatWasCaughtIsNotTheCause) {
  EXPECT_EQ(failed_with("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 "
                        "GiB.\nretrying with a batch half as large\nTraceback (most recent call "
                        "last):\n  File \"t.py\", line 9\nKeyError: 'loss'\n")
                .end,
            RunEnd::Failed);
}

TEST(FailureClassifier, AnExceptionRaisedFromOutOfMemoryIsOutOfMemory) {
  const RunExit exit = failed_with(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 9\nValueError: no result\n");
  EXPECT_EQ(exit.end, RunEnd::OutOfMemory);
  EXPECT_EQ(exit.wanted_bytes, 1024 * kMiB);
}

TEST(FailureClassifier, TheCauseIsFoundAboveTheErrorOfALauncher) {
  EXPECT_EQ(failed_with("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
                        "2.00 GiB.\nTraceback (most recent call last):\n  File \"torchrun\"\n"
                        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n")
                .end,
            RunEnd::OutOfMemory);
}

TEST(FailureClassifier, ASuccessfulJobSucceedsWhateverItPrints) {
  EXPECT_EQ(classify_exit({.code = 0}, "", "RuntimeError: CUDA error: out of memory\n").end,
            RunEnd::Succeeded);
}

TEST(FailureClassifier, MpsFaultsAndHostMemoryAreDistinguished) {
  EXPECT_EQ(failed_with("CUDA error: CUDA_ERROR_MPS_RPC_FAILURE\n").end, RunEnd::MpsFault);
  EXPECT_EQ(classify_exit({.code = 1, .mps_fault = true}, "", "unspecified launch failure\n").end,
            RunEnd::MpsFault);
  EXPECT_EQ(classify_exit({.signal = 9, .host_memory = true}, "", "").end, RunEnd::HostOutOfMemory);
  EXPECT_EQ(classify_exit({.code = 137, .host_memory = true}, "", "").end, RunEnd::HostOutOfMemory);
  EXPECT_EQ(classify_exit({.signal = 9}, "", "").end, RunEnd::Failed);
  EXPECT_EQ(failed_with("MemoryError\n").end, RunEnd::HostOutOfMemory);
}

TEST(FailureClassifier, AJobThatNeverRanOrWasStoppedIsReportedAsSuch) {
  EXPECT_EQ(classify_exit({.not_started = "no such program"}, "", "").end, RunEnd::NeverStarted);
  EXPECT_EQ(classify_exit({.signal = 15, .stop_asked = true}, "", "").end, RunEnd::Cancelled);
}

TEST(FailureClassifier, InvalidSizesAreIgnored) {
  const RunExit exit = failed_with(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 99999999999999999999.00 GiB. "
      "Of the allocated memory x is allocated by PyTorch\n");
  EXPECT_EQ(exit.end, RunEnd::OutOfMemory);
  EXPECT_FALSE(exit.wanted_bytes);
  EXPECT_FALSE(exit.held_bytes);
}

// All clients of an MPS server fail with the error of one.
TEST(FailureClassifier, ALostContextIsAFaultOfMpsWhereOtherClientsLostTheirs) {
  for (const char* words :
       {"torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel "
        "errors might be asynchronously reported at some other API call\n",
        "RuntimeError: CUDA error: device-side assert triggered\n",
        "E cuda_driver.cc:1] CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access\n",
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: "
        "unspecified launch failure\n"}) {
    EXPECT_EQ(classify_exit({.code = 1, .gpu_fault = true}, "", words).end, RunEnd::MpsFault)
        << words;
    EXPECT_EQ(classify_exit({.code = 1, .gpu_fault = true}, words, "").end, RunEnd::MpsFault)
        << words;
    EXPECT_EQ(classify_exit({.code = 1}, "", words).end, RunEnd::Failed) << words;
  }
  EXPECT_EQ(classify_exit({.code = 1, .gpu_fault = true}, "", "ValueError: no data\n").end,
            RunEnd::Failed)
      << "it was no client at that time";
  EXPECT_EQ(classify_exit({.code = 1, .mps_fault = true, .gpu_fault = true}, "", "").end,
            RunEnd::MpsFault);
  EXPECT_EQ(classify_exit({.code = 1, .gpu_fault = true},
                          "",
                          "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 "
                          "MiB.\n")
                .end,
            RunEnd::OutOfMemory);
}

}  // namespace
}  // namespace carpool::run
