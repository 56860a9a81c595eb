#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "profile/ncu/ncu_csv.hpp"
#include "profile/ncu/ncu_run.hpp"
#include "profile/ncu/ncu_units.hpp"

namespace carpool::profile {
namespace {

constexpr const char* kRaw =
    "==PROF== Connected to process 4711 (/usr/bin/python3.11)\n"
    "loss 0.5\n"
    "==PROF== Profiling \"_Z4gemmPf\" - 0: 0%....50%....100% - 9 passes\n"
    "==PROF== Disconnected from process 4711\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\","
    "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\",\"gpu__time_duration.sum\","
    "\"launch__registers_per_thread\",\"launch__shared_mem_per_block_static\","
    "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"%\",\"us\",\"register/thread\","
    "\"Kbyte/block\",\"%\"\n"
    "\"0\",\"4711\",\"python3.11\",\"127.0.0.1\",\"_Z4gemmPf\",\"1\",\"7\",\"(256, 1, 1)\","
    "\"(100, 2, 1)\",\"0\",\"9.0\",\"20.00\",\"3,000.00\",\"64\",\"2.00\",\"80.00\"\n"
    "\"1\",\"4711\",\"python3.11\",\"127.0.0.1\",\"small\",\"1\",\"7\",\"(32, 1, 1)\","
    "\"(1, 1, 1)\",\"0\",\"9.0\",\"60.00\",\"1,000.00\",\"16\",\"0\",\"10.00\"\n";

std::string detail(const char* id,
                   const char* kernel,
                   const char* section,
                   const char* name,
                   const char* unit,
                   const char* value) {
  std::string row = "\"";
  for (const char* field : {id,
                            "4711",
                            "python3",
                            "127.0.0.1",
                            kernel,
                            "1",
                            "7",
                            "(256, 1, 1)",
                            "(100, 2, 1)",
                            "0",
                            "9.0",
                            section,
                            name,
                            unit}) {
    row += std::string(field) + "\",\"";
  }
  return row + value + "\",\"\",\"\",\"\",\"\",\"\"\n";
}

std::string details() {
  const char* const light = "GPU Speed Of Light Throughput";
  return "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\","
         "\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric "
         "Name\","
         "\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\","
         "\"Estimated Speedup Type\",\"Estimated Speedup\"\n" +
         detail("0", "gemm", light, "Duration", "ms", "1.50") +
         detail("0", "gemm", light, "Memory Throughput", "%", "33.00") +
         detail("0", "gemm", "Memory Workload Analysis", "Memory Throughput", "Gbyte/s", "811.2") +
         detail("0", "gemm", light, "", "", "") +
         detail("0",
                "gemm",
                "Launch Statistics",
                "Static Shared Memory Per Block",
                "byte/block",
                "512") +
         detail("1", "copy", light, "Duration", "us", "500.00") +
         detail("1", "copy", light, "Memory Throughput", "%", "93.00");
}

TEST(NcuCsv, ReadsARawPageWithItsUnits) {
  const auto launches = parse_ncu_csv(kRaw, "a.csv");
  ASSERT_TRUE(launches.has_value()) << launches.error().message;
  ASSERT_EQ(launches->size(), 2U);
  const NcuLaunch& first = launches->front();
  EXPECT_EQ(first.kernel, "_Z4gemmPf");
  EXPECT_EQ(first.grid, (std::array<std::uint32_t, 3>{100, 2, 1}));
  EXPECT_NEAR(*first.seconds, 3e-3, 1e-12);
  EXPECT_EQ(first.static_shared_bytes, 2000.0);
  EXPECT_FALSE(first.mem_throughput_pct.has_value());
}

TEST(NcuCsv, ReadsADetailsPageByItsSections) {
  const auto launches = parse_ncu_csv(details(), "a.csv");
  ASSERT_TRUE(launches.has_value()) << launches.error().message;
  ASSERT_EQ(launches->size(), 2U);
  EXPECT_NEAR(*launches->front().seconds, 1.5e-3, 1e-12);
  EXPECT_EQ(launches->front().mem_throughput_pct, 33.0);
  EXPECT_EQ(launches->front().static_shared_bytes, 512.0);
  // 1.5 ms and 0.5 ms; without units the weights would be 1.5 and 500.
  EXPECT_NEAR(ncu_metrics(*launches, nullptr).at("mem_throughput_pct"), 48.0, 1e-9);
}

TEST(NcuCsv, WeighsLaunchesByTheirTime) {
  const auto launches = parse_ncu_csv(kRaw, "a.csv");
  ASSERT_TRUE(launches.has_value());
  const Metrics metrics = ncu_metrics(*launches, nullptr);
  EXPECT_NEAR(metrics.at("dram_throughput_pct"), 30.0, 1e-9);
  EXPECT_NEAR(metrics.at("sm_throughput_pct"), 62.5, 1e-9);
  EXPECT_NEAR(metrics.at("threads"), 0.75 * 200 * 256 + 0.25 * 32, 1e-9);
  EXPECT_NEAR(metrics.at("static_smem"), 0.75 * 200 * 2000, 1e-9);
  EXPECT_FALSE(metrics.contains("mem_throughput_pct"));
}

TEST(NcuCsv, WithAKernelTableEachStandsForItsKernel) {
  const auto launches = parse_ncu_csv(kRaw, "a.csv");
  ASSERT_TRUE(launches.has_value());
  KernelTable table;
  table.rows.resize(2);
  table.rows[0].symbol = "small";
  table.rows[0].facts.grid = {1, 1, 1};
  table.rows[0].facts.block = {32, 1, 1};
  table.rows[0].seconds = 9.0;
  table.rows[1].symbol = "_Z4gemmPf";
  table.rows[1].facts.grid = {100, 2, 1};
  table.rows[1].facts.block = {256, 1, 1};
  table.rows[1].seconds = 1.0;
  EXPECT_NEAR(ncu_metrics(*launches, &table).at("dram_throughput_pct"), 56.0, 1e-9);
}

TEST(NcuCsv, ErrorsNameFileLineAndColumn) {
  std::string text = kRaw;
  text.replace(text.find("3,000.00"), 8, "long");
  const auto wrong = parse_ncu_csv(text, "a.csv");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message,
            "a.csv:7: column gpu__time_duration.sum: \"long\" is not a number");
  text = kRaw;
  text.replace(text.find("\"us\""), 4, "\"fortnights\"");
  const auto unit = parse_ncu_csv(text, "a.csv");
  ASSERT_FALSE(unit.has_value());
  EXPECT_NE(unit.error().message.find("unknown unit \"fortnights\""), std::string::npos);
  EXPECT_NE(parse_ncu_csv("nothing\n", "a.csv").error().message.find("no table"),
            std::string::npos);
}

TEST(NcuUnits, AreScaledToBaseUnits) {
  EXPECT_EQ(ncu_unit_scale("ns"), 1e-9);
  EXPECT_EQ(ncu_unit_scale("usecond"), 1e-6);
  EXPECT_EQ(ncu_unit_scale("ms"), 1e-3);
  EXPECT_EQ(ncu_unit_scale("second"), 1.0);
  EXPECT_EQ(ncu_unit_scale("s"), 1.0);
  EXPECT_EQ(ncu_unit_scale("Kbyte/block"), 1e3);
  EXPECT_EQ(ncu_unit_scale("Mbyte"), 1e6);
  EXPECT_EQ(ncu_unit_scale("%"), 1.0);
  EXPECT_EQ(ncu_unit_scale(""), 1.0);
  EXPECT_EQ(ncu_unit_scale("register/thread"), 1.0);
  EXPECT_FALSE(ncu_unit_scale("parsec").has_value());
  EXPECT_EQ(parse_ncu_number("1,234,567.5"), 1234567.5);
  EXPECT_FALSE(parse_ncu_number("n/a").has_value());
}

TEST(NcuCommand, AsksForOneLaunchOfEachConfigurationAndChangesNothing) {
  const auto words = ncu_command({.program = "ncu",
                                  .command = {"python3", "train.py", "--epochs", "3"},
                                  .folder = "here",
                                  .symbols = {"_Z4gemmPf", "a.b$c"}});
  const auto value_of = [&](const char* option) {
    const auto found = std::find(words.begin(), words.end(), option);
    return found == words.end() || found + 1 == words.end() ? std::string() : *(found + 1);
  };
  EXPECT_EQ(words.front(), "ncu");
  EXPECT_EQ(value_of("--filter-mode"), "per-launch-config");
  EXPECT_EQ(value_of("--launch-count"), "1");
  EXPECT_EQ(value_of("--cache-control"), "none");
  EXPECT_EQ(value_of("--clock-control"), "none");
  EXPECT_EQ(value_of("--log-file"), "here/ncu.log");
  EXPECT_EQ(value_of("--export"), "here/kernels.ncu-rep");
  EXPECT_EQ(std::ranges::count(words, "--csv"), 0);  // with it ncu shows no progress
  EXPECT_EQ(value_of("--kernel-name"), "regex:^(_Z4gemmPf|a\\.b\\$c)$");
  const std::vector<std::string> last(words.end() - 4, words.end());
  EXPECT_EQ(last, (std::vector<std::string>{"python3", "train.py", "--epochs", "3"}));
}

TEST(NcuCommand, TooManyNamesAreNoFilter) {
  NcuRequest request{.command = {"a"}};
  EXPECT_EQ(std::ranges::count(ncu_command(request), "--kernel-name"), 0);
  request.symbols.assign(2000, std::string(100, 'k'));
  EXPECT_EQ(std::ranges::count(ncu_command(request), "--kernel-name"), 0);
}

TEST(NcuCommand, KernelsOfNextToNoTimeAreLeftOut) {
  KernelTable table;
  for (const double share : {0.6, 0.39, 0.01}) {
    table.rows.push_back({.name = "", .symbol = std::to_string(share), .share = share});
  }
  EXPECT_EQ(symbols_of(table, 0.98).size(), 2U);
  EXPECT_EQ(symbols_of(table, 1.0).size(), 3U);
}

}  // namespace
}  // namespace carpool::profile
