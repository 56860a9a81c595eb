// What the law says of services that were measured on an H200, in every recorded cell of the
// default gate: data/results/slo, written by bench/slo/run.
#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "knowledge/latency/latency_law.hpp"

namespace carpool::knowledge {
namespace {

using nlohmann::json;

struct Cell {
  std::string name{};
  double predicted_ms = 0.0;
  double measured_ms = 0.0;
};

// Nothing is known of the kernels of a job that was never profiled.
Cell cell_of(const json& block, const json& row) {
  const double before = block.at("alone").at(0).at("p99_ms");
  const double after = block.at("alone_after").at(0).at("p99_ms");
  const SoloLatency solo{.tail_ms = (before + after) / 2.0, .requests_per_s = row.at("rate")};
  const Hindrance by{.first_ms = gate_front_ms(row.at("slo_ms"), std::nullopt)};
  return {.name = row.at("service").get<std::string>() + " beside " +
                  row.at("trainer").get<std::string>() + ", " + row.at("way").get<std::string>(),
          .predicted_ms = hindered(solo, by).tail_ms,
          .measured_ms = row.at("p99_ms")};
}

// Services as CUDA graphs: the p99 alone of one that its host limits differs by half from timing to
// timing.
std::vector<Cell> cells_of(const std::string& file) {
  std::vector<Cell> made;
  const json run = json::parse(*read_file(CARPOOL_SOURCE_DIR "/data/results/slo/" + file));
  for (const json& block : run.at("blocks")) {
    for (const json& row : block.at("rows")) {
      const std::string way = row.at("way");
      if (row.at("service").get<std::string>().ends_with(".graph") &&
          (way == "gate@2x" || way == "gate-time@2x")) {
        made.push_back(cell_of(block, row));
      }
    }
  }
  return made;
}

TEST(LatencyData, ThePredictedTailIsWithinAQuarterOfTheMeasuredOne) {
  std::size_t count = 0;
  double sum = 0.0;
  for (const char* file : {"2026-11-18-h200-bert-base-encoder-decoder-10a31970.json",
                           "2026-11-18-h200-bert-large-10a31970.json",
                           "2026-11-18-h200-encoder-decoder-seeds-10a31970.json",
                           "2026-11-18-h200-encoder-decoder-peers-10a31970.json",
                           "2026-11-18-h200-bert-base-peers-11af4a40.json",
                           "2026-11-18-h200-light-trainers-9ddea832.json"}) {
    for (const Cell& cell : cells_of(file)) {
      EXPECT_NEAR(cell.predicted_ms / cell.measured_ms, 1.0, 0.25) << file << ": " << cell.name;
      sum += std::abs(cell.predicted_ms / cell.measured_ms - 1.0);
      ++count;
    }
  }
  EXPECT_EQ(count, 30U);
  EXPECT_LT(sum / static_cast<double>(count), 0.08);
}

}  // namespace
}  // namespace carpool::knowledge
