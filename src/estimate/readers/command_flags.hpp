// A training or inference command as it is typed: the flags that decide its memory, in the
// spellings of the Hugging Face Trainer, PyTorch's examples, timm, Lightning, Accelerate and
// DeepSpeed. Other words are passed over.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimate/readers/job_settings.hpp"

namespace carpool::estimate {

// Where in a command a value stands: "32" in {"--batch", "32"} or in {"--batch=32"}.
struct WordPlace {
  std::size_t word = 0;
  std::size_t offset = 0;  // in that word; the value goes to its end
};

struct CommandFacts {
  JobSettings settings{};
  std::optional<WordPlace> batch_at{};  // of the batch that counts
  std::optional<std::string> model{};   // a name, a folder or a file
  std::vector<std::string> read{};      // the words that were understood: "--batch-size 32"
  std::vector<std::string> notes{};     // of words that matter but could not be understood
  bool hugging_face_trainer = false;    // whose defaults hold
};

[[nodiscard]] CommandFacts read_command(std::span<const std::string> argv);

}  // namespace carpool::estimate
