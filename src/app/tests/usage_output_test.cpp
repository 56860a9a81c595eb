#include "app/output/usage_output.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using nlohmann::json;

json answer(const char* by) {
  return json::parse(R"({"rows": [
      {"user": "ann", "jobs": 2, "attempts": 3, "gpu_held_s": 7200, "gpu_delivered_s": 3600,
       "gpu_unknown_s": 60, "peak_bytes": 1073741824, "reserved_byte_s": 7730941132800}],
      "others": {"users": 4, "jobs": 9, "attempts": 9, "gpu_held_s": 60},
      "total": {}, "since_s": 0, "until_s": 60, "by": ")" +
                     std::string(by) + "\"}");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(UsageOutput, ShowsAmountsWithWhatIsNotKnown) {
  const std::string text = usage_text(answer("user"), false, std::nullopt);
  EXPECT_TRUE(has(text, "ann                 2         3   2:00:00  1:00:00+?  1.0G         2.0"))
      << text;
  EXPECT_TRUE(has(text, "(4 other users)     9         9      1:00          -     -           -"))
      << text;
  EXPECT_TRUE(has(text, "for 1:00 of GPU time it is not known")) << text;
}

TEST(UsageOutput, ShowsEnergyInKilowattHours) {
  json usage = answer("user");
  EXPECT_TRUE(has(usage_text(usage, false, std::nullopt), "  2.0            -\n"));
  usage["rows"][0]["energy_j"] = 2.7e6;
  EXPECT_TRUE(has(usage_text(usage, false, std::nullopt), "  2.0        0.750\n"))
      << usage_text(usage, false, std::nullopt);
  usage["rows"][0]["energy_unknown_s"] = 1.0;
  EXPECT_TRUE(has(usage_text(usage, false, std::nullopt), "  2.0      0.750+?\n"));
}

TEST(UsageOutput, FitsTheTerminalByJob) {
  json usage = answer("job");
  usage["rows"][0]["id"] = 7;
  usage["rows"][0]["name"] = std::string(200, 'n');
  usage["rows"][0]["gpu_unknown_s"] = 0;
  const std::string text = usage_text(usage, false, 90);
  EXPECT_TRUE(has(text, "nnn…")) << text;
  EXPECT_FALSE(has(text, "?")) << text;
  EXPECT_TRUE(has(text, "(4 other users)")) << text;
}

}  // namespace
}  // namespace carpool::app
