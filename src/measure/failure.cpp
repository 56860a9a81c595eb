#include "measure/failure.hpp"

#include <algorithm>
#include <array>

namespace carpool::measure {
namespace {

constexpr std::size_t kLongestMessage = 300;

// Messages of CUDA, PyTorch, cuDNN and cuBLAS.
constexpr std::array<std::string_view, 5> kMemoryWords = {
    "out of memory",
    "OutOfMemoryError",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
};

constexpr std::array<std::string_view, 3> kMpsWords = {
    "CUDA_ERROR_MPS",
    "cudaErrorMps",
    "MPS server",
};

template <std::size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  const std::size_t start = text.rfind('\n');
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

}  // namespace

Failure explain_death(std::string_view exit, std::string_view error_output) {
  Failure failure{.reason = "crash", .message = std::string(exit)};
  if (holds_any(error_output, kMemoryWords)) {
    failure.reason = kOutOfMemory;
  } else if (holds_any(error_output, kMpsWords)) {
    failure.reason = kMpsFailure;
  }
  if (const std::string_view words = last_line(error_output); !words.empty()) {
    failure.message += ": ";
    failure.message += words.substr(0, kLongestMessage);
  }
  return failure;
}

}  // namespace carpool::measure
