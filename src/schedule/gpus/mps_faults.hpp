// Whom to suspect when an MPS server fails: a fatal fault of one client ends all clients of its
// server, and neither their errors nor the log of the server say whose fault it was.
#pragma once

#include <map>
#include <set>

#include "core/cluster_snapshot.hpp"

namespace carpool::schedule {

// Ends by MpsFault on one GPU within seconds are one fault. Its suspect is the job that had
// computed for the shortest time: the others had shown that they can run there.
class MpsFaults {
 public:
  // The job ended by MpsFault and is still among the residents of its GPU. Whether it is suspected.
  [[nodiscard]] bool suspects(JobId job, const GpuView& gpu, double at_s);

 private:
  struct Fault {
    double at_s = 0.0;
    JobId suspect = 0;
    std::set<JobId> members{};  // that were not asked about yet
  };

  std::map<unsigned, Fault> last_;  // by GPU
};

}  // namespace carpool::schedule
