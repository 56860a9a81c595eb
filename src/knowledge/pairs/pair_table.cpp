#include "knowledge/pairs/pair_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/workload_identity.hpp"
#include "knowledge/activity_interference.hpp"
#include "knowledge/pairs/pair_table_reader.hpp"

namespace carpool::knowledge {
namespace {

class BoundPairTable final : public BoundInterference {
 public:
  BoundPairTable(const PairTable& table, std::span<const std::string> names) : table_(table) {
    workloads_.reserve(names.size());
    for (const std::string& name : names) {
      workloads_.push_back(table.find(name));
    }
  }

  void add(const std::string& workload) override { workloads_.push_back(table_.find(workload)); }

  void progress(std::span<const std::uint32_t> group, std::span<double> out) override {
    for (std::size_t i = 0; i < group.size(); ++i) {
      double cost = 0.0;
      for (std::size_t j = 0; j < group.size(); ++j) {
        if (j != i) {
          cost += table_.cost(workloads_[group[i]], workloads_[group[j]]);
        }
      }
      out[i] = 1.0 / (1.0 + cost);
    }
  }

 private:
  const PairTable& table_;
  std::vector<PairTable::Workload> workloads_;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string pair_name(std::string_view workload) {
  std::string name;
  while (!workload.empty()) {
    const std::size_t end = std::min(workload.find('_'), workload.size());
    const std::string_view word = workload.substr(0, end);
    workload.remove_prefix(std::min(end + 1, workload.size()));
    const bool epochs = word.ends_with('e') && is_number(word.substr(0, word.size() - 1));
    const bool gpus = word.ends_with("gpu") && is_number(word.substr(0, word.size() - 3));
    if (!epochs && !gpus && word != "wiki") {
      name += name.empty() ? "" : "_";
      name += word;
    }
  }
  return name;
}

Result<std::unique_ptr<PairTable>> PairTable::load(const std::filesystem::path& folder,
                                                   double contention) {
  if (!(std::isfinite(contention) && contention >= 0.0)) {
    return invalid_input(fmt::format("contention {}: must be 0 or more", contention));
  }
  const auto files = read_pair_files(folder);
  if (!files) {
    return tl::unexpected(files.error());
  }
  auto table = std::unique_ptr<PairTable>(new PairTable());
  table->contention_ = contention;
  table->measured_pairs_ = files->costs.size() / 2;
  table->measured_names_ = files->measured.size();
  table->measured_.assign(files->measured.size() * files->measured.size(),
                          std::numeric_limits<double>::quiet_NaN());
  std::vector<double> activity;
  for (const std::string& name : files->measured) {
    activity.push_back(files->activity_of(name));
  }
  table->effects_ = fit_pair_effects(files->costs, activity);
  for (const PairCost& cost : files->costs) {
    table->measured_[cost.slowed * files->measured.size() + cost.by] = cost.cost;
  }
  for (const auto& known : files->workloads) {
    Workload workload = table->unmeasured(known.sm_active);
    if (const auto kin = files->kin_of(known)) {
      // Another batch size of a measured model: its effects, scaled by the activity and by the mean
      // slowdown over all pairs.
      workload.pressure =
          table->effects_.pressure[kin->index] *
          std::pow(known.sm_active / activity[kin->index], table->effects_.exponent);
      workload.sensitivity = table->effects_.sensitivity[kin->index] * kin->sensitivity_ratio;
      workload.measured = kin->same ? static_cast<std::uint32_t>(kin->index) : kNotMeasured;
    }
    for (const std::string& name : known.names) {
      table->workloads_.insert_or_assign(name, workload);
    }
  }
  return table;
}

PairTable::Workload PairTable::find(const std::string& name) const {
  const auto found = workloads_.find(workload_name(name));
  if (found != workloads_.end()) {
    return found->second;
  }
  return unmeasured(kUnknownActivity);
}

PairTable::Workload PairTable::unmeasured(double sm_active) const {
  return {.sm_active = sm_active,
          .pressure = effects_.pressure_by_activity(sm_active),
          .sensitivity = effects_.usual_sensitivity};
}

void PairTable::add_unmeasured(const std::string& workload, double sm_active) {
  workloads_.try_emplace(std::string(workload_name(workload)), unmeasured(sm_active));
}

double PairTable::cost(const Workload& slowed, const Workload& by) const {
  if (slowed.measured != kNotMeasured && by.measured != kNotMeasured) {
    const double measured = measured_[slowed.measured * measured_names_ + by.measured];
    if (!std::isnan(measured)) {
      return contention_ * measured;
    }
  }
  return contention_ * by.pressure * slowed.sensitivity;
}

std::vector<double> PairTable::progress(std::span<const InterferenceMember> group) const {
  std::vector<std::string> names;
  std::vector<std::uint32_t> members;
  for (const InterferenceMember& member : group) {
    members.push_back(static_cast<std::uint32_t>(names.size()));
    names.push_back(member.workload);
  }
  std::vector<double> out(group.size(), 1.0);
  BoundPairTable(*this, names).progress(members, out);
  return out;
}

std::optional<double> PairTable::sm_active(const std::string& workload) const {
  const auto found = workloads_.find(workload_name(workload));
  return found == workloads_.end() ? std::nullopt : std::optional(found->second.sm_active);
}

bool PairTable::knows(const std::string& workload) const {
  return workloads_.contains(workload_name(workload));
}

std::unique_ptr<BoundInterference> PairTable::bind(std::span<const std::string> workloads) const {
  return std::make_unique<BoundPairTable>(*this, workloads);
}

}  // namespace carpool::knowledge
