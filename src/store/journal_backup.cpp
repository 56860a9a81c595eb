#include "store/journal_backup.hpp"

#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "store/private_files.hpp"
#include "store/sqlite.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

// Names the content: identity and last event; empty: none.
std::string content_of(const std::filesystem::path& file) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing)) {
    return {};
  }
  const auto database = SqlDatabase::open(file, OpenMode::ReadOnly);
  return database ? database
                        ->text(
                            "SELECT identity || ' ' || (SELECT coalesce(max(sequence), 0) FROM "
                            "events) FROM journal")
                        .value_or("")
                  : std::string();
}

// A complete and durable copy under this name, which is free.
Result<void> write_copy(const std::filesystem::path& state, const std::filesystem::path& file) {
  auto made = open_private(file);
  if (!made) {
    return tl::unexpected(made.error());
  }
  Result<void> copied =
      SqlDatabase::open(journal_file(state), OpenMode::ReadOnly)
          .and_then([&](const SqlDatabase& journal) { return journal.copy_to(file); });
  if (copied && ::fsync(made->get()) != 0) {
    copied = fail(ErrorCode::Internal, fmt::format("{}: {}", file.string(), last_error()));
  }
  if (!copied) {
    ::unlink(file.c_str());
  }
  return copied;
}

}  // namespace

Result<bool> back_up(const std::filesystem::path& state) {
  const std::filesystem::path latest = backup_file(state);
  const std::string content = content_of(journal_file(state));
  if (!content.empty() && content == content_of(latest)) {
    return false;
  }
  const std::filesystem::path fresh = std::filesystem::path(latest) += ".new";
  ::unlink(fresh.c_str());
  if (auto copied = write_copy(state, fresh); !copied) {
    return tl::unexpected(copied.error());
  }
  (void)std::rename(latest.c_str(), older_backup_file(state).c_str());
  if (std::rename(fresh.c_str(), latest.c_str()) != 0) {
    return fail(ErrorCode::Internal, fmt::format("replace {}: {}", latest.string(), last_error()));
  }
  sync_folder(state);
  return true;
}

Result<void> back_up_to(const std::filesystem::path& state, const std::filesystem::path& file) {
  std::error_code missing;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, missing))) {
    return conflict(fmt::format("{} exists; it is not replaced", file.string()));
  }
  return write_copy(state, file);
}

}  // namespace carpool::store
