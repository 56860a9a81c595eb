// Events as JSON: one line each in the journal, one object each for the API.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/strict_object.hpp"
#include "core/job_names.hpp"
#include "core/json/job_json.hpp"
#include "core/json/json_put.hpp"

namespace carpool {

using nlohmann::json;

json exit_object(const RunExit& exit) {
  json out = {{"end", name_of(exit.end)}, {"at_s", exit.at_s}};
  put(out, "code", exit.code);
  put(out, "signal", exit.signal);
  put(out, "detail", exit.detail, std::string());
  put(out, "wanted_bytes", exit.wanted_bytes);
  put(out, "held_bytes", exit.held_bytes);
  put(out, "culprit", exit.culprit, false);
  if (exit.scope) {
    out["scope"] = name_of(*exit.scope);
  }
  return out;
}

namespace {

RunExit exit_from(const json& object, const std::string& where, Result<void>& good) {
  RunExit exit;
  StrictObject reader(object, where);
  reader.require("end");
  reader.read_name("end", run_end, exit.end);
  reader.read("at_s", exit.at_s);
  reader.read("code", exit.code);
  reader.read("signal", exit.signal);
  reader.read("detail", exit.detail);
  reader.read("wanted_bytes", exit.wanted_bytes);
  reader.read("held_bytes", exit.held_bytes);
  reader.read("culprit", exit.culprit);
  reader.read_name("scope", trouble_scope, exit.scope);
  good = reader.finish();
  return exit;
}

// Writes the fields of each kind of event. Returns the name of the kind.
struct Writer {
  json& out;

