#include "app/inputs/submit_memory.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/inputs/job_memory.hpp"
#include "app/inputs/past_jobs.hpp"
#include "app/server/server_client.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

std::string text_of(const json& job, const char* key) {
  const auto found = job.find(key);
  return found != job.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Whoever reads the job whole will complain of what is no list of words.
std::vector<std::string> words_of(const json& job) {
  std::vector<std::string> words;
  if (const auto found = job.find("argv"); found != job.end() && found->is_array()) {
    for (const json& word : *found) {
      words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
    }
  }
  return words;
}

std::string spoken(const MemoryEstimate& estimate, const std::string& from) {
  return fmt::format("Estimated {} of GPU memory, at most {} (from {})",
                     serve::show_bytes(static_cast<std::uint64_t>(estimate.expected)),
                     serve::show_bytes(static_cast<std::uint64_t>(estimate.upper)),
                     from);
}

// Of the server's GPUs the one with most; nothing where it does not tell.
std::optional<std::int64_t> largest_gpu(const ServerOptions& options) {
  auto client = ServerClient::connect(options);
  const auto answer = client ? client->get("/v1/gpus") : tl::unexpected(client.error());
  std::optional<std::int64_t> most;
  if (answer && answer->contains("gpus")) {
    for (const json& gpu : answer->at("gpus")) {
      most = std::max(most.value_or(0), gpu.value("memory_bytes", std::int64_t{0}));
    }
  }
  return most;
}

// A bound that no GPU can hold would keep the job waiting for ever.
std::string put(json& job, const MemoryEstimate& estimate, const ServerOptions& server) {
  const auto most = largest_gpu(server);
  const bool alone = most && estimate.upper > *most && estimate.expected <= *most;
  job["mem"] = alone ? estimate.expected : estimate.upper;
  std::string said = spoken(estimate, estimate.basis);
  if (alone) {
    job["exclusive"] = true;
    said += fmt::format("; no GPU has more than {}: it gets one for itself",
                        serve::show_bytes(static_cast<std::uint64_t>(*most)));
  }
  return said;
}

}  // namespace

Result<std::string> put_estimated_memory(json& job, const ServerOptions& server) {
  const std::string model = text_of(job, kModelKey);
  const bool wanted = text_of(job, "mem") == "auto";
  if (!model.empty() && !wanted) {
    return invalid_input("--model is for --mem auto");
  }
  job.erase(kModelKey);
  if (!wanted) {
    return std::string();
  }
  estimate::EstimateRequest question{.command = words_of(job)};
  if (!model.empty()) {
    question.source = model;
  }
  if (const auto gpus = job.find("gpus"); gpus != job.end() && gpus->is_number_integer()) {
    question.overrides.gpus = gpus->get<std::int64_t>();
  }
  const estimate::HistoryRequest earlier{.argv = question.command,
                                         .folder = text_of(job, "cwd"),
                                         .gpus = question.overrides.gpus.value_or(1)};
  if (const auto known = ask_history(server, earlier)) {
    job["mem"] = known->past.estimate.upper;
    return spoken(
        known->past.estimate,
        fmt::format(
            "{}: {}", known->past.estimate.basis, estimate::job_list_text(known->past.from)));
  }
  const auto estimate =
      open_estimator(std::nullopt, estimate::kDefaultConfidence)
          .and_then([&](const estimate::CarpoolEstimator& estimator) {
            return ask_with_catalogue(question).and_then([&](const estimate::RequestedJob& asked) {
              return estimate_asked(estimator, asked);
            });
          });
  if (!estimate) {
    return fail(estimate.error().code,
                fmt::format("--mem auto: {}. Else say --mem SIZE, or --model FILE with a file that "
                            "describes the model; carpool estimate --help tells which",
                            estimate.error().message));
  }
  return put(job, *estimate, server);
}

}  // namespace carpool::app
