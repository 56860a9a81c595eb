// The tables of the job database, and how older files become newer ones.
#pragma once

#include "base/result.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

// Brings a new or older file up to date, in one transaction. A file of a newer Carpool, or of
// another program, is an error, and nothing is changed.
[[nodiscard]] Result<void> migrate(SqlDatabase& database, const std::string& file);

}  // namespace carpool::store
