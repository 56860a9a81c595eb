#include "learn/model_envelope.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"

namespace carpool::learn {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "carpool-model";
constexpr int kVersion = 2;

Result<json> check_envelope(json envelope, std::string_view name, std::string_view again) {
  if (envelope.at("format") != kFormat) {
    return fail(ErrorCode::Corrupt, fmt::format("{} is not a model file of carpool", name));
  }
  if (envelope.at("version") != kVersion) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("{} has version {}; this program reads version {}: create it again with "
                    "`{}`",
                    name,
                    envelope.at("version").dump(),
                    kVersion,
                    again));
  }
  const auto recorded = envelope.at("sha256").get<std::string>();
  envelope.erase("sha256");
  if (sha256_hex(envelope.dump()) != recorded) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{} was altered after it was written (its hash does not match): create "
                            "it again with `{}`",
                            name,
                            again));
  }
  for (const char* key : {"kind", "card", "params"}) {
    static_cast<void>(envelope.at(key));
  }
  return envelope;
}

}  // namespace

std::string seal_model(std::string_view kind, const json& card, const json& params) {
  json envelope = {{"format", kFormat},
                   {"version", kVersion},
                   {"kind", kind},
                   {"card", card},
                   {"params", params}};
  envelope["sha256"] = sha256_hex(envelope.dump());
  return envelope.dump(1) + "\n";
}

Result<json> open_model(std::string_view text, std::string_view name, std::string_view again) {
  try {
    return check_envelope(json::parse(text), name, again);
  } catch (const json::exception& problem) {
    // The message may contain the line, which can be very long.
    constexpr std::size_t kReadable = 160;
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is truncated or not a model file: {}",
                            name,
                            std::string_view(problem.what()).substr(0, kReadable)));
  }
}

}  // namespace carpool::learn
