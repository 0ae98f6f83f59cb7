// tests/rankd/server/out_of_memory_test.cpp: whichever allocation of a request over HTTP fails, that request
// fails alone.
#include <rankd/server/files/arrow_file.hpp>
#include <rankd/server/studio/draft_plans.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/plan_changes.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/traces/span_exporter.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/studio_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::failures;
using braid::testing::heard_answer;
using braid::testing::http_caller;
using braid::testing::request_text;
using braid::testing::scarce_memory;
using braid::testing::scarcity;
using braid::testing::scratch_folder;
using braid::testing::survives;
using braid::testing::watchdog;

namespace {

/// A client that allocates nothing while it asks.
class frugal_caller {
 public:
  explicit frugal_caller(const braid::socket_address& to) : to_(to) {}

  /// Sends one request, and reads its answer to the end. Returns its status, or 0 if the connection ended without one.
  auto ask(std::string_view text) -> int {
    if (!socket_) connect();
    size_ = 0;
    while (!text.empty()) {
      const auto sent = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return close();
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    while (!is_whole()) {
      const auto got = ::recv(socket_.number(), room_->data() + size_, room_->size() - size_, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return ended();
      size_ += static_cast<std::size_t>(got);
    }
    const int status = number_at(9);
    if (heard().find("\r\nConnection: close\r\n") != std::string_view::npos) close();
    return status;
  }
  [[nodiscard]] auto is_open() const -> bool { return static_cast<bool>(socket_); }
  [[nodiscard]] auto body() const -> std::string_view {
    const std::size_t head = heard().find("\r\n\r\n");
    return head == std::string_view::npos ? std::string_view() : heard().substr(head + 4);
  }

 private:
  [[nodiscard]] auto heard() const -> std::string_view { return {room_->data(), size_}; }
  void connect() {
    socket_ = braid::descriptor(::socket(to_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket_.number(), to_.data(), to_.size()) == 0);
  }
  auto close() -> int {
    socket_ = braid::descriptor();
    return 0;
  }
  /// Returns the status of an answer that lasts until its connection ends.
  auto ended() -> int {
    close();
    return body().data() == nullptr ? 0 : number_at(9);
  }
  [[nodiscard]] auto number_at(std::size_t begin) const -> int {
    int out = 0;
    const std::string_view text = heard().substr(begin);
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  [[nodiscard]] auto is_whole() const -> bool {
    constexpr std::string_view length = "\r\nContent-Length: ";
    const std::string_view all = heard();
    const std::size_t head = all.find("\r\n\r\n");
    if (head == std::string_view::npos) return false;
    const std::size_t at = all.substr(0, head).find(length);
    if (at != std::string_view::npos)
      return all.size() >= head + 4 + static_cast<std::size_t>(number_at(at + length.size()));
    return all.find("\r\nTransfer-Encoding") == std::string_view::npos ? all.starts_with("HTTP/1.1 204")
                                                                       : all.ends_with("\r\n0\r\n\r\n");
  }

  braid::socket_address to_;
  braid::descriptor socket_;
  std::unique_ptr<std::array<char, 4'000'000>> room_ = std::make_unique<std::array<char, 4'000'000>>();
  std::size_t size_ = 0;
};

constexpr std::string_view token = "Authorization: Bearer 0123456789abcdef\r\n";

/// A server with everything that a server can have, whose limits are so low that what is not given back is noticed.
class full_world {
 public:
  full_world() {
    plans_folder_.write("a.json", marked_plan("a", 1));
    plans_folder_.write("b.json", marked_plan("b", 2));
    plans_folder_.write("reels_plan_a.json", read_text_file("plans/compiled/reels_plan_a.json").value());
    std::filesystem::permissions(compiler_, std::filesystem::perms::owner_all);
    files_.write("artifact", nlohmann::json(reels_artifact(1)).dump());
    value_of(changes_.reload());
    const auto& project = reference_project::get();
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(10);
    options.tokens = value_of(token_list::parse("all [force, shadow, events, edit] 0123456789abcdef\n", "tokens"));
    options.clients_change_plans = true;
    options.shows_page = true;
    options.max_in_flight = 2;
    options.queue = 2;
    options.max_wait = std::chrono::minutes(10);
    options.client_in_flight = 2;
    options.body_memory = 8000;
    options.last_seconds = [](braid::duration) { return braid::result<std::string>("the last seconds"); };
    server_ = value_of(rank_server::start({.declared = &project.declared,
                                           .stores = project.stores,
                                           .shadows = {{.plan = "a", .candidate = "b", .share = 1}},
                                           .plans = &plans_,
                                           .changes = &changes_,
                                           .log = log_,
                                           .audit = audit_.get(),
                                           .captures = captures_.get(),
                                           .arrow_captures = arrow_captures_.get(),
                                           .exposures = exposures_.get(),
                                           .events = events_.get(),
                                           .rules = &rules_,
                                           .traffic = traffic_.get(),
                                           .traffic_places = {recorded_visits::get().folder()},
                                           .drafts = &drafts_,
                                           .spans = spans_.get()},
                                          std::move(options)));
  }

  auto address() -> braid::socket_address { return server_->address(); }
  auto ask(const std::string& text) -> heard_answer {
    http_caller one(address());
    one.say(text);
    return one.hear().value();
  }
  auto metrics() -> std::string { return ask(request_text("GET", "/metrics", token)).body; }

 private:
  static auto image(const bound_plan& plan) -> braid::checked<recorded_plan> {
    return make_image(plan, reference_project::get().where, reference_project::get().declared);
  }
  static auto bind(const std::string& artifact, const std::string& name) -> braid::checked<bound_plan> {
    const registries& declared = reference_project::get().declared;
    auto plan = parse_plan(artifact, name + ".json", {all_op_shapes(), declared});
    if (!plan) return std::unexpected(std::move(plan.error()));
    return bind_plan(std::move(*plan), declared);
  }

  scratch_folder plans_folder_;
  scratch_folder files_;
  std::filesystem::path compiler_ = files_.write("dslc", fake_compiler);
  event_rules rules_;
  std::unique_ptr<line_file> log_file_ = value_of(line_file::open(files_.path() / "log"));
  serve_log log_{*log_file_, log_level::debug};
  std::unique_ptr<line_file> audit_ = value_of(line_file::open(files_.path() / "audit"));
  std::unique_ptr<event_log> events_ =
      value_of(event_log::open({.folder = files_.path() / "events", .sync = [](int) { return 0; }, .log = log_}));
  std::unique_ptr<line_file> captures_ = value_of(line_file::series({.folder = files_.path(), .name = "captures"}));
  std::unique_ptr<arrow_file> arrow_captures_ =
      value_of(arrow_file::open({.series = {.folder = files_.path() / "arrow", .name = "captures"}}));
  std::unique_ptr<line_file> exposures_ = value_of(line_file::series({.folder = files_.path(), .name = "exposures"}));
  std::unique_ptr<traffic_writer> traffic_ = value_of(traffic_writer::open(
      files_.path() / "day.rec",
      value_of(make_image(reference_project::get().where, reference_project::get().declared, "1.2")),
      {.make_image = &image}));
  std::unique_ptr<span_exporter> spans_ = value_of(
      span_exporter::start({.url = "http://127.0.0.1:1/", .interval = std::chrono::hours(1), .last_words = {}}, log_));
  plan_library library_{reference_project::get().declared, {}};
  plan_changes changes_{library_, plans_folder_.path(), log_};
  library_plans plans_{library_};
  draft_plans drafts_{{.compiler = {.program = compiler_.string(), .project = files_.path()}, .bind = &bind}};
  std::unique_ptr<rank_server> server_;
};

struct asked_row {
  std::string_view method;
  std::string_view path;
  std::string_view body = {};
  int status = 200;
  bool is_repeatable = true;  // the same request has the same answer
};

constexpr std::string_view number = "#######";  // a number of its own for each request

/// The text of a request; `next` makes it another one.
class numbered_text {
 public:
  explicit numbered_text(const asked_row& row)
      : text_(request_text(row.method, row.path, token, row.body)), at_(text_.find(number)) {}
  auto next() -> std::string_view {
    static int last = 1'000'000;
    if (at_ != std::string::npos) std::to_chars(text_.data() + at_, text_.data() + at_ + number.size(), ++last);
    return text_;
  }

 private:
  std::string text_;
  std::size_t at_;
};

/// Returns the text of an answer up to its explanation, whose times and critical path differ from run to run.
auto without_times(std::string_view body) -> std::string_view { return body.substr(0, body.find(R"(,"explain":)")); }

/// Fails each n-th allocation of the request, and asks once more each time, when there is memory again.
void fail_each(full_world& world, const asked_row& row, scarcity then) {
  constexpr int passes_enough = 2;
  frugal_caller caller(world.address());
  numbered_text text(row);
  const std::string head_of_connection = request_text("GET", "/healthz");
  int status = caller.ask(text.next());
  for (int warm = 0; warm < 3 && status != row.status; ++warm) status = caller.ask(text.next());
  CHECK_MESSAGE(status == row.status, caller.body());
  if (status != row.status) return;
  const std::string expected(without_times(caller.body()));
  for (long n = 0, passed = 0; passed < passes_enough; ++n) {
    CAPTURE(n);
    REQUIRE(n < 20'000);
    if (!caller.is_open()) REQUIRE(caller.ask(head_of_connection) == 200);
    const std::string_view asked = text.next();
    {
      const scarce_memory scarce(n, then);
      status = caller.ask(asked);
    }
    const bool failed = failures() != 0;
    passed = failed ? 0 : passed + 1;
    if (status == 503)
      CHECK_MESSAGE((caller.body().starts_with(R"({"error":{"code":"out_of_memory",)") ||
                     caller.body().starts_with(R"({"error":{"code":"events_not_written",)")),
                    caller.body());
    else if (status != 0)
      CHECK_MESSAGE(status == row.status, caller.body());
    CHECK((failed || status == row.status));
    int again = caller.ask(text.next());
    while (again == 429) again = caller.ask(text.next());  // the thread of a comparison still gives back its place
    REQUIRE_MESSAGE(again == row.status, caller.body());
    if (row.is_repeatable) REQUIRE(without_times(caller.body()) == expected);
  }
}

/// Sends the request of one row again and again, whose n-th allocation fails: alone, and with all that come after it.
void fail_each(const asked_row& row) {
  const watchdog dog(std::chrono::seconds(300));
  full_world world;
  for (const scarcity then : {scarcity::one, scarcity::rest}) {
    CAPTURE(row.path);
    CAPTURE(row.body);
    CAPTURE(then == scarcity::rest);
    fail_each(world, row, then);
  }
  CHECK(eventually([&] { return world.metrics().find("\nrankd_in_flight 0\n") != std::string::npos; }));
}

}  // namespace

TEST_CASE("a request to rank that gets no memory fails alone") {
  fail_each({"POST", "/v1/rank", R"({"user_id":1,"plan":"a","request_id":"r"})"});
}

TEST_CASE("a request for an explanation that gets no memory fails alone") {
  fail_each({"POST", "/v1/rank", R"({"user_id":1,"plan":"reels_plan_a","request_id":"r","explain":true})"});
}

TEST_CASE("a request for a plan that there is not fails alone if it gets no memory") {
  fail_each({"POST", "/v1/rank", R"({"user_id":1,"plan":"none","request_id":"r"})", 404});
}

TEST_CASE("a request that is wrong fails alone if it gets no memory") {
  fail_each({"POST", "/v1/rank", R"({"user_id":1,"plan":"a","context":{"a":[{}]},"request_id":7})", 400});
}

TEST_CASE("a batch that gets no memory fails alone") {
  fail_each({"POST", "/v1/rank/batch",
             R"({"requests":[{"user_id":1,"plan":"a","request_id":"p"},{"user_id":2,"plan":"a","request_id":"q"}]})"});
}

TEST_CASE("a batch that is wrong fails alone if it gets no memory") {
  fail_each({"POST", "/v1/rank/batch", R"({"requests":{}})", 400});
}

TEST_CASE("events that get no memory fail alone") {
  fail_each({"POST", "/v1/events", R"({"events":[{"event_id":"e#######","type":"click","item_id":3}]})"});
}

TEST_CASE("events that are wrong fail alone if they get no memory") {
  fail_each({"POST", "/v1/events", R"({"events":[{"event_id":"e","type":[]}]})", 400});
}

TEST_CASE("a list of plans that gets no memory fails alone") { fail_each({"GET", "/v1/plans"}); }

TEST_CASE("a plan that gets no memory fails alone") { fail_each({"GET", "/v1/plans/a"}); }

TEST_CASE("versions of a plan that get no memory fail alone") { fail_each({"GET", "/v1/plans/a/versions"}); }

TEST_CASE("a pin that gets no memory fails alone") { fail_each({"POST", "/v1/plans/a/versions/1/pin"}); }

TEST_CASE("an unpin that gets no memory fails alone") { fail_each({"POST", "/v1/plans/a/unpin"}); }

TEST_CASE("recorded traffic that gets no memory fails alone") { fail_each({"GET", "/v1/traffic"}); }

TEST_CASE("a reload that gets no memory fails alone") { fail_each({"POST", "/v1/reload"}); }

TEST_CASE("questions for health that get no memory fail alone") {
  fail_each({"GET", "/healthz"});
  fail_each({"GET", "/readyz"});
}

TEST_CASE("questions for the compiler that get no memory fail alone") {
  fail_each({"GET", "/v1/plans/reels_plan_a/source"});
  fail_each({"POST", "/v1/plans/reels_plan_a/draft", R"({"text":"x"})"});
  fail_each({"POST", "/v1/plans/reels_plan_a/draft", R"({"text":"wrong"})"});
  fail_each({"POST", "/v1/plans/reels_plan_a/draft", R"({"artifact":"{}"})"});
  fail_each({"GET", "/v1/plans/none/source", {}, 404});
}

TEST_CASE("metrics that get no memory fail alone") {
  fail_each({.method = "GET", .path = "/metrics", .is_repeatable = false});
}

TEST_CASE("a trace that gets no memory fails alone") { fail_each({"GET", "/v1/trace"}); }

TEST_CASE("pages that get no memory fail alone") {
  fail_each({"GET", "/ui"});
  fail_each({"GET", "/v1/openapi.json"});
  fail_each({.method = "GET", .path = "/none", .status = 404});
}

TEST_CASE("events of a call that got no memory may come again") {
  const scratch_folder folder;
  const event_rules rules;
  const auto log = value_of(event_log::open({.folder = folder.path(), .sync = [](int) { return 0; }}));
  int refused = 0;
  for (long n = 0, passed = 0; passed < 2; ++n) {
    CAPTURE(n);
    REQUIRE(n < 1000);
    const event one{.event_id = "an id that has memory of its own " + std::to_string(n), .type = "click"};
    const std::vector<event> events{one};
    std::optional<braid::future<event_outcome>> first;
    {
      const scarce_memory scarce(n, scarcity::one);
      static_cast<void>(survives([&] { first.emplace(log->add(events, rules, std::chrono::milliseconds(1))); }));
    }
    const bool is_written = first && first->get().result == event_outcome::result_kind::written;
    passed = failures() == 0 ? passed + 1 : 0;
    refused += is_written ? 0 : 1;
    auto again = log->add(events, rules, std::chrono::milliseconds(2));
    const event_outcome outcome = again.get();
    CHECK(outcome.result == event_outcome::result_kind::written);
    CHECK(outcome.duplicates == (is_written ? 1 : 0));
  }
  CHECK((refused != 0 || braid::testing::under_thread_sanitizer));
}

TEST_CASE("lines that get no memory are lost, and counted") {
  const scratch_folder folder;
  const auto file = value_of(line_file::series({.folder = folder.path(), .name = "l", .max_bytes = 100}));
  constexpr int lines = 200;
  for (int n = 0; n < lines; ++n) {
    const auto is_settled = [&] { return file->lost() + file->written() == static_cast<std::uint64_t>(n) + 1; };
    bool is_counted = false;
    {
      const scarce_memory scarce(n % 5, scarcity::rest);
      file->add("a line that is longer than what a string has within itself");
      if (n % 7 == 0) file->reopen();
      is_counted = eventually(is_settled);
    }
    REQUIRE(is_counted);
  }
  CHECK(file->written() != 0);
}
