#include "estimate/replay/tape.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool::estimate {
namespace {

const Tape::ForwardAgain no_segments = [](std::size_t, TensorId) { return kNoTensor; };

MachineFacts without_libraries() {
  return {};
}

TEST(Tape, KeepsSavedTensorsUntilBackward) {
  Tape tape(without_libraries());
  const ParameterId weight = tape.add_parameter({.elements = kMiB});
  const TensorId input = tape.tensor(kMiB, 4, false);
  const TensorId out = tape.tensor(kMiB, 4);
  tape.node(out, {input}, std::array{input}, std::array{weight}, {});
  tape.drop(input);
  EXPECT_EQ(tape.allocator().allocated(), 8 * kMiB);
  EXPECT_EQ(tape.saved_bytes(), 4 * kMiB);
  tape.drop(out);
  EXPECT_EQ(tape.allocator().allocated(), 4 * kMiB);
  tape.backward(out, no_segments);
  EXPECT_EQ(tape.allocator().allocated(), 4 * kMiB);  // the gradient of the weight alone
  tape.zero_gradients();
  EXPECT_EQ(tape.allocator().allocated(), 0);
}

TEST(Tape, RecordsNoNodeWithoutTrainedParameters) {
  Tape tape(without_libraries());
  const ParameterId frozen = tape.add_parameter({.elements = kMiB, .trained = false});
  const TensorId input = tape.tensor(kMiB, 4, false);
  const TensorId out = tape.tensor(kMiB, 4);
  tape.node(out, {input}, std::array{input}, std::array{frozen}, {});
  tape.drop(input);
  EXPECT_FALSE(tape.needs_gradient(out));
  EXPECT_EQ(tape.allocator().allocated(), 4 * kMiB);
}

TEST(Tape, AdditionSharesTheIncomingGradient) {
  Tape tape(without_libraries());
  const ParameterId one = tape.add_parameter({.elements = 1});
  const TensorId a = tape.tensor(kMiB, 4);
  tape.node(a, {}, {}, std::array{one}, {});
  const TensorId b = tape.tensor(kMiB, 4);
  tape.node(b, {a}, {}, {}, {});
  const TensorId sum = tape.tensor(kMiB, 4);
  tape.node(sum, {a, b}, {}, {}, {.passes_gradient = true});
  for (const TensorId tensor : {a, b, sum}) {
    tape.drop(tensor);
  }
  tape.backward(sum, no_segments);
  // One gradient for all three, then that of b's operation while the shared one is still held.
  EXPECT_EQ(tape.allocator().peak_allocated(), 12 * kMiB);
  tape.zero_gradients();
  EXPECT_EQ(tape.allocator().allocated(), 0);
}

TEST(Tape, ForwardAndBackwardHaveSeparateMatrixWorkspaces) {
  MachineFacts machine;
  machine.cublas_workspace = 32 * kMiB;
  Tape tape(machine);
  const ParameterId weight = tape.add_parameter({.elements = 1});
  tape.forward_matmul();
  tape.forward_matmul();
  EXPECT_EQ(tape.allocator().allocated(), 32 * kMiB);
  const TensorId out = tape.tensor(1, 4);
  tape.node(out, {}, {}, std::array{weight}, {.matmul = true});
  tape.drop(out);
  tape.backward(out, no_segments);
  EXPECT_EQ(tape.allocator().allocated(), 64 * kMiB + 512);  // and the gradient of the weight
}

TEST(Tape, SixteenBitGradientsAreCastToTheParameterType) {
  Tape tape(without_libraries());
  const ParameterId weight = tape.add_parameter({.elements = kMiB});
  const TensorId out = tape.tensor(1, 2);
  tape.node(out, {}, {}, std::array{weight}, {.gradient_bytes = 2});
  tape.drop(out);
  tape.backward(out, no_segments);
  EXPECT_EQ(tape.allocator().allocated(), 4 * kMiB);
}

TEST(Tape, AutocastKeepsCopiesOfTrainableParameters) {
  Tape tape(without_libraries());
  const ParameterId own = tape.add_parameter({.elements = kMiB, .trained = false});  // inference
  const ParameterId frozen =
      tape.add_parameter({.elements = kMiB, .trained = false, .frozen = true});
  for (int use = 0; use < 2; ++use) {
    tape.drop(tape.autocast(own));
    EXPECT_EQ(tape.allocator().allocated(), 2 * kMiB);
    const TensorId copy = tape.autocast(frozen);
    EXPECT_EQ(tape.allocator().allocated(), 4 * kMiB);
    tape.drop(copy);
  }
  tape.end_autocast();
  EXPECT_EQ(tape.allocator().allocated(), 0);
}

TEST(Tape, CheckpointsKeepTheInputAndRunTheBlockAgain) {
  Tape tape(without_libraries());
  const ParameterId weight = tape.add_parameter({.elements = 1});
  const TensorId input = tape.tensor(kMiB, 4, false);
  int runs = 0;
  const auto block = [&](TensorId x) {
    ++runs;
    const TensorId inner = tape.tensor(8 * kMiB, 4);
    tape.node(inner, {x}, std::array{inner}, std::array{weight}, {});
    const TensorId out = tape.tensor(kMiB, 4);
    tape.node(out, {inner}, {}, {}, {});
    tape.drop(inner);
    return out;
  };
  tape.set_recording(false);
  const TensorId out = block(input);
  tape.set_recording(true);
  tape.checkpoint(out, input, 0);
  tape.drop(input);
  EXPECT_EQ(tape.saved_bytes(), 4 * kMiB);
  tape.drop(out);
  tape.backward(out, [&](std::size_t, TensorId x) { return block(x); });
  EXPECT_EQ(runs, 2);
  tape.zero_gradients();
  EXPECT_EQ(tape.allocator().allocated(), 0);
}

TEST(CheckedSizes, ProductsStopAtTheLimit) {
  EXPECT_EQ(times(3, 5), 15);
  EXPECT_EQ(times(std::int64_t{1} << 40, std::int64_t{1} << 40), std::int64_t{1} << 48);
}

}  // namespace
}  // namespace carpool::estimate