  const char* operator()(const JobSubmitted& event) const {
    out["spec"] = job_object(event.spec);
    out["uid"] = event.owner.uid;
    out["user"] = event.owner.user;
    return "submitted";
  }
  const char* operator()(const JobHeld& /*event*/) const { return "held"; }
  const char* operator()(const JobReleased& /*event*/) const { return "released"; }
  const char* operator()(const JobUpdated& event) const {
    out["by"] = event.by;
    put(out, "time_s", event.time_s);
    put(out, "mem_bytes", event.mem_bytes);
    put(out, "priority", event.priority);
    if (event.job_class) {
      out["class"] = name_of(*event.job_class);
    }
    put(out, "begin_s", event.begin_s);
    return "updated";
  }
  const char* operator()(const JobStarted& event) const {
    out["attempt"] = event.attempt;
    out["gpus"] = event.gpus;
    out["mechanism"] = name_of(event.mechanism);
    put(out, "thread_limit", event.thread_limit, kAllThreads);
    out["reserved_bytes"] = event.reserved_bytes;
    put(out, "cap_bytes", event.cap_bytes);
    put(out, "processes", event.processes, 1U);
    put(out, "predicted_progress", event.predicted_progress);
    put(out, "reason", event.reason, std::string());
    return "started";
  }
  const char* operator()(const JobPaused& event) const {
    out["cause"] = name_of(event.cause);
    put(out, "reason", event.reason, std::string());
    return "paused";
  }
  const char* operator()(const JobResumed& event) const {
    put(out, "reason", event.reason, std::string());
    return "resumed";
  }
  const char* operator()(const JobStopAsked& event) const {
    out["by"] = event.by;
    out["final"] = event.final;
    put(out, "reserve_bytes", event.reserve_bytes);
    put(out, "reason", event.reason, std::string());
    return "stop-asked";
  }
  const char* operator()(const JobEnded& event) const {
    out["attempt"] = event.attempt;
    out["exit"] = exit_object(event.exit);
    put(out, "peak_bytes", event.peak_bytes);
    put(out, "progress", event.progress);
    put(out, "processes", event.processes, 1U);
    put(out, "paused_s", event.paused_s, 0.0);
    put(out, "energy_joules", event.energy_joules);
    return "ended";
  }
  const char* operator()(const JobRequeued& event) const {
    put(out, "reason", event.reason, std::string());
    put(out, "reserve_bytes", event.reserve_bytes);
    put(out, "exclusive", event.exclusive, false);
    return "requeued";
  }
  const char* operator()(const JobClosed& event) const {
    out["end"] = name_of(event.end);
    put(out, "reason", event.reason, std::string());
    return "closed";
  }
};

JobSubmitted submitted_from(StrictObject& reader, const std::string& where, Result<void>& inner) {
  JobSubmitted event;
  reader.require("spec");
  if (const json* spec = reader.member("spec")) {
    auto read = job_from(*spec, where);
    if (read) {
      event.spec = std::move(*read);
    } else {
      inner = tl::unexpected(read.error());
    }
  }
  reader.read("uid", event.owner.uid);
  reader.read("user", event.owner.user);
  return event;
}

JobUpdated updated_from(StrictObject& reader) {
  JobUpdated event;
  reader.require("by");
  reader.read("by", event.by);
  reader.read("time_s", event.time_s);
  reader.read("mem_bytes", event.mem_bytes);
  reader.read("priority", event.priority);
  reader.read_name("class", job_class, event.job_class);
  reader.read("begin_s", event.begin_s);
  return event;
}

JobStarted started_from(StrictObject& reader) {
  JobStarted event;
  reader.require("attempt");
  reader.read("attempt", event.attempt);
  reader.read("gpus", event.gpus);
  reader.read_name("mechanism", share_mechanism, event.mechanism);
  reader.read("thread_limit", event.thread_limit);
  reader.read("reserved_bytes", event.reserved_bytes);
  reader.read("cap_bytes", event.cap_bytes);
  reader.read("processes", event.processes);
  reader.read("predicted_progress", event.predicted_progress);
  reader.read("reason", event.reason);
  return event;
}

JobPaused paused_from(StrictObject& reader) {
  JobPaused event;
  reader.require("cause");
  reader.read_name("cause", pause_cause, event.cause);
  reader.read("reason", event.reason);
  return event;
}

JobResumed resumed_from(StrictObject& reader) {
  JobResumed event;
  reader.read("reason", event.reason);
  return event;
}

JobEnded ended_from(StrictObject& reader, const std::string& where, Result<void>& inner) {
  JobEnded event;
  reader.require("attempt");
  reader.read("attempt", event.attempt);
  reader.require("exit");
  if (const json* exit = reader.member("exit")) {
    event.exit = exit_from(*exit, fmt::format("{}: exit", where), inner);
  }
  reader.read("peak_bytes", event.peak_bytes);
  reader.read("progress", event.progress);
  reader.read("processes", event.processes);
  reader.read("paused_s", event.paused_s);
  reader.read("energy_joules", event.energy_joules);
  return event;
}

JobStopAsked stop_from(StrictObject& reader) {
  JobStopAsked event;
  reader.require("by");
  reader.read("by", event.by);
  reader.read("final", event.final);
  reader.read("reserve_bytes", event.reserve_bytes);
  reader.read("reason", event.reason);
  return event;
}

JobRequeued requeued_from(StrictObject& reader) {
  JobRequeued event;
  reader.read("reason", event.reason);
  reader.read("reserve_bytes", event.reserve_bytes);
  reader.read("exclusive", event.exclusive);
  return event;
}

JobClosed closed_from(StrictObject& reader) {
  JobClosed event;
  reader.require("end");
  reader.read_name("end", run_end, event.end);
  reader.read("reason", event.reason);
  return event;
}

// False: there is no such kind.
bool read_kind(const std::string& kind,
               StrictObject& reader,
               const std::string& where,
               JobEvent& event,
               Result<void>& inner) {
  if (kind == "submitted") {
    event.what = submitted_from(reader, where, inner);
  } else if (kind == "held") {
    event.what = JobHeld{};
  } else if (kind == "released") {
    event.what = JobReleased{};
  } else if (kind == "updated") {
    event.what = updated_from(reader);
  } else if (kind == "started") {
    event.what = started_from(reader);
  } else if (kind == "paused") {
    event.what = paused_from(reader);
  } else if (kind == "resumed") {
    event.what = resumed_from(reader);
  } else if (kind == "stop-asked") {
    event.what = stop_from(reader);
  } else if (kind == "ended") {
    event.what = ended_from(reader, where, inner);
  } else if (kind == "requeued") {
    event.what = requeued_from(reader);
  } else if (kind == "closed") {
    event.what = closed_from(reader);
  } else {
    return false;
  }
  return true;
}

}  // namespace

json event_object(const JobEvent& event) {
  json out = {{"job", event.job}, {"at_s", event.at_s}};
  if (event.sequence != 0) {
    out["sequence"] = event.sequence;
  }
  out["event"] = std::visit(Writer{out}, event.what);
  return out;
}

std::string event_line(const JobEvent& event) {
  json object = event_object(event);
  object.erase("sequence");
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<JobEvent> parse_event(std::string_view line, const std::string& where) {
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) {
    return invalid_input(fmt::format("{}: not JSON", where));
  }
  JobEvent event;
  StrictObject reader(object, where);
  std::string kind;
  Result<void> inner;
  reader.require("job");
  reader.read("job", event.job);
  reader.read("at_s", event.at_s);
  reader.require("event");
  reader.read("event", kind);
  if (!read_kind(kind, reader, where, event, inner)) {
    reader.problem("event", fmt::format("\"{}\" is not an event of a job", kind));
  }
  if (auto good = reader.finish(); !good || !inner) {
    return tl::unexpected(good ? inner.error() : good.error());
  }
  return event;
}

}  // namespace carpool
