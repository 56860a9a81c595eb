#include "simulate/trace/generator.hpp"

#include <gtest/gtest.h>

#include "base/statistics.hpp"

namespace carpool::simulate {
namespace {

const std::filesystem::path generator_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/carma-traces";

TEST(Generator, MakesDaysAndNightsAndAHeavyTail) {
  const auto trace =
      generate_philly(generator_folder, {.jobs = 20000, .days = 5.0, .seed = 1}).value();
  ASSERT_EQ(trace.jobs.size(), 20000);
  std::size_t afternoon = 0;
  std::size_t night = 0;
  std::vector<double> times;
  for (const TraceJob& job : trace.jobs) {
    const double hour = job.submit_s / 3600.0 -
                        24.0 * static_cast<double>(static_cast<long>(job.submit_s / 86400.0));
    afternoon += hour >= 12.0 && hour < 18.0 ? 1 : 0;
    night += hour >= 0.0 && hour < 6.0 ? 1 : 0;
    times.push_back(job.solo_s);
  }
  EXPECT_GT(afternoon, 2 * night);
  EXPECT_GT(quantile(times, 0.99), 30.0 * quantile(times, 0.5));
}

TEST(Generator, MakesTheSameTraceForTheSameSeed) {
  const auto one = generate_philly(generator_folder, {.jobs = 50, .seed = 4}).value();
  const auto two = generate_philly(generator_folder, {.jobs = 50, .seed = 4}).value();
  const auto other = generate_philly(generator_folder, {.jobs = 50, .seed = 5}).value();
  EXPECT_EQ(trace_csv(one), trace_csv(two));
  EXPECT_NE(trace_csv(one), trace_csv(other));
}

TEST(Generator, RefusesImpossibleSettings) {
  const auto refusal = [](const std::filesystem::path& folder, const GeneratorSettings& settings) {
    const auto trace = generate_philly(folder, settings);
    return trace ? std::string() : trace.error().message;
  };
  EXPECT_EQ(refusal(generator_folder, {.jobs = 0}), "0 jobs: must be 1 to 10000000");
  EXPECT_EQ(refusal(generator_folder, {.jobs = 5, .days = 0.0}),
            "0 days: must be above 0 and at most 3650");
  EXPECT_NE(refusal(generator_folder / "nowhere", {.jobs = 5}).find("aegis_philly60.csv"),
            std::string::npos);
}

}  // namespace
}  // namespace carpool::simulate
