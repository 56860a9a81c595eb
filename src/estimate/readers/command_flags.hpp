// The flags of a training or inference command that determine its memory, in the spellings of the
// Hugging Face Trainer, PyTorch's examples, timm, Lightning, Accelerate and DeepSpeed. Other words
// are ignored.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimate/readers/job_settings.hpp"

namespace carpool::estimate {

// The place of a value in a command: "32" in {"--batch", "32"} or in {"--batch=32"}.
struct WordPlace {
  std::size_t word = 0;
  std::size_t offset = 0;  // in that word; the value extends to its end
};

struct CommandFacts {
  JobSettings settings{};
  std::optional<WordPlace> batch_at{};  // of the effective batch size
  std::optional<std::string> model{};   // a name, a folder or a file
  std::vector<std::string> read{};      // recognised words: "--batch-size 32"
  std::vector<std::string> notes{};     // about relevant words that could not be read
  bool hugging_face_trainer = false;    // its defaults apply
};

[[nodiscard]] CommandFacts read_command(std::span<const std::string> argv);

}  // namespace carpool::estimate
