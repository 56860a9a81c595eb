// The probes by name; each prints one line of JSON and returns an exit code.
#pragma once

namespace probes {

int probe_a(const char* ptx);
int probe_b(const char* ptx);
int probe_c(const char* ptx);
int probe_h(const char* ptx);
int probe_i(const char* ptx);
int probe_j(const char* ptx);
int probe_launches(const char* ptx);

// The two sides of probes d and e: work without end, and a short kernel that arrives now and then.
int best_effort(const char* ptx, const char* kind);
int arrivals(const char* ptx, int count);
// The two sides of probe l; the second one is the other process of probe j as well.
int chain(const char* ptx, int count);
int waiting(const char* ptx, int streams, const char* kind);

}  // namespace probes
