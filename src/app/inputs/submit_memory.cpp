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

// An argv of another shape is reported later, when the whole job is read.
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

// Memory of the largest GPU of the server; empty if the server does not respond.
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

// The server knows then that earlier runs say more.
void put_bound(json& job, std::int64_t bytes) {
  job["mem"] = bytes;
  job["mem_auto"] = true;
}

// A bound that exceeds every GPU would keep the job waiting forever: if the expected peak fits, the
// job gets a GPU to itself.
std::string put(json& job, const MemoryEstimate& estimate, const ServerOptions& server) {
  const auto most = largest_gpu(server);
  const bool exclusive = most && estimate.upper > *most && estimate.expected <= *most;
  put_bound(job, exclusive ? estimate.expected : estimate.upper);
  std::string said = spoken(estimate, estimate.basis);
  if (exclusive) {
    job["exclusive"] = true;
    said += fmt::format("; the largest GPU has {}, so the job gets a GPU to itself",
                        serve::show_bytes(static_cast<std::uint64_t>(*most)));
  }
  return said;
}

estimate::EstimateRequest question_of(const json& job, const std::string& model) {
  estimate::EstimateRequest question{.command = words_of(job)};
  if (!model.empty()) {
    question.source = model;
  }
  if (const auto gpus = job.find("gpus"); gpus != job.end() && gpus->is_number_integer()) {
    question.overrides.gpus = gpus->get<std::int64_t>();
  }
  return question;
}

Result<MemoryEstimate> estimate_of(const Result<estimate::RequestedJob>& asked) {
  return open_estimator(std::nullopt, estimate::kDefaultConfidence)
      .and_then([&](const estimate::CarpoolEstimator& estimator) {
        return asked.and_then(
            [&](const estimate::RequestedJob& job) { return estimate_asked(estimator, job); });
      });
}

// No estimate was asked for: without a sure one the job has none, and the server goes by earlier
// runs of the workload, or learns.
std::string put_where_sure(json& job, const ServerOptions& server) {
  const auto asked = ask_where_sure(question_of(job, ""));
  if (!asked) {
    return {};
  }
  const auto estimate = estimate_of(asked);
  const auto most = estimate ? largest_gpu(server) : std::nullopt;
  if (!estimate || (most && estimate->upper > *most)) {
    return {};
  }
  put_bound(job, estimate->upper);
  return spoken(*estimate, estimate->basis);
}

Result<std::string> put_asked_for(json& job,
                                  const std::string& model,
                                  const ServerOptions& server) {
  const estimate::EstimateRequest question = question_of(job, model);
  const estimate::HistoryRequest earlier{.argv = question.command,
                                         .folder = text_of(job, "cwd"),
                                         .gpus = question.overrides.gpus.value_or(1)};
  if (const auto known = ask_history(server, earlier)) {
    put_bound(job, known->past.estimate.upper);
    return spoken(
        known->past.estimate,
        fmt::format(
            "{}: {}", known->past.estimate.basis, estimate::job_list_text(known->past.from)));
  }
  const auto estimate = estimate_of(ask_with_catalogue(question));
  if (!estimate) {
    return fail(estimate.error().code,
                fmt::format("--mem auto: {}. Use --mem SIZE, or --model FILE with a file that "
                            "describes the model (see `carpool estimate --help`)",
                            estimate.error().message));
  }
  return put(job, *estimate, server);
}

}  // namespace

Result<std::string> put_estimated_memory(json& job, const ServerOptions& server) {
  const std::string model = text_of(job, kModelKey);
  const std::string memory = text_of(job, "mem");
  const bool told = job.contains("mem") && memory != "auto";
  if (!model.empty() && told) {
    return invalid_input("--model requires --mem auto");
  }
  job.erase(kModelKey);
  if (memory == "none") {
    job.erase("mem");
    return std::string();
  }
  if (told) {
    return std::string();
  }
  return memory == "auto" || !model.empty() ? put_asked_for(job, model, server)
                                            : put_where_sure(job, server);
}

}  // namespace carpool::app
