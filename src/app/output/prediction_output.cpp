#include "app/output/prediction_output.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::app {
namespace {

using nlohmann::json;

std::string range(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{} to {}", number(interval->low), number(interval->high)) : "-";
}

}  // namespace

json interval_to_json(const std::optional<Interval>& interval) {
  return interval ? json::array({interval->low, interval->high}) : json(nullptr);
}

json prediction_to_json(const Prediction& prediction) {
  json out = {{"members", json::array()},
              {"sum", nullptr},
              {"sum_interval90", interval_to_json(prediction.sum90)},
              {"normalized_sum", nullptr}};
  if (prediction.sum) {
    out["sum"] = *prediction.sum;
  }
  if (prediction.normalized_sum) {
    out["normalized_sum"] = *prediction.normalized_sum;
  }
  for (const MemberPrediction& member : prediction.members) {
    out["members"].push_back({{"workload", member.workload},
                              {"thread_limit", member.thread_limit},
                              {"alone", member.alone},
                              {"together", member.together},
                              {"together_interval90", interval_to_json(member.together90)},
                              {"slowdown", member.slowdown},
                              {"slowdown_interval90", interval_to_json(member.slowdown90)},
                              {"progress", member.progress},
                              {"extrapolated", member.extrapolated}});
  }
  return out;
}

void print_prediction(const Prediction& prediction, const std::string& unit, const Output& output) {
  TextTable table(output.colour());
  table.add_column("workload", TextTable::Align::Left);
  table.add_column("limit [%]", TextTable::Align::Right);
  table.add_column(fmt::format("solo, estimated [{}]", unit), TextTable::Align::Right);
  table.add_column(fmt::format("together [{}]", unit), TextTable::Align::Right);
  table.add_column("90 % interval", TextTable::Align::Right);
  table.add_column("slowdown [x]", TextTable::Align::Right);
  table.add_column("90 % interval", TextTable::Align::Right);
  table.add_column("solo speed [%]", TextTable::Align::Right);
  for (const MemberPrediction& member : prediction.members) {
    table.add_row({member.workload + (member.extrapolated ? " (!)" : ""),
                   number(member.thread_limit),
                   number(member.alone),
                   number(member.together),
                   range(member.together90),
                   number(member.slowdown),
                   range(member.slowdown90),
                   percent(member.progress)});
  }
  table.add_row({"all together",
                 "",
                 "",
                 prediction.sum ? number(*prediction.sum) : "-",
                 range(prediction.sum90),
                 "",
                 "",
                 percent(prediction.normalized_sum)});
  output.print(table.render());
  if (std::any_of(prediction.members.begin(), prediction.members.end(), [](const auto& member) {
        return member.extrapolated;
      })) {
    output.remark(
        "(!) unlike every workload in the training data: the prediction is less reliable");
  }
}

}  // namespace carpool::app
