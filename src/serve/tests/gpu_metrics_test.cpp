// Metrics of GPUs and of jobs on them, DCGM's names, and the page that lists every metric.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "core/job_names.hpp"
#include "serve/metrics/metrics.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

std::set<std::string> page_lines(const std::string& page) {
  std::set<std::string> lines;
  std::istringstream stream(page);
  for (std::string line; std::getline(stream, line);) {
    lines.insert(line);
  }
  return lines;
}

GpuReading full_reading() {
  return {.gpu = 0,
          .info = {.index = 3,
                   .uuid = "GPU-a",
                   .name = "Fake \"H200\"",
                   .driver = "580.1",
                   .pci_bus = "00000000:01:00.0",
                   .memory_bytes = 4U << 20U,
                   .power_limit_watts = 700.0},
          .sample = {.memory_used_bytes = 1U << 20U,
                     .gpu_utilisation = 0.5,
                     .memory_utilisation = 0.25,
                     .power_watts = 300.5,
                     .sm_clock_mhz = 1980.0,
                     .memory_clock_mhz = 3201.0,
                     .temperature_celsius = 61.0},
          .activity = GpuActivity{.sm_active = 0.5, .sm_occupancy = 0.25, .dram_active = 0.125},
          .energy = GpuEnergy{.joules = 12.5},
          .health = {.ecc_corrected = 2,
                     .ecc_uncorrected = 1,
                     .xid_errors = 4,
                     .last_xid = 79,
                     .throttle_reasons = std::vector<std::string>{"thermal"}}};
}

class GpuMetricsPage : public testing::Test {
 protected:
  [[nodiscard]] std::string text(const Caller& caller = caller_operator) const {
    return metrics_.text(*server_.scheduler, "1.2.3", caller);
  }
  void expect_lines(const std::vector<std::string>& expected) const {
    const auto page = page_lines(text());
    for (const std::string& line : expected) {
      EXPECT_TRUE(page.contains(line)) << line << "\n" << text();
    }
  }
  // Samples of a metric.
  [[nodiscard]] std::size_t count(const std::string& metric) const {
    std::size_t samples = 0;
    for (const std::string& line : page_lines(text())) {
      samples += line.starts_with(metric + "{") || line.starts_with(metric + " ") ? 1 : 0;
    }
    return samples;
  }

  schedule::StubServer server_{2};
  Metrics metrics_;
};

TEST_F(GpuMetricsPage, HasWhatTheDriverReportsInBaseUnits) {
  metrics_.gpus({full_reading()});
  expect_lines({(R"(carpool_gpu_info{gpu="0",uuid="GPU-a",model="Fake \"H200\"",driver="580.1",)"
                 R"(pci_bus="00000000:01:00.0"} 1)"),
                R"(carpool_gpu_power_watts{gpu="0"} 300.5)",
                R"(carpool_gpu_power_limit_watts{gpu="0"} 700)",
                R"(carpool_gpu_temperature_celsius{gpu="0"} 61)",
                R"(carpool_gpu_energy_joules_total{gpu="0"} 12.5)",
                R"(carpool_gpu_busy_ratio{gpu="0"} 0.5)",
                R"(carpool_gpu_sm_occupancy_ratio{gpu="0"} 0.25)",
                R"(carpool_gpu_dram_active_ratio{gpu="0"} 0.125)",
                R"(carpool_gpu_clock_hertz{gpu="0",clock="sm"} 1980000000)",
                R"(carpool_gpu_throttled{gpu="0",reason="thermal"} 1)",
                R"(carpool_gpu_throttled{gpu="0",reason="power-cap"} 0)",
                R"(carpool_gpu_ecc_errors_total{gpu="0",kind="corrected"} 2)",
                R"(carpool_gpu_ecc_errors_total{gpu="0",kind="uncorrected"} 1)",
                R"(carpool_gpu_xid_errors_total{gpu="0"} 4)",
                R"(carpool_gpu_last_xid{gpu="0"} 79)"});
  EXPECT_EQ(count("carpool_gpu_tensor_active_ratio"), 0U);
}

