#include "run/start_trouble.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/job_names.hpp"

namespace carpool::run {
namespace {

constexpr std::string_view kByJob = "by-job";

constexpr std::array kCausedByJob = {
    ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, ENOEXEC, ELIBBAD, EINVAL, E2BIG};

}  // namespace

tl::unexpected<StartTrouble> machine_trouble(TroubleScope scope, std::string message) {
  return tl::unexpected(StartTrouble{scope, std::move(message)});
}

StartTrouble trouble_with_job_files(int error, std::string_view what) {
  StartTrouble trouble{.message =
                           fmt::format("{}: {}", what, std::generic_category().message(error))};
  if (std::ranges::find(kCausedByJob, error) == kCausedByJob.end()) {
    // EAGAIN: the user has as many processes as the user may have. Any other error may come from
    // files of the job alone, so it does not hold up other jobs.
    trouble.scope = error == EAGAIN ? TroubleScope::User : TroubleScope::Job;
  }
  return trouble;
}

std::string write_trouble(const StartTrouble& trouble) {
  return fmt::format("{} {}", trouble.scope ? name_of(*trouble.scope) : kByJob, trouble.message);
}

StartTrouble read_trouble(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const std::string_view word = text.substr(0, blank);
  const std::string message(blank == std::string_view::npos ? std::string_view{}
                                                            : text.substr(blank + 1));
  if (word == kByJob) {
    return {.message = message};
  }
  const Result<TroubleScope> scope = trouble_scope(word);
  if (!scope) {
    return {TroubleScope::Machine, std::string(text)};
  }
  return {*scope, message};
}

RunExit exit_of(const StartTrouble& trouble, double at_s) {
  return {.end = trouble.scope ? RunEnd::MachineTrouble : RunEnd::NeverStarted,
          .detail = trouble.message,
          .scope = trouble.scope,
          .at_s = at_s};
}

}  // namespace carpool::run
