#include "simulate/validation.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "simulate/truth.hpp"

namespace carpool::simulate {
namespace {

constexpr double kExclusiveAllowed = 0.01;
constexpr double kOthersAllowed = 0.10;

struct Published {
  std::string_view policy;     // of aegis_results.csv
  std::string_view estimator;  // of aegis_results.csv
  std::string_view ours;       // as a ComparedPolicy
};
constexpr std::array kRows = {
    Published{"exclusive", "none", "exclusive@aegis:none"},
    Published{"rr", "estimator-free", "round-robin@aegis:none"},
    Published{"lug", "estimator-free", "lug@aegis:none"},
    Published{"magm", "estimator-free", "magm@aegis:none"},
    Published{"magm", "peakmem", "magm@aegis:told"},
    Published{"magm", "horus", "magm@aegis:horus"},
    Published{"magm", "faketensor", "magm@aegis:faketensor"},
    Published{"magm", "gpumemnet", "magm@aegis:gpumemnet"},
};
constexpr std::string_view kFittedOn = "peakmem";

Result<ValidationRow> published_row(const dataset::CsvTable& table, const Published& wanted) {
  ValidationRow row{.policy = std::string(wanted.policy),
                    .estimator = std::string(wanted.estimator),
                    .allowed = wanted.policy == "exclusive" ? kExclusiveAllowed : kOthersAllowed,
                    .fitted = wanted.estimator == kFittedOn};
  std::array<std::size_t, 4> key{};
  constexpr std::array kKey = {"gpu", "trace", "policy", "estimator"};
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto column = table.require(kKey.at(i));
    if (!column) {
      return tl::unexpected(column.error());
    }
    key.at(i) = *column;
  }
  for (const dataset::CsvRow& line : table.rows) {
    if (line.fields[key[0]] != "A100-40" || line.fields[key[1]] != "philly60" ||
        line.fields[key[2]] != wanted.policy || line.fields[key[3]] != wanted.estimator) {
      continue;
    }
    for (const auto& [name, value] : {std::pair("makespan_s", &row.published_makespan_s),
                                      std::pair("mean_jct_s", &row.published_jct_s),
                                      std::pair("p95_jct_s", &row.published_p95_s),
                                      std::pair("mean_exec_s", &row.published_execution_s),
                                      std::pair("failed_attempts", &row.published_out_of_memory)}) {
      const auto column = table.require(name);
      const auto number =
          column ? table.number(line, *column, "a number") : tl::unexpected(column.error());
      if (!number) {
        return tl::unexpected(number.error());
      }
      *value = *number;
    }
    if (const auto energy = table.find("energy_mj")) {
      row.published_energy_mj = dataset::parse_number(line.fields[*energy]);
    }
    return row;
  }
  return invalid_input(fmt::format(
      "{}: no row for A100-40, philly60, {}, {}", table.file, wanted.policy, wanted.estimator));
}

Result<std::vector<ComparisonRow>> run_ways(const Trace& trace,
                                            std::string_view cluster,
                                            const InterferenceModel& truth,
                                            const std::vector<std::string>& ways,
                                            const ComparisonSettings& settings,
                                            const std::function<void(const std::string&)>& each) {
  std::vector<ComparedPolicy> policies;
  for (const std::string& way : ways) {
    auto policy = parse_compared_policy(way, {});
    if (!policy) {
      return tl::unexpected(policy.error());
    }
    policies.push_back(std::move(*policy));
  }
  const auto gpus = parse_cluster(cluster);
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  return compare_policies(trace, *gpus, truth, policies, settings, each);
}

void fill_in(const ComparisonRow& ours, ValidationRow& row) {
  const auto of = [&](auto value) { return ours.of(value).value_or(Spread{}); };
  row.makespan_s = of([](const SimulationResult& r) { return r.makespan_s; });
  row.jct_s = of([](const SimulationResult& r) { return r.mean_jct_s; });
  row.p95_s = of([](const SimulationResult& r) { return r.p95_jct_s; });
  row.execution_s = of([](const SimulationResult& r) { return r.mean_execution_s; });
  row.out_of_memory =
      of([](const SimulationResult& r) { return static_cast<double>(r.out_of_memory); });
  row.energy_mj = of([](const SimulationResult& r) { return r.energy_mj; });
  row.recovery_s = ours.recovery_median_s();
}

Result<Validation> validate_philly(const std::filesystem::path& folder,
                                   double contention,
                                   const ComparisonSettings& settings,
                                   const std::function<void(const std::string&)>& progress) {
  const auto results = dataset::read_csv(folder / "aegis_results.csv");
  if (!results) {
    return tl::unexpected(results.error());
  }
  const auto trace = read_trace(folder / "aegis_philly60.csv");
  if (!trace) {
    return tl::unexpected(trace.error());
  }
  const auto truth = make_truth({.contention = contention}, folder, *trace);
  if (!truth) {
    return tl::unexpected(truth.error());
  }
  Validation made{.contention = contention};
  std::vector<std::string> ways;
  for (const Published& wanted : kRows) {
    auto row = published_row(*results, wanted);
    if (!row) {
      return tl::unexpected(row.error());
    }
    made.rows.push_back(std::move(*row));
    ways.emplace_back(wanted.ours);
  }
  const auto runs = run_ways(*trace, "3xA100-40", **truth, ways, settings, progress);
  if (!runs) {
    return tl::unexpected(runs.error());
  }
  for (std::size_t i = 0; i < runs->size(); ++i) {
    fill_in((*runs)[i], made.rows[i]);
  }
  return made;
}

}  // namespace

bool ValidationRow::met() const {
  return std::abs(makespan_difference()) <= allowed && std::abs(jct_difference()) <= allowed;
}

Result<Validation> validate_aegis(const std::filesystem::path& folder,
                                  double contention,
                                  std::uint64_t seed,
                                  std::size_t seeds,
                                  const std::function<void(const std::string&)>& progress) {
  const ComparisonSettings settings{.seed = seed, .seeds = seeds};
  auto made = validate_philly(folder, contention, settings, progress);
  if (!made) {
    return made;
  }
  const auto carma = read_trace(folder / "trace60.csv");
  if (!carma) {
    return tl::unexpected(carma.error());
  }
  const auto truth = make_truth({.contention = contention}, folder, *carma);
  if (!truth) {
    return tl::unexpected(truth.error());
  }
  const auto runs = run_ways(
      *carma, "4xA100-40", **truth, {"exclusive/fifo", "carma:gpumemnet"}, settings, progress);
  if (!runs) {
    return tl::unexpected(runs.error());
  }
  const auto makespan = [](const SimulationResult& r) { return r.makespan_s; };
  made->carma_ratio = (*runs)[1].of(makespan)->mean / (*runs)[0].of(makespan)->mean;
  return made;
}

}  // namespace carpool::simulate
