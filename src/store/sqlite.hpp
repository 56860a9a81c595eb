// A thin wrapper around SQLite: one file, prepared statements, errors as values. A statement may
// use the function row_sum(table, value, …), the checksum of a row (checksum.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace carpool::store {

// A prepared statement. Parameters and columns are counted from 0.
class SqlStatement {
 public:
  SqlStatement() = default;

  SqlStatement& bind(int parameter, std::int64_t value);
  SqlStatement& bind(int parameter, double value);
  SqlStatement& bind(int parameter, std::string_view value);  // valid until the last step()
  SqlStatement& bind_null(int parameter);
  template <class Value>
  SqlStatement& bind(int parameter, const std::optional<Value>& value) {
    return value ? bind(parameter, *value) : bind_null(parameter);
  }

  // True: there is a row to read. False: done; parameters can be bound again.
  [[nodiscard]] Result<bool> step();
  // For statements without rows.
  [[nodiscard]] Result<void> run();
  // Calls `each` for every row, until one returns an error.
  [[nodiscard]] Result<void> for_rows(const std::function<Result<void>(const SqlStatement&)>& each);
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;  // until the next step()

 private:
  friend class SqlDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class OpenMode { Create, ReadOnly };

// One thread at a time. An error of kind Unavailable may pass: the disk is full, or another program
// holds the file. Corrupt: the file is damaged.
class SqlDatabase {
 public:
  // Create: creates the file if it does not exist.
  [[nodiscard]] static Result<SqlDatabase> open(const std::filesystem::path& path,
                                                OpenMode mode = OpenMode::Create);

  // Statements without rows.
  [[nodiscard]] Result<void> execute(const std::string& statements);
  [[nodiscard]] Result<SqlStatement> prepare(std::string_view statement) const;
  // The first column of the first row; 0 for no row.
  [[nodiscard]] Result<std::int64_t> number(std::string_view query) const;
  // The same, as text; "" for no row.
  [[nodiscard]] Result<std::string> text(std::string_view query) const;
  // The identity that row_sum() includes.
  void set_identity(std::string_view identity);
  // A copy of the whole database, as one reader sees it; `path` is a database or does not exist.
  [[nodiscard]] Result<void> copy_to(const std::filesystem::path& path) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<std::string> identity_;  // row_sum() holds a pointer to it
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace carpool::store
