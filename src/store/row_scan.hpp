// Finds the rows of a journal in page images, wherever they are in a page and whichever page of a
// tree is damaged. A row counts if its checksum is right; rows of a journal that has no checksums
// yet count if they are events.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/job.hpp"
#include "store/page_images.hpp"

namespace carpool::store {

struct FoundEvent {
  std::int64_t sequence = 0;
  JobId job = 0;
  std::string_view body{};
  std::optional<std::string_view> environment{};
};
struct FoundEnvironment {
  std::string_view digest{};
  std::string_view body{};
};
struct FoundGap {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// The same row may be found several times.
struct FoundRows {
  std::function<void(const FoundEvent&)> event{};
  std::function<void(const FoundEvent&)> event_without_sum{};
  std::function<void(const FoundEnvironment&)> environment{};
  std::function<void(const FoundGap&)> gap{};
};

void scan_rows(const PageImages& images, std::string_view identity, const FoundRows& found);

}  // namespace carpool::store
