// A dataset of four workloads and their six pairs, for the tests of inputs/.
#pragma once

#include <string>

#include "app/tests/fixtures.hpp"

namespace carpool::app {

// Workload i has demand i + 1 and gets that share of a GPU that yields 1.2 times one solo job.
class SmallDataset {
 public:
  SmallDataset() {
    static_cast<void>(folder_.write(
        "profiles.csv", "workload,exclusive_thr\njob0,10\njob1,20\njob2,30\njob3,40\n"));
    static_cast<void>(folder_.write("pairs.csv",
                                    "w1,w2,thr1,thr2\n"
                                    "job0,job1,4,16\n"
                                    "job0,job2,3,27\n"
                                    "job0,job3,2.4,38.4\n"
                                    "job1,job2,9.6,21.6\n"
                                    "job1,job3,8,32\n"
                                    "job2,job3,15.4286,27.4286\n"));
  }

  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }
  [[nodiscard]] std::string path() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace carpool::app
