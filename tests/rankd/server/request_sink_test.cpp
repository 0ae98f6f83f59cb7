// tests/rankd/server/request_sink_test.cpp: what the sinks of a loop receive, and that one which fails disturbs
// nothing.
#include <rankd/server/detail/request_sink.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/detail/served_request.hpp>
#include <rankd/server/detail/shard.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::detail::request_sink;
using rankd::detail::served_request;
using rankd::testing::reference_project;
using rankd::testing::value_of;

namespace {

class failing_sink final : public request_sink {
 public:
  void receive(served_request& /*request*/) override { throw std::runtime_error("a sink that throws"); }
};

/// Writes down what it receives; read after the loop has stopped.
class noting_sink final : public request_sink {
 public:
  explicit noting_sink(std::vector<std::string>& into) noexcept : into_(&into) {}
  void prepare(served_request& /*request*/, rank_request& asked, std::string_view /*text*/,
               std::string_view head_id) override {
    into_->push_back("prepare " + asked.plan + " " + std::string(head_id));
  }
  void receive(served_request& request) override {
    into_->push_back("receive " + request.record.code + (request.ranked != nullptr ? " ranked" : "") +
                     (request.which ? "" : " part") + (request.plan_place ? " holds its place" : ""));
  }
  void stop() override { into_->push_back("stop"); }

 private:
  std::vector<std::string>* into_;
};

/// One loop that serves the reference project.
class one_loop {
 public:
  explicit one_loop(serve_log log) : shared_(made(*plans_, log)), loop_(shared_, {.in_flight = 4, .queue = 4}) {
    loop_.context().shares.connections = 4;
    loop_.context().shares.body_memory = 1U << 20U;
  }
  ~one_loop() { end(); }
  one_loop(const one_loop&) = delete;
  auto operator=(const one_loop&) -> one_loop& = delete;

  auto sinks() -> detail::request_sinks& { return loop_.context().sinks; }

  void serve() {
    REQUIRE(loop_.start_runtime("one").has_value());
    at_ = loop_.serve(braid::socket_address::loopback(0), detail::port_use::alone, {}).value();
  }
  auto post(std::string_view path, std::string_view body) -> int {
    braid::testing::http_caller caller(at_);
    caller.say(braid::testing::request_text("POST", path, {}, body));
    return caller.hear().value().status;
  }
  /// Returns after the last request has been received.
  void end() {
    loop_.stop_runtime();
    loop_.end_runtime();
  }

 private:
  static auto made(const plan_source& plans, serve_log log) -> serve_context {
    return {.declared = &reference_project::get().declared,
            .stores = reference_project::get().stores,
            .plans = &plans,
            .log = log};
  }

  std::unique_ptr<fixed_plans> plans_ = std::make_unique<fixed_plans>(rankd::testing::test_plans());
  detail::serve_shared shared_;
  detail::shard loop_;
  braid::socket_address at_;
};

}  // namespace

TEST_CASE("each request reaches every sink once, even if one of them throws, and the log says so") {
  const braid::testing::scratch_folder folder;
  std::vector<std::string> seen;
  {
    const auto file = value_of(line_file::open(folder.path() / "log"));
    one_loop world(serve_log(*file, log_level::error));
    world.sinks().insert(world.sinks().begin(), std::make_unique<failing_sink>());
    world.sinks().push_back(std::make_unique<noting_sink>(seen));
    world.serve();
    CHECK(world.post("/v1/rank", R"({"user_id":1,"plan":"ten","request_id":"a"})") == 200);
    CHECK(world.post("/v1/rank", R"({"user_id":1,"plan":"unheard"})") == 404);
    CHECK(world.post("/v1/rank/batch", R"({"requests":[{"user_id":1,"plan":"ten"}]})") == 200);
    world.end();
  }
  CHECK(seen == std::vector<std::string>{"prepare ten ", "receive ok ranked", "receive unknown_plan", "prepare ten ",
                                         "receive ok ranked part", "receive ok", "stop"});
  const std::string log = read_text_file(folder.path() / "log").value();
  std::size_t failures = 0;
  for (std::size_t at = log.find("a sink that throws"); at != std::string::npos;
       at = log.find("a sink that throws", at + 1))
    ++failures;
  CHECK(failures == 4);
}
