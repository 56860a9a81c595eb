#include "run/failure_classifier.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "base/process/child_process.hpp"
#include "run/oom_message.hpp"

namespace carpool::run {
namespace {

constexpr std::size_t kDetailBytes = 500;
// Without an exception, only the last lines can name the cause.
constexpr std::size_t kLastLines = 40;

struct Phrase {
  std::string_view text;
  RunEnd end;
};

// As libraries print them; a match alone is not sufficient, see evidence().
constexpr std::array kPhrases = {
    Phrase{"CUDA out of memory. Tried to allocate", RunEnd::OutOfMemory},  // PyTorch
    Phrase{"HIP out of memory. Tried to allocate", RunEnd::OutOfMemory},
    Phrase{"CUDA error: out of memory", RunEnd::OutOfMemory},
    Phrase{"CUDA_ERROR_OUT_OF_MEMORY", RunEnd::OutOfMemory},  // driver, TensorFlow, JAX
    Phrase{"cudaErrorMemoryAllocation", RunEnd::OutOfMemory},
    Phrase{"CUBLAS_STATUS_ALLOC_FAILED", RunEnd::OutOfMemory},
    Phrase{"CUDNN_STATUS_ALLOC_FAILED", RunEnd::OutOfMemory},
    Phrase{"OOM when allocating tensor", RunEnd::OutOfMemory},         // TensorFlow
    Phrase{"RESOURCE_EXHAUSTED: Out of memory", RunEnd::OutOfMemory},  // JAX, XLA
    Phrase{"Resource exhausted: Out of memory", RunEnd::OutOfMemory},
    Phrase{"OutOfMemoryError: Out of memory allocating", RunEnd::OutOfMemory},  // CuPy
    Phrase{"CUDA_ERROR_MPS_", RunEnd::MpsFault},
    Phrase{"cudaErrorMps", RunEnd::MpsFault},
    Phrase{"remote procedural call between the MPS server and the MPS client failed",
           RunEnd::MpsFault},
    Phrase{"MPS client has been terminated", RunEnd::MpsFault},
    Phrase{"MPS client failed to connect to the MPS control daemon", RunEnd::MpsFault},
    Phrase{"MPS server is not ready to accept new MPS client requests", RunEnd::MpsFault},
    Phrase{"DefaultCPUAllocator: can't allocate memory", RunEnd::HostOutOfMemory},
    Phrase{"std::bad_alloc", RunEnd::HostOutOfMemory},
};

// After these errors a CUDA context is of no use: the error of one MPS client, or of all of them.
constexpr std::array<std::string_view, 20> kContextLost = {
    "an illegal memory access was encountered",
    "unspecified launch failure",
    "device-side assert triggered",
    "an illegal instruction was encountered",
    "misaligned address",
    "operation not supported on global/shared address space",
    "invalid program counter",
    "hardware stack error",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "cudaErrorIllegalAddress",
    "cudaErrorLaunchFailure",
    "CUBLAS_STATUS_EXECUTION_FAILED",
    "CUDNN_STATUS_EXECUTION_FAILED"};

// These report that another process failed: the cause stands above them.
constexpr std::array<std::string_view, 3> kMessengers = {
    "ChildFailedError", "CalledProcessError", "ProcessRaisedException"};

constexpr std::array<std::string_view, 2> kChained = {
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// Removes "[rank0]: " and similar prefixes that launchers print before each line of a worker.
std::string_view without_prefix(std::string_view line) {
  if (line.starts_with('[')) {
    const std::size_t end = line.find("]:");
    if (end != std::string_view::npos && end < 24) {
      line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ', end + 2)));
    }
  }
  return line;
}

// "torch.cuda.OutOfMemoryError: …": the line that ends a traceback. Empty: not such a line.
std::string_view exception_name(std::string_view line) {
  const std::size_t end = line.find_first_of(": ");
  const std::string_view name = line.substr(0, end);
  if (name.empty() || (end != std::string_view::npos && line[end] == ' ')) {
    return {};
  }
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_'; };
  if (!std::ranges::all_of(name, fits)) {
    return {};
  }
  const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  const bool is_type = last.ends_with("Error") || last.ends_with("Exception") ||
                       last.ends_with("Interrupt") || last.ends_with("Exit");
  return is_type ? last : std::string_view{};
}

struct Evidence {
  RunEnd end = RunEnd::Failed;
  std::string_view line;
};

std::optional<RunEnd> phrase_in(std::string_view line) {
  for (const Phrase& phrase : kPhrases) {
    const std::size_t at = line.find(phrase.text);
    // A word must begin there: not inside a path or a quoted command.
    const bool begins =
        at != std::string_view::npos &&
        (at == 0 || std::string_view("/'\"=\\-_").find(line[at - 1]) == std::string_view::npos);
    if (begins) {
      return phrase.end;
    }
  }
  return std::nullopt;
}

std::optional<RunEnd> meaning_of(std::string_view line, std::string_view exception) {
  if (exception == "MemoryError") {
    return RunEnd::HostOutOfMemory;
  }
  return phrase_in(line);
}

// The exception that ended a Python program counts, and those that it was raised from. An exception
// that was caught earlier does not.
std::optional<Evidence> from_exceptions(const std::vector<std::string_view>& lines, bool& any) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    const std::string_view line = without_prefix(lines[i]);
    const std::string_view exception = exception_name(line);
    if (exception.empty()) {
      continue;
    }
    if (std::ranges::find(kMessengers, exception) != kMessengers.end()) {
      continue;
    }
    any = true;
    if (const std::optional<RunEnd> end = meaning_of(line, exception)) {
      return Evidence{*end, line};
    }
    const auto chained = [&](std::string_view before) {
      return std::ranges::find(kChained, without_prefix(before)) != kChained.end();
    };
    // Up to the sentence that chains it to the exception before it, if this traceback has one.
    std::size_t above = i;
    while (above > 0 && exception_name(without_prefix(lines[above - 1])).empty() &&
           !chained(lines[above - 1])) {
      --above;
    }
    if (above == 0 || !chained(lines[above - 1])) {
      return std::nullopt;
    }
    i = above;
  }
  return std::nullopt;
}

std::optional<Evidence> evidence(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  bool any_exception = false;
  if (std::optional<Evidence> found = from_exceptions(lines, any_exception);
      found || any_exception) {
    return found;
  }
  const std::size_t first = lines.size() > kLastLines ? lines.size() - kLastLines : 0;
  for (std::size_t i = lines.size(); i-- > first;) {
    if (const std::optional<RunEnd> end = phrase_in(without_prefix(lines[i]))) {
      return Evidence{*end, without_prefix(lines[i])};
    }
  }
  return std::nullopt;
}

// The last line that says that the context was lost; empty: none.
std::string_view context_lost(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  const std::size_t first = lines.size() > kLastLines ? lines.size() - kLastLines : 0;
  for (std::size_t i = lines.size(); i-- > first;) {
    const std::string_view line = without_prefix(lines[i]);
    if (std::ranges::any_of(kContextLost, [&](std::string_view phrase) {
          return line.find(phrase) != line.npos;
        })) {
      return line;
    }
  }
  return {};
}

std::string shortened(std::string_view line) {
  return std::string(line.substr(0, kDetailBytes));
}

std::string last_line(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].find_first_not_of(" \t\r") != std::string_view::npos) {
      return shortened(lines[i]);
    }
  }
  return {};
}

