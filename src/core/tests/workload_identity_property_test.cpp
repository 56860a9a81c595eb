// Any words give a name that can be shown and stored, and seeds never matter.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"
#include "core/workload_identity.hpp"

namespace carpool {
namespace {

// Arbitrary bytes but NUL, mixed with words that mean something.
rc::Gen<std::string> any_word() {
  const auto byte = rc::gen::map(rc::gen::inRange(1, 256), [](int value) {
    return static_cast<char>(static_cast<unsigned char>(value));
  });
  return rc::gen::oneOf(rc::gen::container<std::string>(byte),
                        rc::gen::element<std::string>("python",
                                                      "env",
                                                      "bash",
                                                      "-c",
                                                      "-m",
                                                      "--seed",
                                                      "=",
                                                      "-",
                                                      "--",
                                                      "timeout",
                                                      "torchrun",
                                                      "conda",
                                                      "run",
                                                      "/",
                                                      "//",
                                                      "..",
                                                      "tmp.",
                                                      "train.py",
                                                      "a=b",
                                                      "cd",
                                                      "&&",
                                                      "'",
                                                      "2026-11-16",
                                                      "-o",
                                                      "nice"));
}

RC_GTEST_PROP(WorkloadIdentityProperty, EveryCommandHasAShortPrintableName, ()) {
  const auto argv = *rc::gen::container<std::vector<std::string>>(any_word());
  const std::string key = workload_key({.argv = argv, .cwd = *any_word()});
  RC_ASSERT(key.size() <= 120U);
  RC_ASSERT(is_utf8(key));
  RC_ASSERT(printable(key) == key);
  RC_ASSERT(key == workload_key({.argv = argv, .cwd = ""}) || !argv.empty());
}

RC_GTEST_PROP(WorkloadIdentityProperty, SeedsAndOutputsDoNotMatter, ()) {
  std::vector<std::string> argv = {"python", "train.py", "--bs", "8"};
  const std::string before = workload_key({.argv = argv, .cwd = "/p"});
  const auto seed = *rc::gen::arbitrary<unsigned>();
  argv.insert(argv.end(),
              {"--seed", std::to_string(seed), "--output-dir=/x/" + std::to_string(seed)});
  RC_ASSERT(workload_key({.argv = argv, .cwd = "/p"}) == before);
}

RC_GTEST_PROP(WorkloadIdentityProperty, BatchSizesMatter, ()) {
  const auto one = *rc::gen::inRange(1, 100'000);
  const auto other = *rc::gen::inRange(1, 100'000);
  const auto key = [](int batch) {
    return workload_key({.argv = {"python", "t.py", "--batch-size", std::to_string(batch)}});
  };
  RC_ASSERT((key(one) == key(other)) == (one == other));
}

}  // namespace
}  // namespace carpool
