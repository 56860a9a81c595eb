#include "base/result.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(ErrorKinds, EachHasItsOwnRowAndWord) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < kErrorKinds.size(); ++i) {
    EXPECT_EQ(kErrorKinds[i].code, static_cast<ErrorCode>(i)) << kErrorKinds[i].word;
    EXPECT_EQ(name_of(kErrorKinds[i].code), kErrorKinds[i].word);
    words.insert(kErrorKinds[i].word);
  }
  EXPECT_EQ(words.size(), kErrorKinds.size());
}

TEST(ErrorKinds, EveryHelperMakesItsKind) {
  EXPECT_EQ(invalid_input("m").value().code, ErrorCode::InvalidInput);
  EXPECT_EQ(not_found("m").value().code, ErrorCode::NotFound);
  EXPECT_EQ(conflict("m").value().code, ErrorCode::Conflict);
  EXPECT_EQ(forbidden("m").value().code, ErrorCode::Forbidden);
  EXPECT_EQ(fail(ErrorCode::Corrupt, "m").value().code, ErrorCode::Corrupt);
  EXPECT_EQ(not_found("what").value().message, "what");
}

}  // namespace
}  // namespace carpool
