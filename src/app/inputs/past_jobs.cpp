#include "app/inputs/past_jobs.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/server/server_client.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// The pages reach back beyond a long sweep; they are short because the server serves nothing else
// meanwhile.
constexpr std::size_t kPage = 500;
constexpr std::size_t kMostPages = 10;
// The estimate also works without the server: do not wait long for one that hangs.
constexpr std::chrono::seconds kPatience{5};

constexpr double kLastSecond = 253'402'300'799.0;  // of the year 9999

double seconds_at(const json& job, const char* key, double fallback) {
  const auto found = job.find(key);
  if (found == job.end() || !found->is_number()) {
    return fallback;
  }
  const auto seconds = found->get<double>();
  return seconds >= 0.0 && seconds <= kLastSecond ? seconds : fallback;
}

std::optional<std::int64_t> whole_at(const json& job, const char* key) {
  const auto found = job.find(key);
  return found != job.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

std::optional<std::int64_t> bytes_at(const json& job, const char* key) {
  const auto bytes = whole_at(job, key);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

bool is_command(const json& job) {
  const auto argv = job.find("argv");
  return argv != job.end() && argv->is_array() &&
         std::ranges::all_of(*argv, [](const json& word) { return word.is_string(); });
}

const json& jobs_of(const json& answer) {
  static const json none = json::array();
  const auto jobs = answer.is_object() ? answer.find("jobs") : answer.end();
  return jobs != answer.end() && jobs->is_array() ? *jobs : none;
}

bool is_simulated(const json& answer) {
  return answer.contains("mode") && answer.at("mode") == "simulated";
}

// The id of the oldest job of a full page, after which there may be another page.
std::optional<std::int64_t> oldest_of_full(const json& answer) {
  const json& jobs = jobs_of(answer);
  return jobs.size() == kPage && jobs.back().is_object() ? whole_at(jobs.back(), "id")
                                                         : std::nullopt;
}

// Whether earlier runs cannot improve the estimate.
bool is_settled(const estimate::SimilarRuns& like,
                const Result<estimate::PastEstimate>& estimated) {
  return estimated ? estimated->from.front().batch == like.batch
                   : estimated.error().code != ErrorCode::NotFound;
}

}  // namespace

std::vector<estimate::PastCommand> past_commands_from(const json& answer) {
  std::vector<estimate::PastCommand> past;
  for (const json& job : jobs_of(answer)) {
    const auto id = job.is_object() ? whole_at(job, "id") : std::nullopt;
    const auto gpus = id ? whole_at(job, "gpu_count") : std::nullopt;
    const auto folder = gpus ? job.find("cwd") : job.end();
    if (folder == job.end() || !folder->is_string() || !is_command(job)) {
      continue;
    }
    const double ended_s = seconds_at(job, "ended_s", 0.0);
    past.push_back({.job = *id,
                    .argv = job.at("argv").get<std::vector<std::string>>(),
                    .folder = folder->get<std::string>(),
                    .gpus = *gpus,
                    .ended_s = ended_s,
                    .run_s = ended_s - seconds_at(job, "started_s", ended_s),
                    .peak_bytes = bytes_at(job, "peak_bytes"),
                    .failed_peak_bytes = bytes_at(job, "failed_peak_bytes")});
  }
  return past;
}

std::string job_folder(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::absolute(folder.empty() ? "." : folder, ignored)
      .lexically_normal()
      .string();
}

Result<HistoryAnswer> ask_history(const ServerOptions& server,
                                  const estimate::HistoryRequest& question) {
  auto client = ServerClient::connect(server, kPatience);
  if (!client) {
    return tl::unexpected(client.error());
  }
  std::vector<estimate::PastCommand> past;
  std::string before;
  for (std::size_t page = 1;; ++page) {
    const auto answer =
        client->get(fmt::format("/v1/history?limit={}&commands=1{}", kPage, before));
    if (!answer) {
      return tl::unexpected(answer.error());
    }
    std::ranges::move(past_commands_from(*answer), std::back_inserter(past));
    estimate::SimilarRuns like = estimate::similar_runs(question, past);
    auto estimated = estimate::estimate_from_runs(like);
    const auto next = oldest_of_full(*answer);
    if (next && page < kMostPages && !is_settled(like, estimated)) {
      before = fmt::format("&before={}", *next);
      continue;
    }
    return estimated.map([&](estimate::PastEstimate found) {
      if (is_simulated(*answer)) {
        found.estimate.notes.emplace_back(
            "the GPUs of the server are simulated: its jobs used exactly the memory they "
            "requested");
      }
      return HistoryAnswer{.like = std::move(like), .past = std::move(found)};
    });
  }
}

}  // namespace carpool::app
