#include "store/page_images.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "store/state_files.hpp"

namespace carpool::store {
namespace {

constexpr std::size_t kUsualPageBytes = 4096;
constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kLogMagic = 0x377f0682;  // the last bit: checksums of big-endian words

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::size_t valid_page_bytes(std::uint32_t bytes) {
  return bytes >= 512 && bytes <= 65536 && std::has_single_bit(bytes) ? bytes : 0;
}

std::size_t page_bytes_of(std::string_view file) {
  constexpr std::size_t kAt = 16;
  if (file.size() < kAt + 2) {
    return kUsualPageBytes;
  }
  const auto high = static_cast<unsigned char>(file[kAt]);
  const auto low = static_cast<unsigned char>(file[kAt + 1]);
  const std::uint32_t stored = (static_cast<std::uint32_t>(high) << 8U) | low;
  const std::size_t bytes = valid_page_bytes(stored == 1 ? 65536 : stored);
  return bytes == 0 ? kUsualPageBytes : bytes;
}

// Versions of the format that are needed to write and to read the file.
bool has_known_format(std::string_view file) {
  constexpr std::size_t kAt = 18;
  const auto known = [](char version) { return version == 1 || version == 2; };
  return file.size() < kAt + 2 || (known(file[kAt]) && known(file[kAt + 1]));
}

struct LogSum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  [[nodiscard]] bool operator==(const LogSum&) const = default;

  // Of pairs of words.
  void add(std::string_view bytes, bool big_endian_words) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint32_t one = big_endian(bytes, at);
      std::uint32_t two = big_endian(bytes, at + 4);
      if (!big_endian_words) {
        one = __builtin_bswap32(one);
        two = __builtin_bswap32(two);
      }
      first += one + second;
      second += two + first;
    }
  }
};

struct LogFrame {
  std::uint32_t page = 0;
  bool commit = false;
  std::string_view salts;
  std::string_view image;
  bool intact = false;  // by the checksum that the frame before it stores
};

struct LogHeader {
  bool intact = false;
  bool big_endian_words = false;
  std::size_t page_bytes = 0;
  std::string_view salts;
  LogSum sum;
};

LogHeader log_header(std::string_view log, std::size_t page_bytes_of_file) {
  LogHeader header;
  const std::uint32_t magic = big_endian(log, 0);
  header.big_endian_words = (magic & 1U) != 0;
  header.page_bytes = valid_page_bytes(big_endian(log, 8));
  header.salts = log.substr(16, 8);
  LogSum sum;
  sum.add(log.substr(0, 24), header.big_endian_words);
  header.sum = {big_endian(log, 24), big_endian(log, 28)};
  header.intact = (magic & ~1U) == kLogMagic && header.page_bytes != 0 && sum == header.sum;
  if (!header.intact) {
    header.page_bytes = page_bytes_of_file;
    header.big_endian_words = false;
    header.salts = log.size() >= kLogHeaderBytes + kFrameHeaderBytes
                       ? log.substr(kLogHeaderBytes + 8, 8)
                       : std::string_view();
  }
  return header;
}

std::vector<LogFrame> log_frames(std::string_view log, const LogHeader& header) {
  std::vector<LogFrame> frames;
  const std::size_t step = kFrameHeaderBytes + header.page_bytes;
  LogSum before = header.sum;
  for (std::size_t at = kLogHeaderBytes; at + step <= log.size(); at += step) {
    LogFrame frame{.page = big_endian(log, at),
                   .commit = big_endian(log, at + 4) != 0,
                   .salts = log.substr(at + 8, 8),
                   .image = log.substr(at + kFrameHeaderBytes, header.page_bytes)};
    const LogSum stored{big_endian(log, at + 16), big_endian(log, at + 20)};
    LogSum sum = before;
    sum.add(log.substr(at, 8), header.big_endian_words);
    sum.add(frame.image, header.big_endian_words);
    frame.intact = frame.salts == header.salts && sum == stored;
    before = stored;
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace

Result<PageImages> PageImages::read(const std::filesystem::path& file) {
  PageImages images;
  for (auto* part : {&images.file_, &images.log_}) {
    auto mapped = MappedFile::open(part == &images.file_ ? file : wal_of(file));
    if (mapped) {
      part->emplace(std::move(*mapped));
    } else if (mapped.error().code != ErrorCode::NotFound) {
      return tl::unexpected(mapped.error());
    }
  }
  const std::string_view bytes = images.file_ ? images.file_->bytes() : std::string_view();
  images.page_bytes_ = page_bytes_of(bytes);
  for (std::size_t at = 0; at < bytes.size(); at += images.page_bytes_) {
    images.images_.push_back(bytes.substr(at, images.page_bytes_));
  }
  images.file_pages_ = images.images_.size();
  if (!has_known_format(bytes)) {
    images.damage_ = "the header of the file is damaged";
  }
  images.read_log();
  return images;
}

void PageImages::read_log() {
  const std::string_view log = log_ ? log_->bytes() : std::string_view();
  if (log.size() < kLogHeaderBytes + kFrameHeaderBytes) {
    return;  // nothing was ever committed to it
  }
  const LogHeader header = log_header(log, page_bytes_);
  const std::vector<LogFrame> frames = log_frames(log, header);
  const auto first_bad =
      std::ranges::find_if(frames, [](const LogFrame& frame) { return !frame.intact; });
  const auto commits_after = std::count_if(
      first_bad, frames.end(), [](const LogFrame& frame) { return frame.intact && frame.commit; });
  if (!header.intact && !header.salts.empty() && big_endian(header.salts, 0) != 0) {
    damage_ = "the header of the write-ahead log is damaged";
  } else if (header.intact && commits_after > 1) {
    // One commit behind a bad frame may be a transaction that a power failure tore, and which was
    // not acknowledged. Each was on disk before the next began: two show damage.
    damage_ = fmt::format("frame {} of the write-ahead log is damaged",
                          std::distance(frames.begin(), first_bad) + 1);
  }
  std::size_t committed = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].commit && frames[i].salts == header.salts) {
      committed = i + 1;
    }
  }
  for (std::size_t i = 0; i < committed; ++i) {
    images_.push_back(frames[i].image);
    frames_.emplace(frames[i].page, frames[i].image);
  }
}

std::vector<std::string_view> PageImages::versions(std::uint32_t page) const {
  std::vector<std::string_view> found;
  const auto [begin, end] = frames_.equal_range(page);
  for (auto frame = begin; frame != end; ++frame) {
    found.insert(found.begin(), frame->second);
  }
  if (page >= 1 && page <= file_pages_) {
    found.push_back(images_[page - 1]);
  }
  return found;
}

}  // namespace carpool::store
