// What is known of one workload from running it alone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace carpool {

struct Profile {
  std::string workload;
  std::string model;                  // empty when the dataset does not say
  std::string task;                   // "train", "inf", …; empty when the dataset does not say
  std::optional<double> batch;        // samples a step
  double exclusive_throughput = 0.0;  // units/s alone on the GPU, all threads
  // By column name of the dataset; an absent entry was not measured.
  std::map<std::string, double, std::less<>> metrics;
};

}  // namespace carpool
