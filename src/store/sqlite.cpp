#include "store/sqlite.hpp"

#include <cerrno>
#include <sqlite3.h>
#include <unistd.h>

#include <fmt/format.h>

#include "store/checksum.hpp"

namespace carpool::store {
namespace {

constexpr int kBusyMs = 5000;  // while another program reads the file

bool out_of_space(sqlite3* database) {
  const int number = sqlite3_system_errno(database);
  return number == ENOSPC || number == EDQUOT;
}

tl::unexpected<Error> database_error(sqlite3* database, std::string_view what) {
  const char* file = database == nullptr ? nullptr : sqlite3_db_filename(database, "main");
  const std::string where = file == nullptr ? std::string("database") : std::string(file);
  const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database);
  const char* words = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return fail(
        ErrorCode::Corrupt,
        fmt::format("{}: damaged, or not an SQLite database ({}). `carpool journal check` lists "
                    "the damage, `carpool journal repair` saves what is readable",
                    where,
                    words));
  }
  const bool no_space = code == SQLITE_FULL || (code == SQLITE_IOERR && out_of_space(database));
  if (no_space || code == SQLITE_BUSY) {
    return fail(ErrorCode::Unavailable,
                fmt::format("{}: cannot be written: {}",
                            where,
                            no_space ? "the disk is full" : "another program holds it"));
  }
  return fail(ErrorCode::Internal, fmt::format("{}: {}: {}", where, what, words));
}

// The name to read a file by. For its log SQLite makes files beside it, which it cannot on a
// read-only disk. They are there if the last writer was killed; else the file does not
// change, and SQLite is told so (https://sqlite.org/uri.html).
std::string name_to_read(const std::filesystem::path& path) {
  std::string file = path.lexically_normal();
  const bool log_written = ::access((file + "-wal").c_str(), F_OK) == 0;
  if (log_written || ::access(file.c_str(), W_OK) == 0 || errno != EROFS) {
    return file;
  }
  std::string name = "file:";
  for (const char byte : file) {
    name += fmt::format("%{:02x}", static_cast<unsigned char>(byte));
  }
  return name + "?immutable=1";
}

void row_sum(sqlite3_context* context, int count, sqlite3_value** values) {
  const auto text = [&](int index) {
    const unsigned char* bytes = sqlite3_value_text(values[index]);
    return std::string_view(reinterpret_cast<const char*>(bytes),
                            static_cast<std::size_t>(sqlite3_value_bytes(values[index])));
  };
  RowSum sum(*static_cast<const std::string*>(sqlite3_user_data(context)), text(0));
  for (int index = 1; index < count; ++index) {
    switch (sqlite3_value_type(values[index])) {
      case SQLITE_INTEGER:
        sum.add(static_cast<std::int64_t>(sqlite3_value_int64(values[index])));
        break;
      case SQLITE_FLOAT:
        sum.add(sqlite3_value_double(values[index]));
        break;
      case SQLITE_NULL:
        sum.add_null();
        break;
      default:
        sum.add(text(index));
    }
  }
  sqlite3_result_int64(context, sum.value());
}

}  // namespace

void SqlStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqlDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

SqlStatement& SqlStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
  return *this;
}

SqlStatement& SqlStatement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter + 1, value);
  return *this;
}

SqlStatement& SqlStatement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(),
                      parameter + 1,
                      value.data() == nullptr ? "" : value.data(),
                      value.size(),
                      /*destructor=*/nullptr,  // SQLITE_STATIC
                      SQLITE_UTF8);
  return *this;
}

SqlStatement& SqlStatement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter + 1);
  return *this;
}

Result<bool> SqlStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto problem = database_error(sqlite3_db_handle(statement_.get()), "a statement failed");
  sqlite3_reset(statement_.get());
  return problem;
}

Result<void> SqlStatement::run() {
  return step().map([](bool /*row*/) {});
}

Result<void> SqlStatement::for_rows(const std::function<Result<void>(const SqlStatement&)>& each) {
  for (;;) {
    const auto row = step();
    if (!row) {
      return tl::unexpected(row.error());
    }
    if (!*row) {
      return {};
    }
    if (Result<void> taken = each(*this); !taken) {
      reset();
      return taken;
    }
  }
}

void SqlStatement::reset() {
  sqlite3_reset(statement_.get());
}

bool SqlStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t SqlStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqlStatement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqlStatement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(reinterpret_cast<const char*>(bytes),
                                             static_cast<std::size_t>(size));
}

Result<SqlDatabase> SqlDatabase::open(const std::filesystem::path& path, OpenMode mode) {
  SqlDatabase opened;
  sqlite3* database = nullptr;
  const bool reads = mode == OpenMode::ReadOnly;
  const int access =
      reads ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int code = sqlite3_open_v2(reads ? name_to_read(path).c_str() : path.c_str(),
                             &database,
                             access | SQLITE_OPEN_NOMUTEX,
                             nullptr);
  opened.database_.reset(database);
  opened.identity_ = std::make_unique<std::string>();
  if (code == SQLITE_OK) {
    constexpr int kAnyNumber = -1;  // of arguments
    code = sqlite3_create_function_v2(database,
                                      "row_sum",
                                      kAnyNumber,
                                      SQLITE_UTF8,
                                      opened.identity_.get(),
                                      row_sum,
                                      nullptr,
                                      nullptr,
                                      nullptr);
  }
  if (code != SQLITE_OK) {
    return fail(ErrorCode::Internal,
                fmt::format("{}: cannot be opened: {}",
                            path.string(),
                            database == nullptr ? "out of memory" : sqlite3_errmsg(database)));
  }
  sqlite3_busy_timeout(database, kBusyMs);
  return opened;
}

Result<void> SqlDatabase::execute(const std::string& statements) {
  if (sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return database_error(database_.get(), "a statement failed");
  }
  return {};
}

Result<SqlStatement> SqlDatabase::prepare(std::string_view statement) const {
  SqlStatement prepared;
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v3(database_.get(),
                         statement.data(),
                         static_cast<int>(statement.size()),
                         SQLITE_PREPARE_PERSISTENT,
                         &handle,
                         nullptr) != SQLITE_OK) {
    return database_error(database_.get(), "a statement cannot be prepared");
  }
  prepared.statement_.reset(handle);
  return prepared;
}

Result<std::int64_t> SqlDatabase::number(std::string_view query) const {
  auto statement = prepare(query);
  if (!statement) {
    return tl::unexpected(statement.error());
  }
  return statement->step().map([&](bool row) { return row ? statement->integer(0) : 0; });
}

Result<std::string> SqlDatabase::text(std::string_view query) const {
  auto statement = prepare(query);
  if (!statement) {
    return tl::unexpected(statement.error());
  }
  return statement->step().map(
      [&](bool row) { return row ? std::string(statement->text(0)) : std::string(); });
}

void SqlDatabase::set_identity(std::string_view identity) {
  *identity_ = identity;
}

Result<void> SqlDatabase::copy_to(const std::filesystem::path& path) const {
  auto target = open(path);
  if (!target) {
    return tl::unexpected(target.error());
  }
  sqlite3_backup* backup =
      sqlite3_backup_init(target->database_.get(), "main", database_.get(), "main");
  if (backup == nullptr) {
    return database_error(target->database_.get(), "a copy cannot be begun");
  }
  constexpr int kAllPages = -1;
  sqlite3_backup_step(backup, kAllPages);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) {
    return database_error(target->database_.get(), "a copy failed");
  }
  // One file, without a write-ahead log beside it.
  return target->execute("PRAGMA journal_mode=DELETE");
}

}  // namespace carpool::store