// What the job says where other clients of its MPS server had a fatal error of the GPU, too.
std::string_view lost_context(const ExitRecord& exit,
                              std::string_view stdout_tail,
                              std::string_view stderr_tail) {
  if (!exit.gpu_fault) {
    return {};
  }
  const std::string_view said = context_lost(stderr_tail);
  return said.empty() ? context_lost(stdout_tail) : said;
}

}  // namespace

RunExit classify_exit(const ExitRecord& exit,
                      std::string_view stdout_tail,
                      std::string_view stderr_tail) {
  RunExit result{.code = exit.code, .signal = exit.signal, .at_s = exit.at_s};
  if (!exit.not_started.empty()) {
    result.end = exit.trouble ? RunEnd::MachineTrouble : RunEnd::NeverStarted;
    result.scope = exit.trouble;
    result.detail = exit.not_started;
    return result;
  }
  if (exit.code == 0) {
    result.end = RunEnd::Succeeded;
    return result;
  }
  if (exit.stop_asked) {
    result.end = RunEnd::Cancelled;
    return result;
  }
  constexpr int kKilled = 9;
  const bool killed = exit.signal == kKilled || exit.code == 128 + kKilled;
  std::optional<Evidence> found = evidence(stderr_tail);
  if (!found) {
    found = evidence(stdout_tail);
  }
  if (found) {
    result.end = found->end;
    result.detail = shortened(found->line);
    if (found->end == RunEnd::OutOfMemory) {
      result.wanted_bytes = oom_wanted(found->line);
      result.held_bytes = oom_held(found->line);
    }
  } else if (exit.mps_fault) {
    result.end = RunEnd::MpsFault;
    result.detail = exit.gpu_fault ? "a fatal GPU error of one client ended all clients of the MPS "
                                     "server of the job"
                                   : "the MPS server of the job failed";
  } else if (const std::string_view line = lost_context(exit, stdout_tail, stderr_tail);
             !line.empty()) {
    result.end = RunEnd::MpsFault;
    result.detail = shortened(line);
  } else if (killed && exit.host_memory) {
    result.end = RunEnd::HostOutOfMemory;
    result.detail = "killed while the machine was out of memory";
  } else {
    result.end = RunEnd::Failed;
    const std::string said = last_line(stderr_tail);
    result.detail =
        said.empty() ? ExitStatus{.code = exit.code, .signal = exit.signal}.text() : said;
  }
  return result;
}

}  // namespace carpool::run
