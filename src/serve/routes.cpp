#include "serve/routes.hpp"

#include <array>
#include <charconv>
#include <exception>
#include <memory>
#include <new>
#include <regex>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

CurrentRequest*& current() {
  thread_local CurrentRequest* request = nullptr;
  return request;
}

constexpr std::chrono::seconds kKeepAlive{15};

ApiQuery query_of(const httplib::Request& request) {
  return {request.params.begin(), request.params.end()};
}

// 0, which no job has, for a number that is too large.
JobId job_of(const httplib::Request& request) {
  const std::string text = request.matches[1];
  JobId id = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  return problem == std::errc{} ? id : 0;
}

void send(JobApi& api, httplib::Response& response, ApiAnswer answer) {
  api.count(answer.status);
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) {
    response.set_header(name, value);
  }
  response.set_header("Content-Type", answer.type);
  response.body = std::move(answer.body);
  CurrentRequest::get().hold(std::move(answer.held));
}

// One stream of events, until the watcher or the server ends it.
class Watching {
 public:
  Watching(JobApi& api, const Caller& caller, std::int64_t sequence)
      : api_(api), caller_(caller), sequence_(sequence) {}
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() { api_.events().leave(caller_.uid); }

  bool next(httplib::DataSink& sink) {
    const auto news = api_.events().after(sequence_, caller_, kKeepAlive);
    if (!news) {
      sink.done();
      return true;
    }
    std::string text =
        news->empty() ? ":\n\n" : "";  // a comment shows whether the watcher is still there
    for (const PublishedEvent& event : *news) {
      text +=
          fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.sequence, event.kind, event.data);
    }
    return sink.write(text.data(), text.size());
  }

 private:
  JobApi& api_;
  Caller caller_;
  std::int64_t sequence_;
};

void watch_events(JobApi& api, const httplib::Request& request, httplib::Response& response) {
  const Caller& caller = CurrentRequest::get().caller();
  if (!api.events().enter(caller.uid)) {
    send(api,
         response,
         error_answer(fail(
             ErrorCode::LimitReached,
             fmt::format("this user already has {} event streams open", EventHub::kMostWatchers))));
    return;
  }
  const std::string since = request.has_param("since") ? request.get_param_value("since")
                                                       : request.get_header_value("Last-Event-ID");
  std::int64_t sequence = api.events().last();
  std::from_chars(since.data(), since.data() + since.size(), sequence);
  // The library copies the function, so this is shared.
  const auto watching = std::make_shared<Watching>(api, caller, sequence);
  api.count(200);
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream",
      [watching](std::size_t /*offset*/, httplib::DataSink& sink) { return watching->next(sink); });
}

using Answering = ApiAnswer (*)(JobApi& api, const Caller& caller, const httplib::Request& request);

struct Route {
  std::string_view method;
  const char* pattern;  // a regular expression for the whole path
  Answering answer;
};

