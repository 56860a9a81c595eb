// probes PTX a | b | c | h | i | j | launches | best-effort KIND | arrivals COUNT |
// chain COUNT | waiting STREAMS KIND
#include <cstdio>
#include <cstdlib>
#include <string>

#include "probes.hpp"

int main(int argc, char** argv) {
  const std::string name = argc > 2 ? argv[2] : "";
  const char* const ptx = argc > 2 ? argv[1] : "";
  if (name == "a") {
    return probes::probe_a(ptx);
  }
  if (name == "b") {
    return probes::probe_b(ptx);
  }
  if (name == "c") {
    return probes::probe_c(ptx);
  }
  if (name == "h") {
    return probes::probe_h(ptx);
  }
  if (name == "i") {
    return probes::probe_i(ptx);
  }
  if (name == "j") {
    return probes::probe_j(ptx);
  }
  if (name == "waiting" && argc > 4) {
    return probes::waiting(ptx, std::atoi(argv[3]), argv[4]);
  }
  if (name == "chain" && argc > 3) {
    return probes::chain(ptx, std::atoi(argv[3]));
  }
  if (name == "launches") {
    return probes::probe_launches(ptx);
  }
  if (name == "best-effort" && argc > 3) {
    return probes::best_effort(ptx, argv[3]);
  }
  if (name == "arrivals" && argc > 3) {
    return probes::arrivals(ptx, std::atoi(argv[3]));
  }
  std::fprintf(stderr, "no probe %s\n", name.c_str());
  return 2;
}
