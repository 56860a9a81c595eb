// Any bytes as the query of an address, "name=value&…": limits within bounds, or an error.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "serve/api_query.hpp"
#include "serve/ended_listing.hpp"
#include "serve/job_listing.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

serve::ApiQuery query_of(std::string_view text) {
  serve::ApiQuery query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    query.emplace(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
  }
  return query;
}

}  // namespace

void feed_queries(std::string_view bytes) {
  const serve::ApiQuery query = query_of(bytes);
  if (const auto wanted = serve::read_list_query(query)) {
    require(wanted->most >= 1 && wanted->most <= serve::kMostListed);
  } else {
    require(!wanted.error().message.empty());
  }
  const serve::Caller caller{.uid = 1000, .user = "ann"};
  if (const auto wanted = serve::read_ended_query(query, caller)) {
    require(wanted->most >= 1 && wanted->most <= serve::kMostListed);
  } else {
    require(!wanted.error().message.empty());
  }
  const auto seconds = serve::number_of<double>(query, "wait_s");
  require(!seconds || !*seconds || **seconds >= 0.0);
  (void)serve::flag_of(query, "all");
}

}  // namespace carpool::fuzz
