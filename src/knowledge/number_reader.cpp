#include "knowledge/number_reader.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

using nlohmann::json;

void NumberReader::problem(std::string_view what) {
  if (problem_.empty()) {
    problem_ = fmt::format("{}: {}", where_, what);
  }
}

void NumberReader::believed(const json* list,
                            Believed& number,
                            std::size_t length,
                            std::size_t from) {
  if (list == nullptr) {
    problem("a number is missing");
    return;
  }
  if (!list->is_array() || list->size() != length) {
    problem("not a list of the expected length");
    return;
  }
  for (std::size_t i = from; i < from + 3; ++i) {
    if (!(*list)[i].is_number()) {
      problem("not a number");
      return;
    }
  }
  number = {.mean = (*list)[from].get<double>(),
            .variance = (*list)[from + 1].get<double>(),
            .at_s = (*list)[from + 2].get<double>()};
  constexpr double kMostMean = 100.0;
  constexpr double kMostVariance = 100.0;
  if (!(std::abs(number.mean) <= kMostMean && number.variance > 0.0 &&
        number.variance <= kMostVariance && std::isfinite(number.at_s))) {
    problem("a number is out of range");
  }
}

std::uint32_t NumberReader::workload(const json& place, std::span<const std::uint32_t> slots) {
  if (!place.is_number_unsigned() || place.get<std::uint64_t>() >= slots.size()) {
    problem("names a workload that is not listed");
    return kNone;
  }
  return slots[place.get<std::size_t>()];
}

Result<void> NumberReader::finish() const {
  return problem_.empty() ? Result<void>() : fail(ErrorCode::Corrupt, problem_);
}

}  // namespace carpool::knowledge