TEST_F(GpuMetricsPage, LeavesOutWhatIsNotReported) {
  metrics_.gpus({{.gpu = 1, .info = {.uuid = "GPU-b"}}});
  EXPECT_EQ(count("carpool_gpu_info"), 1U);
  for (const MetricInfo& metric : metric_list()) {
    const std::string name(metric.name);
    const std::set<std::string> known = {
        "carpool_gpu_info", "carpool_gpu_memory_bytes", "carpool_gpu_jobs", "carpool_gpu_usable"};
    if (name.starts_with("carpool_gpu_") && !known.contains(name)) {
      EXPECT_EQ(count(name), 0U) << name;
    }
  }
}

TEST_F(GpuMetricsPage, HasDcgmsNamesOnlyWhenAsked) {
  metrics_.gpus({full_reading()});
  EXPECT_EQ(text().find("DCGM_"), std::string::npos);
  metrics_.use_dcgm_names("node1");
  const std::string labels =
      R"({gpu="3",UUID="GPU-a",pci_bus_id="00000000:01:00.0",device="nvidia3",)"
      R"(modelName="Fake \"H200\"",Hostname="node1"} )";
  expect_lines({"DCGM_FI_DEV_GPU_UTIL" + labels + "50",
                "DCGM_FI_DEV_FB_USED" + labels + "1",
                "DCGM_FI_DEV_FB_FREE" + labels + "3",
                "DCGM_FI_DEV_POWER_USAGE" + labels + "300.5",
                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + labels + "12500",
                "DCGM_FI_DEV_XID_ERRORS" + labels + "79",
                "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" + labels + "1",
                "DCGM_FI_PROF_SM_ACTIVE" + labels + "0.5"});
  EXPECT_EQ(count("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), 0U);
}

TEST_F(GpuMetricsPage, TellsMemoryAndActivityOfJobs) {
  JobSpec spec = schedule::stub_job(2);
  spec.name = "a\"b\\c";
  const JobId job = server_.submit(spec, 0.0, caller_ann.uid);
  server_.step(0.0);
  server_.see({{job, 1}}, 1.0);
  GpuReading reading = full_reading();
  reading.jobs = {{.job = job, .sm_active = 0.75}, {.job = 99, .sm_active = 0.5}};
  metrics_.gpus({reading});
  expect_lines({fmt::format(R"(carpool_job_memory_bytes{{job_id="{}",gpu="0",kind="used"}} {})",
                            job,
                            schedule::kGiB),
                fmt::format(R"(carpool_job_sm_active_ratio{{job_id="{}",gpu="0"}} 0.75)", job),
                "carpool_jobs_without_series 0"});
  EXPECT_EQ(count("carpool_job_sm_active_ratio"), 1U);  // job 99 is not on a GPU
  const std::string named = R"re(name="a\"b\\c",user="u1000")re";
  EXPECT_NE(text(caller_operator).find(named), std::string::npos);
  EXPECT_NE(text(caller_ann).find(named), std::string::npos);
  EXPECT_NE(text(caller_bob).find(R"(name="",user="u1000")"), std::string::npos);
}

TEST_F(GpuMetricsPage, TellsTheEnergyOfRunningJobs) {
  const JobId job = server_.submit(schedule::stub_job(2));
  server_.step(0.0);
  EXPECT_EQ(count("carpool_job_energy_joules_total"), 0U);
  for (const double joules : {100.0, 350.0}) {
    server_.scheduler->observe(
        {.gpu = 0, .energy_joules = joules, .jobs = {{.job = job, .bytes = 1}}}, 1.0);
  }
  expect_lines({fmt::format(R"(carpool_job_energy_joules_total{{job_id="{}"}} 250)", job)});
}