// Every path but that of the event stream, which is not one answer.
constexpr std::array kRoutes = {
    Route{"POST",
          "/v1/jobs",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.submit(caller, CurrentRequest::get().body(), query_of(request));
          }},
    Route{"GET",
          "/v1/jobs",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.list(caller, query_of(request));
          }},
    Route{"GET",
          "/v1/queue",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            ApiQuery query = query_of(request);
            query.emplace("state", "active");
            return api.list(caller, query);
          }},
    Route{"GET",
          R"(/v1/jobs/(\d+))",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.show(caller, job_of(request));
          }},
    Route{"GET",
          R"(/v1/jobs/(\d+)/explain)",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.explain(caller, job_of(request));
          }},
    Route{"GET",
          R"(/v1/jobs/(\d+)/wait)",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.wait(caller, job_of(request), query_of(request));
          }},
    Route{"GET",
          R"(/v1/jobs/(\d+)/logs)",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.logs(caller, job_of(request), query_of(request));
          }},
    Route{"POST",
          R"(/v1/jobs/(\d+)/(cancel|hold|release|requeue))",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.act(caller, job_of(request), request.matches[2]);
          }},
    Route{"POST",
          R"(/v1/jobs/(\d+)/update)",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.update(caller, job_of(request), CurrentRequest::get().body());
          }},
    Route{"GET",
          "/v1/gpus",
          [](JobApi& api, const Caller& caller, const httplib::Request& /*request*/) {
            return api.gpus(caller);
          }},
    Route{"GET",
          "/v1/history",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.history(caller, query_of(request));
          }},
    Route{"GET",
          "/v1/usage",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.usage(caller, query_of(request));
          }},
    Route{"GET",
          "/v1/knowledge",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.knowledge(caller, query_of(request));
          }},
    Route{"POST",
          "/v1/dry-run",
          [](JobApi& api, const Caller& caller, const httplib::Request& request) {
            return api.dry_run(caller, CurrentRequest::get().body(), query_of(request));
          }},
    Route{"POST",
          "/v1/drain",
          [](JobApi& api, const Caller& caller, const httplib::Request& /*request*/) {
            return api.drain(caller, CurrentRequest::get().body());
          }},
    Route{"POST",
          "/v1/prune",
          [](JobApi& api, const Caller& caller, const httplib::Request& /*request*/) {
            return api.prune(caller, CurrentRequest::get().body());
          }},
    Route{"GET",
          "/v1/status",
          [](JobApi& api, const Caller& /*caller*/, const httplib::Request& /*request*/) {
            return api.status();
          }},
    Route{"GET",
          "/metrics",
          [](JobApi& api, const Caller& caller, const httplib::Request& /*request*/) {
            return api.metrics(caller);
          }},
    Route{"GET",
          "/(healthz|readyz)",
          [](JobApi& api, const Caller& /*caller*/, const httplib::Request& /*request*/) {
            return api.healthy();
          }},
};

constexpr const char* kEventPath = "/v1/events";

// The methods of a path; empty: there is no such path.
std::string methods_of(const std::string& path) {
  std::string methods = path == kEventPath ? "GET" : "";
  for (const Route& route : kRoutes) {
    if (std::regex_match(path, std::regex(route.pattern))) {
      methods += fmt::format("{}{}", methods.empty() ? "" : ", ", route.method);
    }
  }
  return methods;
}

// What the library answers by itself has no body: an unknown path, a request that is too large, …
ApiAnswer unanswered(const httplib::Request& request, int status) {
  if (status != 404) {
    return error_answer(status, "the request was not accepted; see docs/api.md");
  }
  const std::string methods = methods_of(request.path);
  if (methods.empty()) {
    return error_answer(
        not_found(fmt::format("there is no path {}; see docs/api.md", request.path)));
  }
  ApiAnswer answer = error_answer(
      405, fmt::format("{} does not accept {}; use {}", request.path, request.method, methods));
  answer.headers.emplace("Allow", methods);
  return answer;
}

// What the library answers when a handler throws.
ApiAnswer failed_answer(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const std::bad_alloc&) {
    return busy_answer("the server is short of memory");
  } catch (...) {
    return error_answer(fail(ErrorCode::Internal, "the server failed on this request"));
  }
}

}  // namespace

CurrentRequest::CurrentRequest(const Caller& caller, std::string_view body)
    : caller_(caller), body_(body) {
  current() = this;
}

CurrentRequest::~CurrentRequest() {
  current() = nullptr;
}

CurrentRequest& CurrentRequest::get() {
  return *current();
}

void add_routes(httplib::Server& server, JobApi& api) {
  for (const Route& route : kRoutes) {
    const auto handler = [&api, answer = route.answer](const httplib::Request& request,
                                                       httplib::Response& response) {
      send(api, response, answer(api, CurrentRequest::get().caller(), request));
    };
    if (route.method == "GET") {
      server.Get(route.pattern, handler);
    } else {
      server.Post(route.pattern, handler);
    }
  }
  server.Get(kEventPath, [&api](const httplib::Request& request, httplib::Response& response) {
    watch_events(api, request, response);
  });
  server.set_error_handler([&api](const httplib::Request& request, httplib::Response& response) {
    if (response.body.empty()) {
      send(api, response, unanswered(request, response.status));
    }
  });
  server.set_exception_handler(
      [&api](const httplib::Request& /*request*/,
             httplib::Response& response,
             const std::exception_ptr& problem) { send(api, response, failed_answer(problem)); });
}

}  // namespace carpool::serve
