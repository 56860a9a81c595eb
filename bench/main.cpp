// Serves bench/run: one request per line on standard input, one JSON object per line on standard
// output. Requests come one by one so that these timings and those of the Python version alternate.
//   list               {"cases": [names]}
//   answer CASE        what the case computes
//   time CASE SECONDS  {"cpu_s": ..., "wall_s": ..., "calls": ...} for one call, from a batch of
//                      calls that takes SECONDS or more
#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench_case.hpp"
#include "stopwatch.hpp"

namespace carpool {
namespace {

using nlohmann::json;

std::vector<BenchCase> all_cases(const BenchData& data) {
  std::vector<BenchCase> cases = training_cases(data);
  for (auto more :
       {choice_cases(data), assignment_cases(data), placement_cases(data), shim_cases()}) {
    std::ranges::move(more, std::back_inserter(cases));
  }
  return cases;
}

json reply(const std::vector<BenchCase>& cases, const std::string& question) {
  std::istringstream words(question);
  std::string verb;
  std::string name;
  double seconds = 0.0;
  words >> verb >> name >> seconds;
  if (verb == "list") {
    json names = json::array();
    for (const BenchCase& known : cases) {
      names.push_back(known.name);
    }
    return {{"cases", names}};
  }
  const auto found = std::ranges::find(cases, name, &BenchCase::name);
  if (found == cases.end()) {
    return {{"error", fmt::format("no case '{}'", name)}};
  }
  if (verb == "answer") {
    return found->answer();
  }
  if (verb == "time") {
    const Timing timing = time_calls(found->run, seconds);
    return {{"cpu_s", timing.cpu_s}, {"wall_s", timing.wall_s}, {"calls", timing.calls}};
  }
  return {{"error", fmt::format("unknown request '{}'", verb)}};
}

int serve(const std::filesystem::path& folder) {
  const auto data = load_bench_data(folder);
  if (!data) {
    fmt::print(stderr, "carpool_bench: {}\n", data.error().message);
    return 1;
  }
  const std::vector<BenchCase> cases = all_cases(*data);
  for (std::string question; std::getline(std::cin, question);) {
    std::cout << reply(cases, question).dump() << '\n' << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace carpool

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: carpool_bench DATASET < requests; see ./bench/run\n");
    return 2;
  }
  return carpool::serve(argv[1]);
}
