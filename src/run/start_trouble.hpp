// Why an attempt did not start: because of its job, or because of the machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "core/run.hpp"

namespace carpool::run {

struct StartTrouble {
  std::optional<TroubleScope> scope{};  // empty: the job itself is the cause
  std::string message{};
};

template <class T>
using Started = tl::expected<T, StartTrouble>;

[[nodiscard]] tl::unexpected<StartTrouble> machine_trouble(TroubleScope scope, std::string message);

// Trouble with the working folder or the program of a job. An error number that a wrong path, a
// wrong permission or a wrong file causes is the job's; every other one is the machine's.
[[nodiscard]] StartTrouble trouble_with_job_files(int error, std::string_view what);

// As text for another process. Text that is not of this form is trouble of the machine.
[[nodiscard]] std::string write_trouble(const StartTrouble& trouble);
[[nodiscard]] StartTrouble read_trouble(std::string_view text);

[[nodiscard]] RunExit exit_of(const StartTrouble& trouble, double at_s);

}  // namespace carpool::run
