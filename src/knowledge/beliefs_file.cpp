#include "knowledge/beliefs_file.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/text/strict_object.hpp"
#include "core/json/json_put.hpp"
#include "knowledge/beliefs_json.hpp"

namespace carpool::knowledge {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "carpool-beliefs";
constexpr unsigned kVersion = 1;
// Speeds and activities of another GPU or driver are a hint, not a measurement.
constexpr double kOtherDriverWeight = 0.05;

tl::unexpected<Error> damaged(const std::filesystem::path& file, std::string_view what) {
  return fail(ErrorCode::Corrupt,
              fmt::format("{}: {}; what was learned of workloads cannot be read. Move the file "
                          "away to learn it again",
                          file.string(),
                          what));
}

Result<void> read_store(const json& content, BeliefStore& store) {
  StrictObject object(content, "beliefs");
  std::string format;
  unsigned version = 0;
  std::string driver;
  double now_s = 0.0;
  for (const char* key : {"format", "version", "users"}) {
    object.require(key);
  }
  object.read("format", format);
  object.read("version", version);
  object.read("driver", driver);
  object.read("now_s", now_s);
  const json* users = object.member("users");
  if (auto finished = object.finish(); !finished) {
    return finished;
  }
  if (format != kFormat || version != kVersion) {
    return fail(ErrorCode::Corrupt,
                fmt::format("format \"{}\", version {}; expected \"{}\", version {}",
                            format,
                            version,
                            kFormat,
                            kVersion));
  }
  if (!users->is_array() || !(now_s >= 0.0)) {
    return fail(ErrorCode::Corrupt, "users: not a list, or now_s: not a time");
  }
  for (const json& user : *users) {
    if (auto read = read_user(user, store); !read) {
      return read;
    }
  }
  store.set_now(now_s);
  if (driver != store.settings().driver) {
    store.weaken(kOtherDriverWeight);
  }
  store.make_room();
  return {};
}

}  // namespace

std::string beliefs_text(const BeliefStore& store) {
  json content = {{"format", kFormat}, {"version", kVersion}, {"users", user_list(store)}};
  put(content, "driver", store.settings().driver, std::string());
  put(content, "now_s", store.now_s(), 0.0);
  return content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<void> write_beliefs(const std::filesystem::path& file, std::string_view content) {
  return write_private_file(file, content);
}

Result<void> read_beliefs(const std::filesystem::path& file, BeliefStore& store) {
  const auto text = read_file(file);
  if (!text) {
    return text.error().code == ErrorCode::NotFound ? Result<void>() : tl::unexpected(text.error());
  }
  const json content = json::parse(*text, nullptr, false);
  if (content.is_discarded()) {
    return damaged(file, "not JSON");
  }
  if (auto read = read_store(content, store); !read) {
    return damaged(file, read.error().message);
  }
  return {};
}

}  // namespace carpool::knowledge
