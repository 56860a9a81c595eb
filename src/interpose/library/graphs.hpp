// What an executable graph costs: kernels are counted and memory is charged when it is made.
#pragma once

#include <cstdint>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

struct GraphContent {
  std::uint64_t kernels = 0;
  std::uint64_t allocated_bytes = 0;  // of its allocation nodes
};

// Walks the nodes, child graphs included. Bodies of conditional nodes are left out: how often they
// run is not known. While a capture is alive, only what graph_captured() told is known.
[[nodiscard]] GraphContent content_of(Handle graph);

// A capture that has seen these kernels has ended in this graph.
void graph_captured(Handle graph, std::uint64_t kernels);

// Of an executable graph; 0 if it is not known.
[[nodiscard]] std::uint64_t kernels_of_graph(Handle executable);

}  // namespace carpool::interpose
