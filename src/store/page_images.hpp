// The pages of a database file and of its write-ahead log (WAL) as bytes, without SQLite: SQLite
// ignores the rest of a log from the first damaged frame on, acknowledged transactions included.
// Formats: https://sqlite.org/fileformat2.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/mapped_file.hpp"
#include "base/result.hpp"

namespace carpool::store {

class PageImages {
 public:
  // Neither the file nor its log need exist. No connection of this process may have the file open:
  // closing it here would release the locks of that connection.
  [[nodiscard]] static Result<PageImages> read(const std::filesystem::path& file);

  [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }
  // Every version of every page: those of the file, then the frames of the log up to its last
  // commit, whether or not their checksums are right.
  [[nodiscard]] const std::vector<std::string_view>& all() const { return images_; }
  // Versions of one page, the latest first.
  [[nodiscard]] std::vector<std::string_view> versions(std::uint32_t page) const;
  // Damage that SQLite does not report: it leaves out acknowledged transactions, or opens the file
  // for reading only. Empty: none.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  PageImages() = default;
  void read_log();

  std::optional<MappedFile> file_;
  std::optional<MappedFile> log_;
  std::size_t page_bytes_ = 0;
  std::size_t file_pages_ = 0;
  std::vector<std::string_view> images_;
  std::multimap<std::uint32_t, std::string_view> frames_;
  std::string damage_;
};

}  // namespace carpool::store
