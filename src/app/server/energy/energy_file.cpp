#include "app/server/energy/energy_file.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/log.hpp"
#include "base/text/strict_object.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;
using schedule::EnergyRecord;

constexpr unsigned kEnergyVersion = 1;

json run_object(const RunId& run) {
  return {{"job", run.job}, {"attempt", run.attempt}};
}

void read_run(StrictObject& reader, RunId& run) {
  for (const char* key : {"job", "attempt"}) {
    reader.require(key);
  }
  reader.read("job", run.job);
  reader.read("attempt", run.attempt);
}

// Calls `each` for every element of a list.
template <class Each>
Result<void> read_list(StrictObject& reader, const char* key, Each each) {
  const json* list = reader.member(key);
  if (list == nullptr || !list->is_array()) {
    return invalid_input(fmt::format("{}: not a list", key));
  }
  for (const json& entry : *list) {
    if (const Result<void> read = each(entry); !read) {
      return read;
    }
  }
  return {};
}

Result<void> read_attempt(const json& entry, EnergyRecord& record) {
  EnergyRecord::Attempt attempt;
  StrictObject reader(entry, "attempts");
  read_run(reader, attempt.run);
  reader.require("joules");
  reader.read("joules", attempt.joules);
  return reader.finish().map([&] { record.attempts.push_back(attempt); });
}

Result<void> read_gpu(const json& entry, EnergyRecord& record) {
  EnergyRecord::Gpu gpu;
  StrictObject reader(entry, "gpus");
  for (const char* key : {"uuid", "joules"}) {
    reader.require(key);
  }
  reader.read("uuid", gpu.uuid);
  reader.read("joules", gpu.joules);
  Result<void> runs = read_list(reader, "runs", [&](const json& one) {
    RunId run;
    StrictObject inner(one, "runs");
    read_run(inner, run);
    return inner.finish().map([&] { gpu.runs.push_back(run); });
  });
  return reader.finish().and_then([&] { return runs; }).map([&] {
    record.gpus.push_back(std::move(gpu));
  });
}

Result<EnergyRecord> record_from(const std::string& text) {
  const json content = json::parse(text, nullptr, /*allow_exceptions=*/false);
  EnergyRecord record;
  unsigned version = 0;
  StrictObject reader(content, "energy");
  reader.require("version");
  reader.read("version", version);
  const Result<void> attempts =
      read_list(reader, "attempts", [&](const json& entry) { return read_attempt(entry, record); });
  const Result<void> gpus =
      read_list(reader, "gpus", [&](const json& entry) { return read_gpu(entry, record); });
  for (const Result<void>& read : {reader.finish(), attempts, gpus}) {
    if (!read) {
      return tl::unexpected(read.error());
    }
  }
  if (version != kEnergyVersion) {
    return invalid_input(fmt::format("version {}, expected {}", version, kEnergyVersion));
  }
  return record;
}

std::string text_of(const EnergyRecord& record) {
  json attempts = json::array();
  for (const EnergyRecord::Attempt& attempt : record.attempts) {
    attempts.push_back(run_object(attempt.run));
    attempts.back()["joules"] = attempt.joules;
  }
  json gpus = json::array();
  for (const EnergyRecord::Gpu& gpu : record.gpus) {
    json runs = json::array();
    for (const RunId& run : gpu.runs) {
      runs.push_back(run_object(run));
    }
    gpus.push_back({{"uuid", gpu.uuid}, {"joules", gpu.joules}, {"runs", std::move(runs)}});
  }
  const json content = {
      {"version", kEnergyVersion}, {"attempts", std::move(attempts)}, {"gpus", std::move(gpus)}};
  return content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool same_runs(const EnergyRecord& one, const EnergyRecord& other) {
  return std::ranges::equal(one.attempts,
                            other.attempts,
                            {},
                            &EnergyRecord::Attempt::run,
                            &EnergyRecord::Attempt::run) &&
         std::ranges::equal(
             one.gpus, other.gpus, [](const EnergyRecord::Gpu& a, const EnergyRecord::Gpu& b) {
               return a.uuid == b.uuid && a.runs == b.runs;
             });
}

}  // namespace

EnergyRecord EnergyFile::read() const {
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) {
    return {};
  }
  Result<EnergyRecord> record = read_file(file_).and_then(record_from);
  if (!record) {
    log_warning(fmt::format("{}: {}; the energy of running jobs counts from now on",
                            file_.string(),
                            record.error().message));
    return {};
  }
  return std::move(*record);
}

void EnergyFile::keep(const EnergyRecord& record) {
  if (written_ ? *written_ == record : record == EnergyRecord{}) {
    return;
  }
  if (written_ && same_runs(*written_, record) && since_written_->seconds() < every_s_) {
    return;
  }
  const Result<void> done = write_private_file(file_, text_of(record));
  if (!done && !failed_) {
    log_warning(
        fmt::format("the energy of running jobs is not saved, and a restart would lose it: {}",
                    done.error().message));
  }
  failed_ = !done;
  // After a failure the next try comes after the usual time.
  written_ = record;
  since_written_.emplace();
}

}  // namespace carpool::app
