#include "measure/tables.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "measure/cell_tables.hpp"
#include "measure/solo.hpp"
#include "measure/table_text.hpp"
#include "profile/metric_names.hpp"

namespace carpool::measure {
namespace {

class TableMaker {
 public:
  TableMaker(const JournalContent& journal, const Plan& plan)
      : journal_(journal), plan_(plan), solo_(solo_runs(journal.measurements)) {
    // Workloads that the plan no longer names get no profile, and their groups no row.
    std::erase_if(solo_, [&plan](const auto& entry) {
      return std::ranges::find(plan.workloads, entry.first, &PlannedWorkload::name) ==
             plan.workloads.end();
    });
  }

  std::map<std::string, std::string> make() {
    choose_metrics();
    files_["profiles.csv"] = profiles();
    files_["dataset.toml"] = description();
    files_["cells.csv"] = cells_table(journal_.measurements, solo_);
    files_["failures.csv"] = failures_table(journal_.measurements);
    limited_runs();
    groups();
    return std::move(files_);
  }

 private:
  // A metric becomes a column only if every workload has a value: models need complete rows.
  void choose_metrics() {
    for (const ProfileMetric& metric : profile_metrics()) {
      const bool everywhere = std::ranges::all_of(solo_, [&](const auto& entry) {
        return std::ranges::all_of(
            entry.second, [&](const Measurement* run) { return metric.read(*run).has_value(); });
      });
      if (everywhere && !solo_.empty()) {
        metrics_.push_back(&metric);
      }
    }
  }

  [[nodiscard]] std::string profiles() const {
    std::string out = "workload,model,task,batch,exclusive_thr";
    for (const ProfileMetric* metric : metrics_) {
      out += fmt::format(",{}", metric->name);
    }
    out += '\n';
    for (const PlannedWorkload& workload : plan_.workloads) {
      const auto runs = solo_.find(workload.name);
      if (runs == solo_.end()) {
        continue;
      }
      out += fmt::format("{},{},{},{},{}",
                         workload.name,
                         quoted(workload.model),
                         quoted(workload.task),
                         digits(workload.batch),
                         digits(solo_speed(runs->second)));
      for (const ProfileMetric* metric : metrics_) {
        double sum = 0.0;
        for (const Measurement* run : runs->second) {
          sum += *metric->read(*run);
        }
        out += fmt::format(",{}", digits(sum / static_cast<double>(runs->second.size())));
      }
      out += '\n';
    }
    return out;
  }

  [[nodiscard]] std::string description() const {
    std::string out = fmt::format(
        "# Made by `carpool measure` from measurements.jsonl; made again with every run.\n"
        "gpu = {}\ndriver = {}\nthroughput_unit = {}\nprovenance = {}\n\n[metrics]\n",
        toml_text(journal_.origin.gpu),
        toml_text(journal_.origin.driver),
        toml_text(journal_.origin.throughput_unit),
        toml_text(plan_.provenance));
    for (const ProfileMetric* metric : metrics_) {
      const profile::KnownMetric* known = profile::find_metric(metric->name);
      out += fmt::format("{} = {{ combine = \"{}\", group = \"{}\" }}\n",
                         metric->name,
                         known->combine == dataset::Combine::Mean ? "mean" : "sum",
                         known->group);
    }
    return out;
  }

  void limited_runs() {
    std::string rows;
    for (const Measurement& run : journal_.measurements) {
      const MemberResult& member = run.members.front();
      const bool counts = run.mechanism == "mps" && run.members.size() == 1 && !run.failure &&
                          !member.low_priority && solo_.contains(member.workload);
      if (counts) {
        limited_ = limited_ || member.thread_percentage < 100.0;
        rows += fmt::format("{},{},{}\n",
                            member.workload,
                            digits(member.thread_percentage),
                            digits(member.throughput));
      }
    }
    if (limited_) {
      files_["exclusive_mps.csv"] = "workload,mps_pct,thr\n" + rows;
    }
  }

  void groups() {
    std::map<std::string, std::vector<const Measurement*>> tables;
    for (const Measurement& run : journal_.measurements) {
      const bool known = std::ranges::all_of(run.members, [this](const MemberResult& member) {
        return solo_.contains(member.workload);
      });
      if (!run.table.empty() && run.members.size() > 1 && !run.failure && known) {
        tables[run.table].push_back(&run);
      }
    }
    for (auto& [name, runs] : tables) {
      // An earlier version of the plan may have had groups of another size under this name.
      const std::size_t size = runs.back()->members.size();
      std::erase_if(runs, [size](const Measurement* run) { return run->members.size() != size; });
      files_[name + ".csv"] = group_table(runs);
    }
  }

  static std::string group_table(const std::vector<const Measurement*>& runs) {
    const std::size_t size = runs.front()->members.size();
    std::string out = "id";
    for (const std::string_view column : {"w", "thr", "pct", "p99_ms_"}) {
      for (std::size_t i = 1; i <= size; ++i) {
        out += fmt::format(",{}{}", column, i);
      }
    }
    out += ",repeat,mechanism,power_w,sm_active\n";
    std::size_t id = 0;
    for (const Measurement* run : runs) {
      out += fmt::format("{}", id++);
      for (const MemberResult& member : run->members) {
        out += fmt::format(",{}", member.workload);
      }
      for (const MemberResult& member : run->members) {
        out += fmt::format(",{}", digits(member.throughput));
      }
      for (const MemberResult& member : run->members) {
        out += fmt::format(",{}", digits(member.thread_percentage));
      }
      for (const MemberResult& member : run->members) {
        out += fmt::format(",{}", digits(member.steps.p99 * kMilliseconds));
      }
      out += fmt::format(",{},{},{},{}\n",
                         run->repeat,
                         run->mechanism,
                         digits(run->power_watts),
                         digits(run->activity.sm_active));
    }
    return out;
  }

  const JournalContent& journal_;
  const Plan& plan_;
  SoloRuns solo_;
  std::vector<const ProfileMetric*> metrics_;
  std::map<std::string, std::string> files_;
  bool limited_ = false;
};

}  // namespace

std::map<std::string, std::string> make_tables(const JournalContent& journal, const Plan& plan) {
  return TableMaker(journal, plan).make();
}

Result<void> write_tables(const std::filesystem::path& folder,
                          const JournalContent& journal,
                          const Plan& plan) {
  for (const auto& [name, content] : make_tables(journal, plan)) {
    if (auto written = write_file(folder / name, content); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace carpool::measure
