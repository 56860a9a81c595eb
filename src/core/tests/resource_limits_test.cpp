#include "core/submission/resource_limits.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(ResourceLimits, TextComesBack) {
  for (const char* text : {"1024:524288", "0:unlimited", "unlimited:unlimited", "0:0"}) {
    const auto limit = parse_resource_limit(text);
    ASSERT_TRUE(limit) << text;
    EXPECT_EQ(resource_limit_text(*limit), text);
  }
  EXPECT_EQ(parse_resource_limit("1:2")->soft, 1U);
  EXPECT_EQ(parse_resource_limit("0:unlimited")->hard, ResourceLimit::kUnlimited);
}

TEST(ResourceLimits, AnythingElseIsRefused) {
  for (const char* text : {"", ":", "1024", "2:1", "unlimited:5", "-1:5", "1:x", "1:2:3", "1: 2"}) {
    EXPECT_FALSE(parse_resource_limit(text)) << text;
  }
  const auto unknown = parse_limits({{"nofiles", "1:2"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("nofile"), std::string::npos);
  const auto wrong = parse_limits({{"nofile", "many"}});
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("nofile: \"many\" is not SOFT:HARD"));
}

TEST(ResourceLimits, MasksAreOctal) {
  EXPECT_EQ(*parse_umask("0027"), 027U);
  EXPECT_EQ(*parse_umask("77"), 077U);
  EXPECT_EQ(umask_text(027), "0027");
  for (const char* text : {"", "8", "1000", "-1", "0x7", "022 "}) {
    EXPECT_FALSE(parse_umask(text)) << text;
  }
}

TEST(ResourceLimits, ThoseOfThisProcessAreRead) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const auto own = own_limits();
  EXPECT_EQ(own.size(), resource_names().size());
  EXPECT_EQ(own.at("nofile").soft, files.rlim_cur);
  const mode_t before = ::umask(031);
  EXPECT_EQ(own_umask(), 031U);
  ::umask(before);
}

}  // namespace
}  // namespace carpool
