#include "assign/matching.hpp"

#include <lemon/matching.h>
#include <lemon/smart_graph.h>

namespace carpool::assign {
namespace {

using Graph = lemon::SmartGraph;
using Weights = Graph::EdgeMap<std::int64_t>;
using Algorithm = lemon::MaxWeightedPerfectMatching<Graph, Weights>;

void add_vertices(Graph& graph, int vertices) {
  graph.reserveNode(vertices);
  for (int vertex = 0; vertex < vertices; ++vertex) {
    graph.addNode();
  }
}

}  // namespace

std::optional<PerfectMatching> max_weight_perfect_matching(int vertices,
                                                           const std::vector<MatchingEdge>& edges) {
  Graph graph;
  add_vertices(graph, vertices);
  graph.reserveEdge(static_cast<int>(edges.size()));
  Weights weights(graph);
  for (const MatchingEdge& edge : edges) {
    weights[graph.addEdge(Graph::nodeFromId(edge.first), Graph::nodeFromId(edge.second))] =
        edge.weight;
  }
  Algorithm algorithm(graph, weights);
  if (!algorithm.run()) {
    return std::nullopt;
  }
  PerfectMatching matching;
  matching.dual_scale = Algorithm::dualScale;
  for (int vertex = 0; vertex < vertices; ++vertex) {
    const Graph::Node node = Graph::nodeFromId(vertex);
    matching.partner.push_back(Graph::id(algorithm.mate(node)));
    matching.vertex_dual.push_back(algorithm.nodeValue(node));
  }
  for (int index = 0; index < algorithm.blossomNum(); ++index) {
    if (algorithm.blossomValue(index) == 0) {
      continue;
    }
    PerfectMatching::Blossom blossom;
    blossom.dual = algorithm.blossomValue(index);
    for (Algorithm::BlossomIt node(algorithm, index); node != lemon::INVALID; ++node) {
      blossom.vertices.push_back(Graph::id(node));
    }
    matching.blossoms.push_back(std::move(blossom));
  }
  return matching;
}

int max_matching_size(int vertices, const std::vector<std::pair<int, int>>& edges) {
  Graph graph;
  add_vertices(graph, vertices);
  graph.reserveEdge(static_cast<int>(edges.size()));
  for (const std::pair<int, int>& edge : edges) {
    graph.addEdge(Graph::nodeFromId(edge.first), Graph::nodeFromId(edge.second));
  }
  lemon::MaxMatching<Graph> algorithm(graph);
  algorithm.greedyInit();
  algorithm.startDense();
  return algorithm.matchingSize();
}

}  // namespace carpool::assign
