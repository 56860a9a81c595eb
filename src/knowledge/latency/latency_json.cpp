#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/strict_object.hpp"
#include "knowledge/beliefs_json.hpp"
#include "knowledge/number_reader.hpp"

namespace carpool::knowledge {
namespace {

using nlohmann::json;

json triple(const Believed& number) {
  return json::array({number.mean, number.variance, number.at_s});
}

void read_beside(const json* content,
                 std::span<const std::uint32_t> slots,
                 NumberReader& numbers,
                 LatencyMemory::Key& key) {
  if (content == nullptr || !content->is_array()) {
    numbers.problem("beside: not a list");
    return;
  }
  for (const json& neighbour : *content) {
    if (!neighbour.is_array() || neighbour.size() != 2 || !neighbour[1].is_boolean()) {
      numbers.problem("beside: not a list of neighbours");
      return;
    }
    key.beside.push_back(
        {.workload = numbers.workload(neighbour[0], slots), .gated = neighbour[1].get<bool>()});
  }
}

}  // namespace

json latency_list(const LatencyMemory& latencies, std::span<const std::uint32_t> places) {
  json made = json::array();
  for (const auto& [key, entry] : latencies.entries()) {
    json beside = json::array();
    for (const LatencyMemory::Neighbour& neighbour : key.beside) {
      beside.push_back(json::array({places[neighbour.workload], neighbour.gated}));
    }
    made.push_back({{"workload", places[key.workload]},
                    {"mps", key.mps},
                    {"beside", std::move(beside)},
                    {"quantile", entry.goal.quantile},
                    {"slo_ms", entry.goal.slo_ms},
                    {"requests", entry.requests},
                    {"p50", triple(entry.log_p50_ms)},
                    {"tail", triple(entry.log_tail_ms)},
                    {"rate", triple(entry.log_rate)},
                    {"service", triple(entry.log_service_ms)},
                    {"service_square", triple(entry.log_service_square_ms2)}});
  }
  return made;
}

Result<void> read_latency(const json& content,
                          std::span<const std::uint32_t> slots,
                          LatencyMemory& latencies) {
  if (content.is_object() && !content.contains("slo_ms")) {
    return {};  // of a version that did not tell groups with different SLOs apart: learned anew
  }
  StrictObject object(content, "latency");
  NumberReader numbers("latency");
  LatencyMemory::Key key;
  LatencyMemory::Entry entry;
  for (const char* name : {"workload", "mps", "quantile", "slo_ms", "requests"}) {
    object.require(name);
  }
  object.read("mps", key.mps);
  object.read("quantile", entry.goal.quantile);
  object.read("slo_ms", entry.goal.slo_ms);
  object.read("requests", entry.requests);
  const json* workload = object.member("workload");
  key.workload = workload == nullptr ? kNone : numbers.workload(*workload, slots);
  read_beside(object.member("beside"), slots, numbers, key);
  numbers.believed(object.member("p50"), entry.log_p50_ms);
  numbers.believed(object.member("tail"), entry.log_tail_ms);
  numbers.believed(object.member("rate"), entry.log_rate);
  numbers.believed(object.member("service"), entry.log_service_ms);
  numbers.believed(object.member("service_square"), entry.log_service_square_ms2);
  if (auto finished = object.finish(); !finished) {
    return finished;
  }
  if (!(entry.goal.quantile > 0.5 && entry.goal.quantile < 1.0 && entry.goal.slo_ms >= 0.0) ||
      !std::ranges::is_sorted(key.beside) || (key.mps && key.beside.empty())) {
    numbers.problem("a number is out of range, or the neighbours are not in order");
  }
  if (auto good = numbers.finish(); !good) {
    return good;
  }
  latencies.put(std::move(key), entry);
  return {};
}

}  // namespace carpool::knowledge
