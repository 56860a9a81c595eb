#include "run/run_records.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <sys/types.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"
#include "base/text/json_integer.hpp"
#include "core/job_names.hpp"

namespace carpool::run {
namespace {

using nlohmann::json;

constexpr const char* kDigest = "digest";

// Of an exit that an older version wrote: without a digest.
constexpr std::array<std::string_view, 7> kOldKeys = {
    "at_s", "code", "host_memory", "mps_fault", "not_started", "signal", "stop_asked"};

std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T, class Parse>
Result<T> parsed(std::string_view text, const Parse& parse) {
  try {
    return parse(json::parse(text));
  } catch (const json::exception& problem) {
    return fail(ErrorCode::Corrupt, fmt::format("not written by Carpool: {}", problem.what()));
  }
}

template <class T>
std::optional<T> optional_at(const json& object, const char* key) {
  if (!object.contains(key)) {
    return std::nullopt;
  }
  if constexpr (std::integral<T>) {
    return integer_from<T>(object.at(key));
  } else {
    return object.at(key).get<T>();
  }
}

void put_process(json& object, const gpu::ProcessIdentity& process) {
  object["pid"] = process.pid;
  object["start_ticks"] = process.start_ticks;
}

gpu::ProcessIdentity process_from(const json& object) {
  return {integer_from<pid_t>(object.at("pid")),
          integer_from<std::uint64_t>(object.at("start_ticks"))};
}

Result<ExitRecord> exit_from(const json& object) {
  ExitRecord exit;
  exit.code = optional_at<int>(object, "code");
  exit.signal = optional_at<int>(object, "signal");
  exit.not_started = object.value("not_started", "");
  if (const auto scope = optional_at<std::string>(object, "trouble")) {
    const Result<TroubleScope> trouble = trouble_scope(*scope);
    if (!trouble) {
      return fail(ErrorCode::Corrupt, trouble.error().message);
    }
    exit.trouble = *trouble;
  }
  exit.stop_asked = object.value("stop_asked", false);
  exit.mps_fault = object.value("mps_fault", false);
  exit.gpu_fault = object.value("gpu_fault", false);
  exit.host_memory = object.value("host_memory", false);
  exit.at_s = object.at("at_s").get<double>();
  exit.boot_s = optional_at<double>(object, "boot_s");
  exit.boot = object.value("boot", "");
  exit.journal = object.value("journal", "");
  return exit;
}

bool is_of_older_version(const json& object) {
  return std::ranges::all_of(object.items(), [](const auto& item) {
    return std::ranges::find(kOldKeys, item.key()) != kOldKeys.end();
  });
}

}  // namespace

std::string write_claim(const RunClaim& claim) {
  json object = {{"abandoned", claim.abandoned}, {"boot", claim.boot}};
  put_process(object, claim.supervisor);
  if (!claim.journal.empty()) {
    object["journal"] = claim.journal;
  }
  return text_of(object);
}

Result<RunClaim> read_claim(std::string_view text) {
  return parsed<RunClaim>(text, [](const json& object) {
    return RunClaim{.abandoned = object.at("abandoned").get<bool>(),
                    .supervisor = process_from(object),
                    .boot = object.at("boot").get<std::string>(),
                    .journal = object.value("journal", "")};
  });
}

std::string write_leader(const gpu::ProcessIdentity& leader, const std::string& journal) {
  json object;
  put_process(object, leader);
  if (!journal.empty()) {
    object["journal"] = journal;
  }
  return text_of(object);
}

Result<gpu::ProcessIdentity> read_leader(std::string_view text) {
  return parsed<gpu::ProcessIdentity>(text, process_from);
}

std::string write_exit(const ExitRecord& exit) {
  json object = {{"stop_asked", exit.stop_asked},
                 {"mps_fault", exit.mps_fault},
                 {"host_memory", exit.host_memory},
                 {"at_s", exit.at_s}};
  if (exit.gpu_fault) {
    object["gpu_fault"] = true;
  }
  if (exit.code) {
    object["code"] = *exit.code;
  }
  if (exit.signal) {
    object["signal"] = *exit.signal;
  }
  if (exit.trouble) {
    object["trouble"] = name_of(*exit.trouble);
  }
  if (exit.boot_s) {
    object["boot_s"] = *exit.boot_s;
  }
  for (const auto& [key, value] :
       {std::pair<const char*, const std::string&>("not_started", exit.not_started),
        std::pair<const char*, const std::string&>("boot", exit.boot),
        std::pair<const char*, const std::string&>("journal", exit.journal)}) {
    if (!value.empty()) {
      object[key] = value;
    }
  }
  object[kDigest] = sha256_hex(text_of(object));
  return text_of(object);
}

Result<ExitRecord> read_exit(std::string_view text) {
  const auto checked = [](json object) -> Result<ExitRecord> {
    const auto digest = optional_at<std::string>(object, kDigest);
    if (!digest && !is_of_older_version(object)) {
      return fail(ErrorCode::Corrupt, "altered: it has no digest");
    }
    object.erase(kDigest);
    if (digest && sha256_hex(text_of(object)) != *digest) {
      return fail(ErrorCode::Corrupt, "altered: its digest does not fit");
    }
    return exit_from(object);
  };
  return parsed<Result<ExitRecord>>(text, checked).and_then([](Result<ExitRecord> exit) {
    return exit;
  });
}

}  // namespace carpool::run
