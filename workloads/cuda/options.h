// The command line of micro.cu.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// The defaults of a kind, and its unit of work.
struct Kind {
  std::string_view name;
  int launches;       // of one step
  int iterations;     // of a thread's loop: compute and tensor
  std::size_t mib;    // of a buffer: dram and l2
  std::size_t chunk;  // 16-byte vectors of a block and launch: dram and l2
  std::string_view unit;
  std::string_view about;
};

constexpr std::array kKinds{
    Kind{"compute", 10, 20'000, 0, 0, "GFLOP", "fp32 multiply-adds in registers"},
    Kind{"tensor", 10, 4'000, 0, 0, "GFLOP", "bf16 products of 16 x 16 matrices in registers"},
    Kind{"dram", 12, 0, 1024, 128 << 10, "GB", "copies between two buffers"},
    Kind{"l2", 12, 0, 16, 512 << 10, "GB", "reads of a buffer that stays in L2"},
    Kind{"launch", 2000, 0, 0, 0, "launches", "launches of a kernel that does nothing"},
};

struct Options {
  Kind kind = kKinds[0];
  int blocks = 0;
  int threads = 256;
  long steps = 0;
  double seconds = 5;
};

[[noreturn]] inline void usage(const char* complaint) {
  std::FILE* out = complaint != nullptr ? stderr : stdout;
  if (complaint != nullptr) {
    std::fprintf(out, "micro: %s\n", complaint);
  }
  std::fputs(
      "Usage: micro --kind KIND [--blocks N] [--threads N] [--launches N] [--iterations N]\n"
      "             [--mib N] [--seconds S | --steps N]\n"
      "A step is --launches launches; each block does the same work, regardless of --blocks (4 per\n"
      "SM). With a watcher (CARPOOL_STEP_FILE) it runs until the order to end; else for --seconds\n"
      "(5) or --steps, and prints one line of JSON.\nKinds:\n",
      out);
  for (const Kind& kind : kKinds) {
    std::fprintf(out, "  %-8s %s\n", kind.name.data(), kind.about.data());
  }
  std::exit(complaint != nullptr ? 2 : 0);
}

template <class Number>
Number number(std::string_view option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) {
    const std::string complaint =
        std::string(option) + " " + std::string(text) + ": expected a number above 0";
    usage(complaint.c_str());
  }
  return value;
}

inline Kind kind_named(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) {
      return kind;
    }
  }
  usage(("no kind " + std::string(name)).c_str());
}

// The kind first: other options change its defaults.
inline Kind find_kind(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--help" || std::string_view(words[i]) == "-h") {
      usage(nullptr);
    }
    if (std::string_view(words[i]) == "--kind" && i + 1 < count) {
      return kind_named(words[i + 1]);
    }
  }
  usage("--kind is missing");
}

inline Options parse(int count, char** words) {
  Options options;
  options.kind = find_kind(count, words);
  for (int i = 1; i < count; i += 2) {
    const std::string_view option = words[i];
    if (i + 1 == count) {
      usage((std::string(option) + " needs a value").c_str());
    }
    const std::string_view value = words[i + 1];
    if (option == "--kind") {
      continue;
    }
    if (option == "--blocks") {
      options.blocks = number<int>(option, value);
    } else if (option == "--threads") {
      options.threads = number<int>(option, value);
    } else if (option == "--launches") {
      options.kind.launches = number<int>(option, value);
    } else if (option == "--iterations") {
      options.kind.iterations = number<int>(option, value);
    } else if (option == "--mib") {
      options.kind.mib = number<std::size_t>(option, value);
    } else if (option == "--seconds") {
      options.seconds = number<double>(option, value);
    } else if (option == "--steps") {
      options.steps = number<long>(option, value);
    } else {
      usage(("unknown option " + std::string(option)).c_str());
    }
  }
  if (options.kind.name == "tensor" && options.threads % 32 != 0) {
    usage("--kind tensor works in warps: --threads must be a multiple of 32");
  }
  if (!std::has_single_bit(options.kind.mib) && options.kind.mib != 0) {
    usage("--mib must be a power of two");
  }
  return options;
}
