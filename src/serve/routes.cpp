#include "serve/routes.hpp"

#include <charconv>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace carpool::serve {
namespace {

const Caller*& current() {
  thread_local const Caller* caller = nullptr;
  return caller;
}

constexpr std::chrono::seconds kKeepAlive{15};

ApiQuery query_of(const httplib::Request& request) {
  return {request.params.begin(), request.params.end()};
}

// Too large for a number of a job: no such job.
JobId job_of(const httplib::Request& request) {
  const std::string text = request.matches[1];
  JobId id = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  return problem == std::errc{} ? id : 0;
}

void send(JobApi& api, httplib::Response& response, const ApiAnswer& answer) {
  api.count(answer.status);
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) {
    response.set_header(name, value);
  }
  response.set_content(answer.body, answer.type);
}

using Answering = std::function<ApiAnswer(JobApi&, const httplib::Request&)>;

httplib::Server::Handler handler(JobApi& api, Answering answering) {
  return [&api, answering = std::move(answering)](const httplib::Request& request,
                                                  httplib::Response& response) {
    send(api, response, answering(api, request));
  };
}

// One stream of events, until the watcher or the server goes.
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
    std::string text = news->empty() ? ":\n\n" : "";  // a comment shows whether anybody listens
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
  const Caller& caller = CurrentCaller::get();
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
  // Copied into the library's functions, so shared.
  const auto watching = std::make_shared<Watching>(api, caller, sequence);
  api.count(200);
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream",
      [watching](std::size_t /*offset*/, httplib::DataSink& sink) { return watching->next(sink); });
}

void add_job_routes(httplib::Server& server, JobApi& api) {
  server.Post("/v1/jobs", handler(api, [](JobApi& a, const httplib::Request& r) {
                return a.submit(CurrentCaller::get(), r.body);
              }));
  server.Get("/v1/jobs", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.list(CurrentCaller::get(), query_of(r));
             }));
  server.Get("/v1/queue", handler(api, [](JobApi& a, const httplib::Request& r) {
               ApiQuery query = query_of(r);
               query.emplace("state", "active");
               return a.list(CurrentCaller::get(), query);
             }));
  server.Get(R"(/v1/jobs/(\d+))", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.show(CurrentCaller::get(), job_of(r));
             }));
  server.Get(R"(/v1/jobs/(\d+)/explain)", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.explain(CurrentCaller::get(), job_of(r));
             }));
  server.Get(R"(/v1/jobs/(\d+)/wait)", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.wait(CurrentCaller::get(), job_of(r), query_of(r));
             }));
  server.Get(R"(/v1/jobs/(\d+)/logs)", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.logs(CurrentCaller::get(), job_of(r), query_of(r));
             }));
  server.Post(R"(/v1/jobs/(\d+)/(cancel|hold|release|requeue))",
              handler(api, [](JobApi& a, const httplib::Request& r) {
                return a.act(CurrentCaller::get(), job_of(r), r.matches[2]);
              }));
}

}  // namespace

CurrentCaller::CurrentCaller(const Caller& caller) {
  current() = &caller;
}

CurrentCaller::~CurrentCaller() {
  current() = nullptr;
}

const Caller& CurrentCaller::get() {
  return *current();
}

void add_routes(httplib::Server& server, JobApi& api) {
  add_job_routes(server, api);
  server.Get("/v1/gpus", handler(api, [](JobApi& a, const httplib::Request&) {
               return a.gpus(CurrentCaller::get());
             }));
  server.Get("/v1/history", handler(api, [](JobApi& a, const httplib::Request& r) {
               return a.history(CurrentCaller::get(), query_of(r));
             }));
  server.Post("/v1/drain", handler(api, [](JobApi& a, const httplib::Request& r) {
                return a.drain(CurrentCaller::get(), r.body);
              }));
  server.Get("/v1/status",
             handler(api, [](JobApi& a, const httplib::Request&) { return a.status(); }));
  server.Get("/v1/events", [&api](const httplib::Request& request, httplib::Response& response) {
    watch_events(api, request, response);
  });
  server.Get(kUnauthorizedPath, handler(api, [](JobApi&, const httplib::Request&) {
               return error_answer(
                   fail(ErrorCode::Unauthenticated, "send a token: Authorization: Bearer TOKEN"));
             }));
  server.Get("/metrics",
             handler(api, [](JobApi& a, const httplib::Request&) { return a.metrics(); }));
  server.Get("/healthz",
             handler(api, [](JobApi& a, const httplib::Request&) { return a.healthy(); }));
  server.Get("/readyz",
             handler(api, [](JobApi& a, const httplib::Request&) { return a.healthy(); }));
  server.set_error_handler([&api](const httplib::Request& request, httplib::Response& response) {
    if (response.body.empty()) {
      send(api,
           response,
           error_answer(response.status,
                        fmt::format("{} {}: see docs/api.md", request.method, request.path)));
    }
  });
  server.set_exception_handler([&api](const httplib::Request& /*request*/,
                                      httplib::Response& response,
                                      const std::exception_ptr& /*problem*/) {
    send(api,
         response,
         error_answer(fail(ErrorCode::Internal, "the server failed on this request")));
  });
}

}  // namespace carpool::serve
