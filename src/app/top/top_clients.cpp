#include "app/top/top_clients.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/output/gate_text.hpp"
#include "app/output/text_table.hpp"
#include "app/server/shim/gate_tally.hpp"

namespace carpool::app {
namespace {

struct TopClient {
  unsigned gpu = 0;
  ShimClient client;
};

std::vector<TopClient> sorted_clients(const TopModel& model) {
  std::vector<TopClient> all;
  for (const GpuReading& gpu : model.gpus) {
    for (const ShimClient& client : gpu.clients) {
      all.push_back({gpu.info.index, client});
    }
  }
  const auto rank = [&](const TopClient& entry) {
    const auto bytes = static_cast<double>(entry.client.seen.used_bytes);
    return std::pair(model.sort == TopSort::Pid ? 0.0 : -bytes, entry.client.seen.pid);
  };
  std::ranges::sort(all, {}, rank);
  return all;
}

std::string rate_cell(const ShimClient& client, double ClientRates::* rate) {
  return client.rates ? fmt::format("{:.0f}", (*client.rates).*rate) : "-";
}

Line client_line(const TopClient& entry) {
  const ShimClient& client = entry.client;
  const std::string limit = client.limit_bytes ? gib_number(*client.limit_bytes) : "-";
  const std::string memory =
      fmt::format("{} / {}", gib_number(client.seen.used_bytes + client.seen.context_bytes), limit);
  Line line{{fmt::format("{:>8}  {:<12.12}  {:>3}  {:>6}  {:>9}  {:>8}  {:>7}  {:>15}  ",
                         client.seen.pid,
                         client.seen.name.empty() ? "-" : client.seen.name,
                         entry.gpu,
                         job_label(client.seen.job),
                         rate_cell(client, &ClientRates::launches),
                         rate_cell(client, &ClientRates::graph_launches),
                         rate_cell(client, &ClientRates::copies),
                         memory)}};
  line.push_back({fmt::format("{:>7}", client.seen.refusals),
                  client.seen.refusals > 0 ? Tone::Warning : Tone::Plain});
  if (client.seen.orphaned) {
    line.push_back({"  orphaned", Tone::Alarm});
  }
  return line;
}

// What the gate did for the client, or to it; empty: nothing.
std::string gate_words(const ShimClient& client) {
  if (!takes_part(client.seen.gate)) {
    return {};
  }
  const nlohmann::json gate = serve::gate_view(gate_of(client.seen.gate));
  const std::string promise = promise_text(gate);
  return promise.empty() ? fmt::format("held {}", held_text(gate)) : promise;
}

}  // namespace

std::vector<Line> client_lines(const TopModel& model, std::size_t most, const Glyphs& glyphs) {
  const std::vector<TopClient> clients = sorted_clients(model);
  if (clients.empty() || most == 0) {
    return {};
  }
  std::vector<Line> lines{
      {{fmt::format("{:>8}  {:<12}  {:>3}  {:>6}  {:>9}  {:>8}  {:>7}  {:>15}  {}",
                    "PID",
                    "CLIENT",
                    "GPU",
                    "JOB",
                    "LAUNCH/S",
                    "GRAPH/S",
                    "COPY/S",
                    "MEM/LIMIT [GiB]",
                    "REFUSED"),
        Tone::Strong}}};
  // The last line counts those that do not fit.
  const std::size_t shown = clients.size() <= most ? clients.size() : most - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    lines.push_back(client_line(clients[i]));
    if (const std::string words = gate_words(clients[i].client); !words.empty()) {
      lines.push_back({{fmt::format("          {}", words), Tone::Faint}});
    }
  }
  if (shown < clients.size()) {
    lines.push_back(
        {{fmt::format("          {} {} more clients", glyphs.ellipsis, clients.size() - shown),
          Tone::Faint}});
  }
  lines.push_back({});
  return lines;
}

}  // namespace carpool::app
