// Reads the lists of numbers in the file of beliefs; the first problem is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "knowledge/believed.hpp"

namespace carpool::knowledge {

class NumberReader {
 public:
  // `where`: for messages.
  explicit NumberReader(std::string where) : where_(std::move(where)) {}

  void problem(std::string_view what);
  // Mean, variance and time in a list of this length, from this place on.
  void believed(const nlohmann::json* list,
                Believed& number,
                std::size_t length = 3,
                std::size_t from = 0);
  // The number of the workload that stands at this place of the list of the user.
  [[nodiscard]] std::uint32_t workload(const nlohmann::json& place,
                                       std::span<const std::uint32_t> slots);

  [[nodiscard]] Result<void> finish() const;

 private:
  std::string where_;
  std::string problem_;
};

}  // namespace carpool::knowledge
