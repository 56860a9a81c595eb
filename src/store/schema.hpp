// The tables of the job database, and migrations of older files.
#pragma once

#include "base/result.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

// Migrates a new or older file in one transaction. A file of a newer Carpool or of another program
// is an error, and is not changed.
[[nodiscard]] Result<void> migrate(SqlDatabase& database, const std::string& file);

}  // namespace carpool::store