TEST_F(GpuMetricsPage, HasSeriesOfABoundedNumberOfJobs) {
  schedule::StubServer large(6);
  JobSpec spec = schedule::stub_job(1);
  spec.mem_bytes = std::uint64_t{860} << 20U;  // 47 jobs on a GPU
  for (std::size_t i = 0; i < kMostJobSeries + 3; ++i) {
    large.submit(spec);
  }
  for (double now_s = 0.0; now_s < 5.0; now_s += 1.0) {
    large.step(now_s);
  }
  ASSERT_EQ(large.executor.running.size(), kMostJobSeries + 3);
  const std::string page = metrics_.text(*large.scheduler, "1.2.3", caller_operator);
  EXPECT_NE(page.find("\ncarpool_jobs_without_series 3\n"), std::string::npos);
  EXPECT_NE(page.find(fmt::format("carpool_job_info{{job_id=\"{}\"", kMostJobSeries)),
            std::string::npos);
  EXPECT_EQ(page.find(fmt::format("carpool_job_info{{job_id=\"{}\"", kMostJobSeries + 1)),
            std::string::npos);
}

TEST_F(GpuMetricsPage, CountsDecisionsByOutcomeAndConstraint) {
  server_.submit(schedule::stub_job(30));
  server_.submit(schedule::stub_job(30));
  const JobId waiting = server_.submit(schedule::stub_job(30));
  server_.step(0.0);
  ASSERT_TRUE(server_.scheduler->why_waiting(waiting).has_value());
  const std::string constraint(name_of(server_.scheduler->why_waiting(waiting)->constraint));
  metrics_.count({.sequence = 1, .job = 1, .at_s = 0.0, .what = JobStarted{}}, 0.0);
  expect_lines({R"(carpool_decisions_total{outcome="started",constraint="none"} 1)",
                fmt::format(R"(carpool_decisions_total{{outcome="deferred",constraint="{}"}} 1)",
                            constraint),
                fmt::format(R"(carpool_waiting_jobs{{constraint="{}"}} 1)", constraint)});
}

std::string unit_of(std::string name, std::string_view type) {
  if (type == "counter") {
    EXPECT_TRUE(name.ends_with("_total")) << name;
    name = name.substr(0, name.size() - std::string("_total").size());
  } else {
    EXPECT_FALSE(name.ends_with("_total")) << name;
  }
  for (const char* unit : {"bytes", "seconds", "joules", "watts", "celsius", "hertz", "ratio"}) {
    if (name.ends_with(std::string("_") + unit)) {
      return unit;
    }
  }
  return "";
}

// Counters end with _total, units are base units, and the rows of docs/metrics.md are exactly those
// of the tables.
TEST(MetricsDocument, ListsEveryMetricAndNoOther) {
  std::ifstream file(CARPOOL_SOURCE_DIR "/docs/metrics.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> documented;
  for (const std::string& line : page_lines(page)) {
    if (line.starts_with("| `carpool_") || line.starts_with("| `DCGM_")) {
      documented.insert(line);
    }
  }
  std::set<std::string> expected;
  const std::regex lower_case("carpool_[a-z_]+");
  for (const MetricInfo& metric : metric_list()) {
    const std::string name(metric.name);
    EXPECT_TRUE(std::regex_match(name, lower_case)) << name;
    // Prometheus keeps this label for summaries.
    EXPECT_EQ(std::ranges::count(metric.labels, "quantile") > 0, metric.type == "summary") << name;
    const std::string unit = unit_of(name, metric.type);
    expected.insert(fmt::format(
        "| `{}{}` | {} | {} | {} |",
        name,
        metric.labels.empty() ? "" : fmt::format("{{{}}}", fmt::join(metric.labels, ",")),
        metric.type,
        unit.empty() ? "–" : unit,
        metric.help));
  }
  for (const MetricInfo& metric : dcgm_metric_list()) {
    expected.insert(fmt::format("| `{}` | {} | {} |", metric.name, metric.type, metric.help));
  }
  EXPECT_EQ(documented, expected);
}

}  // namespace
}  // namespace carpool::serve
