// Any bytes as a record of an attempt: a value that is the same when written and read again, or an
// error. The first byte selects: c claim, l leader, e exit, t trouble at the start, p name of the
// folder of an MPS daemon, g recorded cgroup.
#include <string>
#include <string_view>

#include "run/failure_classifier.hpp"
#include "run/job_cgroup.hpp"
#include "run/mps/mps_sweeping.hpp"
#include "run/run_folder.hpp"
#include "run/run_records.hpp"
#include "run/start_trouble.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

void feed_claim(std::string_view text) {
  const Result<run::RunClaim> claim = run::read_claim(text);
  require_message(claim);
  if (claim) {
    const std::string written = run::write_claim(*claim);
    const Result<run::RunClaim> again = run::read_claim(written);
    require(again.has_value() && run::write_claim(*again) == written);
  }
}

void feed_leader(std::string_view text) {
  const auto leader = run::read_leader(text);
  require_message(leader);
  if (leader) {
    const auto again = run::read_leader(run::write_leader(*leader, "journal"));
    require(again.has_value() && *again == *leader);
  }
}

void feed_exit(std::string_view text) {
  const Result<run::ExitRecord> exit = run::read_exit(text);
  require_message(exit);
  if (exit) {
    (void)run::classify_exit(*exit, "", "");
    const std::string written = run::write_exit(*exit);
    const Result<run::ExitRecord> again = run::read_exit(written);
    require(again.has_value() && run::write_exit(*again) == written);
  }
}

}  // namespace

void feed_run_folder(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'c':
      return feed_claim(text);
    case 'l':
      return feed_leader(text);
    case 'e':
      return feed_exit(text);
    case 't':
      require(!run::write_trouble(run::read_trouble(text)).empty());
      return;
    case 'p':
      if (const auto name = run::read_place_name(text)) {
        require(run::read_place_name(run::write_place_name(*name)).has_value());
      }
      return;
    case 'g':
      (void)scratch_file("cgroup", text);
      (void)run::recorded_cgroup(run::RunFolder(scratch_folder()));
      return;
    default:
      return;
  }
}

}  // namespace carpool::fuzz
