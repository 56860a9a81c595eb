#include "store/row_scan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "store/checksum.hpp"

namespace carpool::store {
namespace {

constexpr std::size_t kMostColumns = 5;
constexpr std::uint64_t kLargestRow = std::uint64_t{1} << 28U;

// A variable-length integer; empty: the bytes end before it does.
std::optional<std::uint64_t> read_varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int count = 0; count < 9 && at < bytes.size(); ++count) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    if (count == 8) {
      return (value << 8U) | byte;
    }
    value = (value << 7U) | (byte & 0x7FU);
    if ((byte & 0x80U) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

// The types that occur in the tables: NULL, whole numbers, text.
bool is_whole(std::uint64_t type) {
  return (type >= 1 && type <= 6) || type == 8 || type == 9;
}
bool is_text(std::uint64_t type) {
  return type >= 13 && type % 2 == 1;
}
std::uint64_t bytes_of_type(std::uint64_t type) {
  constexpr std::array<std::uint64_t, 7> kWhole = {0, 1, 2, 3, 4, 6, 8};
  return is_text(type) ? (type - 13) / 2 : type < kWhole.size() ? kWhole.at(type) : 0;
}

struct RowHead {
  std::uint64_t payload = 0;
  std::int64_t rowid = 0;
  std::size_t payload_at = 0;  // in the page
  std::size_t header = 0;      // bytes of the payload before the values
  std::size_t columns = 0;
  std::array<std::uint64_t, kMostColumns> types{};
};

// Column types of the tables that are looked for.
bool is_wanted(const RowHead& row) {
  const auto& type = row.types;
  const bool event = type[0] == 0 && is_whole(type[1]) && is_text(type[2]);
  switch (row.columns) {
    case 5:
      return event && (type[3] == 0 || is_text(type[3])) && is_whole(type[4]);
    case 3:
      return event || (type[0] == 0 && is_whole(type[1]) && is_whole(type[2])) ||
             (is_text(type[0]) && is_text(type[1]) && is_whole(type[2]));
    default:
      return false;
  }
}

// What begins at this place, if that may be a row.
std::optional<RowHead> row_head(std::string_view page, std::size_t at) {
  RowHead row;
  const auto payload = read_varint(page, at);
  if (!payload || *payload < 4 || *payload > kLargestRow) {
    return std::nullopt;
  }
  const auto rowid = read_varint(page, at);
  if (!rowid || static_cast<std::int64_t>(*rowid) < 1) {
    return std::nullopt;
  }
  row.payload = *payload;
  row.rowid = static_cast<std::int64_t>(*rowid);
  row.payload_at = at;
  const auto header = read_varint(page, at);
  if (!header || *header < 4 || *header > 1 + kMostColumns * 9) {
    return std::nullopt;
  }
  row.header = *header;
  std::uint64_t total = *header;
  while (at - row.payload_at < row.header) {
    const auto type = read_varint(page, at);
    if (!type || row.columns == kMostColumns) {
      return std::nullopt;
    }
    row.types.at(row.columns++) = *type;
    total += bytes_of_type(*type);
  }
  const bool fits = at - row.payload_at == row.header && total == row.payload;
  return fits && is_wanted(row) ? std::optional(row) : std::nullopt;
}

std::uint32_t page_number(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = (number << 8U) | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

// The whole payload: what is in the page, and its overflow pages. `oldest` chooses between versions
// of those. Empty: it is not all there.
std::optional<std::string> payload_of(const PageImages& images,
                                      std::string_view page,
                                      const RowHead& row,
                                      bool oldest) {
  const std::size_t usable = images.page_bytes();
  if (row.payload > images.all().size() * usable) {
    return std::nullopt;
  }
  const std::size_t most = usable - 35;
  const std::size_t least = (usable - 12) * 32 / 255 - 23;
  std::size_t local = row.payload;
  if (row.payload > most) {
    const std::size_t wanted = least + (row.payload - least) % (usable - 4);
    local = wanted <= most ? wanted : least;
  }
  const std::size_t next_at = row.payload_at + local;
  if (next_at + (local < row.payload ? 4 : 0) > page.size()) {
    return std::nullopt;
  }
  std::string payload(page.substr(row.payload_at, local));
  std::uint32_t next = local < row.payload ? page_number(page.substr(next_at, 4)) : 0;
  while (payload.size() < row.payload) {
    const auto versions = images.versions(next);
    if (versions.empty() || versions.front().size() < usable) {
      return std::nullopt;
    }
    const std::string_view overflow = oldest ? versions.back() : versions.front();
    next = page_number(overflow);
    payload += overflow.substr(4, std::min(usable - 4, row.payload - payload.size()));
  }
  return payload;
}

struct RowValues {
  std::array<std::int64_t, kMostColumns> whole{};
  std::array<std::string_view, kMostColumns> text{};
};

std::int64_t whole_value(std::uint64_t type, std::string_view bytes) {
  if (type == 8 || type == 9) {
    return static_cast<std::int64_t>(type - 8);
  }
  std::uint64_t value =
      !bytes.empty() && (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return static_cast<std::int64_t>(value);
}

RowValues values_of(const RowHead& row, std::string_view payload) {
  RowValues values;
  std::size_t at = row.header;
  for (std::size_t column = 0; column < row.columns; ++column) {
    const std::uint64_t type = row.types.at(column);
    const std::string_view bytes = payload.substr(at, bytes_of_type(type));
    at += bytes.size();
    if (is_text(type)) {
      values.text.at(column) = bytes;
    } else {
      values.whole.at(column) = whole_value(type, bytes);
    }
  }
  return values;
}

bool report_event(const RowHead& row,
                  const RowValues& values,
                  std::string_view identity,
                  const FoundRows& found) {
  FoundEvent event{.sequence = row.rowid, .job = values.whole[1], .body = values.text[2]};
  RowSum sum(identity, "events");
  sum.add(event.sequence).add(event.job).add(event.body);
  if (row.types[3] == 0) {
    sum.add_null();
  } else {
    event.environment = values.text[3];
    sum.add(values.text[3]);
  }
  if (sum.value() != values.whole[4]) {
    return false;
  }
  found.event(event);
  return true;
}

// True: it is a row of the journal.
bool report(const RowHead& row,
            const RowValues& values,
            std::string_view identity,
            const FoundRows& found) {
  if (row.columns == 5) {
    return report_event(row, values, identity, found);
  }
  if (is_text(row.types[0])) {
    const bool right =
        RowSum(identity, "environments").add(values.text[0]).add(values.text[1]).value() ==
        values.whole[2];
    if (right) {
      found.environment({.digest = values.text[0], .body = values.text[1]});
    }
    return right;
  }
  if (is_text(row.types[2])) {
    found.event_without_sum(
        {.sequence = row.rowid, .job = values.whole[1], .body = values.text[2]});
    return true;
  }
  const bool right =
      RowSum(identity, "gaps").add(row.rowid).add(values.whole[1]).value() == values.whole[2];
  if (right) {
    found.gap({.first = row.rowid, .last = values.whole[1]});
  }
  return right;
}

}  // namespace

void scan_rows(const PageImages& images, std::string_view identity, const FoundRows& found) {
  for (const std::string_view page : images.all()) {
    for (std::size_t at = 0; at < page.size(); ++at) {
      const auto row = row_head(page, at);
      if (!row) {
        continue;
      }
      for (const bool oldest : {false, true}) {
        const auto payload = payload_of(images, page, *row, oldest);
        if (payload && report(*row, values_of(*row, *payload), identity, found)) {
          break;
        }
      }
    }
  }
}

}  // namespace carpool::store
