// A thin wrapper around SQLite: one file, prepared statements, errors as values.
#pragma once

#include <cstdint>
#include <filesystem>
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

// One thread at a time.
class SqlDatabase {
 public:
  // Creates the file if it does not exist.
  [[nodiscard]] static Result<SqlDatabase> open(const std::filesystem::path& path);

  // Statements without rows.
  [[nodiscard]] Result<void> execute(const std::string& statements);
  [[nodiscard]] Result<SqlStatement> prepare(std::string_view statement) const;
  // The first column of the first row; 0 for no row.
  [[nodiscard]] Result<std::int64_t> number(std::string_view query) const;
  [[nodiscard]] std::int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace carpool::store
