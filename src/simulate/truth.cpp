#include "simulate/truth.hpp"

#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "knowledge/activity_interference.hpp"
#include "knowledge/pairs/pair_table.hpp"

namespace carpool::simulate {
namespace {

constexpr std::string_view kPairs = "pairs";
constexpr std::string_view kActivity = "activity";

std::unique_ptr<InterferenceModel> activity_truth(const knowledge::PairTable& known,
                                                  const Trace& trace) {
  std::map<std::string, double> sm_active;
  for (const TraceJob& job : trace.jobs) {
    if (const auto active = known.sm_active(job.workload)) {
      sm_active.try_emplace(job.workload, *active);
    }
  }
  return std::make_unique<knowledge::ActivityInterference>(std::move(sm_active));
}

}  // namespace

Result<TruthSpec> parse_truth(std::string_view text) {
  if (text == kActivity) {
    return TruthSpec{.kind = TruthSpec::Kind::Activity};
  }
  if (text == kPairs) {
    return TruthSpec{};
  }
  if (text.starts_with(kPairs) && text.size() > kPairs.size() && text[kPairs.size()] == '*') {
    const auto factor = dataset::parse_number(std::string(text.substr(kPairs.size() + 1)));
    if (!factor || !std::isfinite(*factor) || *factor < 0.0) {
      return invalid_input(
          fmt::format("truth \"{}\": expected pairs*FACTOR as in pairs*1.4", text));
    }
    return TruthSpec{.contention = *factor};
  }
  if (!text.ends_with(".json")) {
    return invalid_input(fmt::format(
        "truth \"{}\": expected pairs, pairs*FACTOR, activity or NAME.model.json", text));
  }
  return TruthSpec{.kind = TruthSpec::Kind::Model, .model = std::string(text)};
}

Result<std::unique_ptr<InterferenceModel>> make_truth(const TruthSpec& spec,
                                                      const std::filesystem::path& folder,
                                                      const Trace& trace) {
  auto pairs = knowledge::PairTable::load(folder, spec.contention);
  if (!pairs) {
    return tl::unexpected(pairs.error());
  }
  for (const TraceJob& job : trace.jobs) {
    if (job.sm_active > 0.0) {
      (*pairs)->add_unmeasured(job.workload, job.sm_active);
    }
  }
  if (spec.kind == TruthSpec::Kind::Activity) {
    return activity_truth(**pairs, trace);
  }
  return std::unique_ptr<InterferenceModel>(std::move(*pairs));
}

}  // namespace carpool::simulate
