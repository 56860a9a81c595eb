// Any bytes as a file of an attempt's folder: a record that is the same when written and read
// again, or an error that names the file. The first byte selects: c claim, l leader, e exit.
#include <string>
#include <string_view>
#include <unistd.h>

#include "run/failure_classifier.hpp"
#include "run/run_folder.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

template <class T>
void require_named(const Result<T>& record, std::string_view file) {
  require(record.has_value() || record.error().message.find(file) != std::string::npos);
}

void feed_exit(const run::RunFolder& folder, std::string_view text) {
  (void)scratch_file("exit", text);
  const auto exit = folder.exit();
  require_named(exit, "exit");
  if (exit && *exit) {
    (void)run::classify_exit(**exit, "", "");
    require(folder.write_exit(**exit).has_value());
    require(folder.exit().has_value());
  }
}

}  // namespace

void feed_run_folder(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const run::RunFolder folder(scratch_folder());
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'c':
      (void)scratch_file("claim", text);
      require_named(folder.claimed(), "claim");
      break;
    case 'l':
      (void)scratch_file("leader", text);
      require_named(folder.leader(), "leader");
      break;
    case 'e':
      feed_exit(folder, text);
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
