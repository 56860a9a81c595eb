// Measurements of one workload that runs solo.
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
  double exclusive_throughput = 0.0;  // units/s solo, all threads
  // By column name of the dataset; values that were not measured are absent.
  std::map<std::string, double, std::less<>> metrics;
};

}  // namespace carpool
