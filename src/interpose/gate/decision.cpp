#include "interpose/gate/decision.hpp"

#include <array>

namespace carpool::interpose::gate {
namespace {

struct ReasonRow {
  std::string_view name;
  std::string_view words;
};

constexpr std::array<ReasonRow, kHoldReasons> kReasons{{
    {"none", "not held"},
    {"in-flight-bound", "best-effort work in flight has reached its bound"},
    {"commands-in-flight", "the number of commands in flight has reached its limit"},
    {"request-active", "a request with an SLO is active"},
    {"quiet-time", "a request may go on: its last launch is younger than the quiet time"},
    {"arrival-expected", "the next request is expected before the work would end"},
    {"slack-short", "a request with an SLO has little slack left"},
    {"tail-over-slo",
     "the measured tail is above 90 % of the SLO: nothing runs beside requests for some seconds"},
    {"heavy-beside-request", "the kernel is too heavy to run beside an active request"},
    {"long-for-slo",
     "the kernel is longer than a quarter of the SLO, and a request may come before it ends"},
    {"same-bottleneck", "the kernel needs the same resource as the kernel of the SLO job"},
    {"no-free-sms", "the SMs that the kernel needs are in use"},
    {"other-clients-turn", "another best-effort client has had less time"},
    {"tighter-request", "the request of another SLO job has less slack"},
    {"rate-limit", "the client has used up its rate"},
    {"idle-slot-too-short", "the kernel does not fit before the next expected request"},
    {"iteration-of-other", "an iteration of another client is not finished"},
}};

}  // namespace

std::string_view name_of(HoldReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].name;
}

std::string_view words_for(HoldReason reason) {
  return kReasons[static_cast<std::size_t>(reason)].words;
}

}  // namespace carpool::interpose::gate
