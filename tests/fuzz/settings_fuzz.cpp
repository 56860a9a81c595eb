// Any bytes as what an admin writes: a value, or an error with a message. The first byte selects:
// c config.toml, t a file of tokens, g simulated GPUs.
#include <string_view>

#include "base/files/config.hpp"
#include "serve/access/tokens.hpp"
#include "simulate/cluster_spec.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

void feed_config(std::string_view text) {
  const auto config = parse_config(text, "config.toml");
  if (!config) {
    require(config.error().message.starts_with("config.toml"));
    return;
  }
  require(!config->floor || (*config->floor >= 0.0 && *config->floor <= 1.0));
  require(!config->memory_gib || *config->memory_gib > 0.0);
}

void feed_tokens(std::string_view text) {
  const auto tokens = serve::read_token_file(scratch_file("tokens", text));
  require_message(tokens);
  if (tokens) {
    require(!serve::user_of_token(*tokens, "Bearer ").has_value());
  }
}

}  // namespace

void feed_settings(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'c':
      feed_config(text);
      break;
    case 't':
      feed_tokens(text);
      break;
    case 'g':
      require_message(simulate::parse_cluster(text));
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
