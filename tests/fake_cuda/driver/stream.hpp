// Contexts, streams and events. The driver's lock guards all of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "../abi/types.hpp"

namespace fake_cuda {

struct Capture;

// How far a stream has come; outlives it.
struct Progress {
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  std::int64_t finished_at = 0;  // when the last one completed
};

// A point in a stream.
struct Point {
  std::shared_ptr<Progress> stream;
  std::uint64_t sequence = 0;

  [[nodiscard]] bool reached() const { return !stream || stream->completed >= sequence; }
};

// A task in a stream.
struct Operation {
  std::uint64_t sequence = 0;
  std::int64_t ns = 0;
  std::uint32_t blocks = 0;
  int priority = 0;
  const GreenContext* green = nullptr;  // whose part of the device it runs on
  std::vector<Point> after;
  std::function<bool()> ready;                      // beside what it comes after
  std::function<void(std::int64_t when)> complete;  // under the lock
  std::function<void()> on_host;                    // without the lock, on the driver's thread
  std::optional<int> work;                          // on the device
  bool handed_over = false;                         // its host function runs
  bool host_done = false;
};

class Stream {
 public:
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool legacy = false;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  std::deque<Operation> queue;
  std::shared_ptr<Capture> capture;
  std::vector<Node*> tail;  // captured nodes on which the next one depends

  [[nodiscard]] Point end() const { return {progress, progress->submitted}; }
};

class Event {
 public:
  Context* context = nullptr;
  unsigned flags = 0;
  Point point;
  std::shared_ptr<std::int64_t> time;  // of the last record; 0 until it has completed
  std::shared_ptr<Capture> capture;    // if it was last recorded in a capture
  std::vector<Node*> captured;
};

// Stands for a context that has a part of the device for itself.
struct GreenContext {
  Context* context = nullptr;
  std::uint32_t sms = 0;
};

class Context {
 public:
  int device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  bool primary = false;
  unsigned retained = 0;
  bool alive = true;
  Stream* legacy = nullptr;
  std::map<int, Stream*> per_thread;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<GreenContext> green;  // if it is one
  std::vector<Point> gates;             // that all tasks wait for which come from now on
  Stream* recorder = nullptr;           // for events of all its streams
  std::map<int, Point> last;            // of each priority, with one connection

  [[nodiscard]] bool gone() const { return green != nullptr && !alive; }
  // Whether it is the other one, or the primary context to which that belongs.
  [[nodiscard]] bool covers(const Context& other) const {
    return &other == this || (primary && other.green != nullptr && other.device == device);
  }
};

}  // namespace fake_cuda
