#include "core/tests/executor_contract.hpp"

#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Processes, ExecutorContract, ProcessBench);

}  // namespace
}  // namespace carpool::run
