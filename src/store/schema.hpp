// The tables of the journal and their migrations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

inline constexpr std::size_t kSchemaVersion = 2;  // that this program writes
inline constexpr std::size_t kVersionOfSums = 2;  // the first with an identity and checksums

// Tables whose column `sum` is row_sum(name, columns).
struct SummedTable {
  std::string_view name;
  std::string_view key;  // names a row in a message
  std::string_view columns;
};
inline constexpr std::array kSummedTables = {
    SummedTable{"events", "sequence", "sequence, job, body, environment"},
    SummedTable{"environments", "digest", "digest, body"},
    SummedTable{"gaps", "first", "first, last"},
    SummedTable{"jobs",
                "id",
                "id, uid, user, name, workload, submitted_s, started_s, progress, ended_s, end, "
                "reason"},
    SummedTable{"runs", "job", "job, attempt, workload, ended_s, end, run_s, progress, peak_bytes"},
};

// Unsupported: the database belongs to another program.
[[nodiscard]] Result<void> refuse_others(const SqlDatabase& database, const std::string& file);
// The error for a version above kSchemaVersion.
[[nodiscard]] Error newer_version(const std::string& file, std::int64_t version);
// 0: a new file.
[[nodiscard]] Result<std::int64_t> schema_version(const SqlDatabase& database);
// Definitions of tables and indexes, as they are and as a version has them.
[[nodiscard]] Result<std::string> schema_text(const SqlDatabase& database);
[[nodiscard]] Result<std::string> expected_schema(std::int64_t version);

// Creates the tables, or migrates those of an older version. `identity` is that of a journal that
// has none yet. Files of other programs and newer versions are refused and not changed.
[[nodiscard]] Result<void> migrate(SqlDatabase& database,
                                   const std::string& file,
                                   const std::string& identity,
                                   std::size_t to_version = kSchemaVersion);

}  // namespace carpool::store
