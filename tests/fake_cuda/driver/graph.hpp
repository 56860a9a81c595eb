// Graphs, and the captures that make them. The driver's lock guards all of it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "submit.hpp"

namespace fake_cuda {

struct Node {
  Graph* graph = nullptr;
  Task task;
  std::vector<Node*> after;
  std::array<void*, 1> parameters{};  // what cuGraphKernelNodeGetParams hands out

  [[nodiscard]] int type() const;
};

// A node comes after those that it depends on.
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  Node* add(Task task, std::vector<Node*> after);
};

struct GraphExec {
  struct Step {
    const Node* source = nullptr;  // null: of a graph within the graph
    Task task;
    int type = 0;
  };
  std::vector<Step> steps;
  std::vector<int> types;  // of the nodes of the graph itself
  std::uint64_t flags = 0;
  int device = 0;
  std::uint64_t bytes = 0;  // of its allocation nodes
  bool has_memory = false;  // the device gives it when the graph is first launched
};

// All graphs of the process.
class Graphs {
 public:
  static Graphs& get();
  Graph* add(std::shared_ptr<Graph> graph);
  bool remove(Graph* graph) { return graphs_.erase(graph) > 0; }
  [[nodiscard]] std::shared_ptr<Graph> find(Graph* graph) const;
  [[nodiscard]] bool knows(const Node* node) const;
  [[nodiscard]] static std::shared_ptr<Graph> clone(const Graph& graph);

  // Null if a node is not one of the graph.
  GraphExec* instantiate(const Graph& graph, std::uint64_t flags);
  bool remove(Driver& driver, GraphExec* exec);
  [[nodiscard]] bool knows(const GraphExec* exec) const;

 private:
  std::map<Graph*, std::shared_ptr<Graph>> graphs_;
  std::map<GraphExec*, std::unique_ptr<GraphExec>> execs_;
};

// Appends the steps of a graph; those of graphs within it, too.
void flatten(const Graph& graph, bool outermost, std::vector<GraphExec::Step>& steps);
Result launch_graph(Driver& driver, Guard& guard, Stream& stream, GraphExec& exec);

// Streams that are being recorded instead of executed.
struct Capture {
  std::uint64_t id = 0;
  int mode = kCaptureGlobal;
  int thread = 0;
  Stream* origin = nullptr;
  std::set<Stream*> joined;
  std::shared_ptr<Graph> graph;
  bool broken = false;
  bool over = false;
};

class Captures {
 public:
  static Captures& get();

  Result begin(Driver& driver, Stream& stream, int mode, Graph* graph, std::vector<Node*> after);
  Result end(Driver& driver, Stream& stream, Graph** graph);
  // What a task in this stream does to captures: true if it has been dealt with, with its result.
  bool intercept(Driver& driver, Stream& stream, const Task& task, Wait wait, Result& result);
  // A call that waits for, or asks about, this stream.
  Result forbid_for_stream(Driver& driver, Stream& stream);
  Result forbid_for_event(Driver& driver, const Event& event);
  Result forbid_for_context(Driver& driver, const Context& context);
  // A call that takes in what is in the streams of a context, and no captured task can be part of.
  Result break_those_of(Driver& driver, const Context& context);
  // A call that makes such a context wait for an event.
  Result wait_outside(Driver& driver, const Context& context, const Event& event);
  // A call that is unsafe anywhere.
  Result forbid(Driver& driver);
  void leave(Driver& driver, Stream& stream);

 private:
  static void break_capture(Driver& driver, Capture& capture);
  bool wait_event(Driver& driver, Stream& stream, const WaitTask& task, Result& result);
  Result break_blocking(Driver& driver, const Context& context);
  void forget(const std::shared_ptr<Capture>& capture);

  std::vector<std::shared_ptr<Capture>> active_;
  std::uint64_t ids_ = 0;
};

// cuThreadExchangeStreamCaptureMode.
int& thread_capture_mode();

}  // namespace fake_cuda
