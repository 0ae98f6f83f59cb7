// tests/net/redis_outage_test.cpp: every kind of outage, with one call, with many at once, and in a cluster: each call
// has ended by its deadline, with its own reply or a fitting error, and a second after the outage the server is in use
// again.
#include <tests/net/redis_scene.hpp>
#include <tests/support/scripted_server.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/base/random.hpp>
#include <braid/net/detail/resp_parser.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

enum class outage {
  none,
  refused,
  black_hole,
  slow,
  reset_in_reply,
  half_reply,
  garbage,
  loading,
  no_memory,
  moved,
  no_password,
  killed,
  frozen
};
enum class shape { single, pipelined, cluster };
enum class patience {
  little,     ///< timeouts and silence so short that much happens
  by_default  ///< all of them as the options have them
};

/// What an outage may do to a call besides letting it have its reply.
auto fits(outage what, shape how, std::error_code error) -> bool {
  const bool in_cluster = how == shape::cluster;  // which tries again until the deadline
  const bool late = error == errc::deadline_exceeded;
  switch (what) {
    case outage::none: return false;
    case outage::refused: return late || error == std::errc::connection_refused || error == redis_errc::connection_lost;
    case outage::black_hole:
    case outage::frozen:
    case outage::half_reply: return late;
    case outage::slow: return false;
    case outage::reset_in_reply: return error == redis_errc::connection_lost || (in_cluster && late);
    case outage::garbage:
      return error == redis_errc::connection_lost || error.category() == braid::detail::resp_category() ||
             (in_cluster && late);
    case outage::loading: return error == redis_errc::loading || (in_cluster && late);
    case outage::no_memory: return error == redis_errc::out_of_memory;
    case outage::moved: return in_cluster ? error == redis_errc::too_many_hops : error == redis_errc::moved;
    case outage::no_password: return error == redis_errc::no_authentication;
    case outage::killed: return late || error == std::errc::connection_refused || error == redis_errc::connection_lost;
  }
  return false;
}

/// A node that answers commands, as far as its outage lets it.
class node {
 public:
  [[nodiscard]] auto path() const -> std::string { return server_.path(); }

  void begin(outage what) {
    if ((what_ == outage::refused || what_ == outage::killed) && what == outage::none) server_.listen();
    what_ = what;
    if (what == outage::refused || what == outage::killed) {
      server_.stop_listening();
      server_.hang_up();
    }
  }

  /// Once a millisecond.
  void serve() {
    if (what_ == outage::frozen || what_ == outage::refused || what_ == outage::killed) return;
    if (server_.accept()) {
      commands_.clear();
      late_.clear();
      is_mute_ = false;
    }
    commands_ += server_.take();
    if (is_mute_) return;
    while (!commands_.empty()) {
      arena memory;
      braid::detail::resp_parser parser;
      parser.begin(&memory);
      const auto [state, consumed] = parser.parse(commands_);
      if (state != braid::detail::resp_parser::status::complete) break;
      const auto words = parser.value().items();
      const std::string reply = reply_to(words[0].text(), words.size() > 1 ? words[1].text() : "");
      commands_.erase(0, consumed);
      if (!answer(reply)) break;
    }
    for (auto& [wait, reply] : late_)
      if (wait-- == 0) say(reply);
  }

 private:
  [[nodiscard]] auto reply_to(std::string_view name, std::string_view key) const -> std::string {
    if (name == "CLUSTER") return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk(path()) + ":1\r\n";
    switch (what_) {
      case outage::loading: return "-LOADING Redis is loading the dataset in memory\r\n";
      case outage::no_memory: return "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
      case outage::moved: return "-MOVED 1 " + path() + ":1\r\n";
      case outage::no_password: return "-NOAUTH Authentication required.\r\n";
      default: return bulk("value of " + std::string(key));
    }
  }

  /// False: this connection gives no more answers.
  auto answer(const std::string& reply) -> bool {
    switch (what_) {
      case outage::black_hole: is_mute_ = true; return false;
      case outage::slow: late_.emplace_back(60, reply); return true;
      case outage::half_reply:
        say(reply.substr(0, reply.size() / 2));
        is_mute_ = true;
        return false;
      case outage::reset_in_reply:
        say(reply.substr(0, reply.size() / 2));
        server_.hang_up();
        commands_.clear();
        return false;
      case outage::garbage: {
        std::string noise(20, ' ');
        std::ranges::generate(noise, [this] { return static_cast<char>(random_.below(256)); });
        say("?" + noise);
        return true;
      }
      default: say(reply); return true;
    }
  }

  void say(std::string_view bytes) {
    try {
      server_.send(bytes);
    } catch (const std::runtime_error&) {
      commands_.clear();  // the client has hung up
    }
  }

  scripted_server server_;
  outage what_ = outage::none;
  std::string commands_;
  std::vector<std::pair<int, std::string>> late_;
  bool is_mute_ = false;  // until there is another connection
  random_source random_{1};
};

class world {
 public:
  world(shape how, patience much) {
    redis_options options;
    options.socket_path = server_.path();
    if (much == patience::little) {
      options.request_timeout = 100ms;
      options.connect_timeout = 100ms;
      options.silence = 300ms;
    }
    deadline_ = options.request_timeout;
    options.backoff.seed = 1;
    if (how != shape::cluster) {
      redis_.emplace(loop_.io(), options);
      return;
    }
    redis_cluster::options all;
    all.nodes = {{.host = server_.path(), .port = 1}};
    all.connection = options;
    cluster_.emplace(loop_.io(), all);
  }
  ~world() {
    if (redis_) redis_->close();
    if (cluster_) cluster_->close();
    loop_.run_once(200);
    loop_.advance(1s);
  }

  auto get(const std::string& key) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    if (redis_)
      loop_.io().spawn(get_in(told, *redis_, key));
    else
      loop_.io().spawn(get_in(told, *cluster_, key));
    return told;
  }

  void pass(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      server_.serve();
      loop_.advance(1ms);
    }
  }
  [[nodiscard]] auto server() -> node& { return server_; }

  [[nodiscard]] auto deadline() const -> int { return static_cast<int>(deadline_ / 1ms); }

 private:
  template <typename Redis>
  static auto get_in(std::shared_ptr<call_end> told, Redis& redis, std::string key) -> task<void> {
    arena memory;
    const auto got = co_await redis.get(key, memory);
    told->over = true;
    if (got) told->text = got->value_or("nothing");
    if (!got) told->error = got.error();
  }

  duration deadline_{};
  test_loop loop_;
  node server_;
  std::optional<redis_connection> redis_;
  std::optional<redis_cluster> cluster_;
};

void live_through(outage what, shape how, patience much) {
  world all(how, much);
  const auto before = all.get("before");
  all.pass(50);
  REQUIRE(before->text == "value of before");

  all.server().begin(what);
  std::vector<std::shared_ptr<call_end>> calls;
  for (int i = 0; i < (how == shape::single ? 1 : 50); ++i) calls.push_back(all.get(std::to_string(i)));
  all.pass(all.deadline() + 2);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    REQUIRE(calls[i]->over);
    CAPTURE(calls[i]->error.message());
    const bool answered = !calls[i]->error && calls[i]->text == "value of " + std::to_string(i);
    CHECK((answered || fits(what, how, calls[i]->error)));
  }

  all.server().begin(outage::none);
  std::shared_ptr<call_end> after;
  for (int waited = 0; waited < 1'000 && (!after || after->text != "value of after"); ++waited) {
    if (!after || after->over) after = all.get("after");
    all.pass(1);
  }
  CHECK(after->text == "value of after");
}

}  // namespace

TEST_CASE("whatever a server does, calls end in time with their own reply or a fitting error, and go on after it") {
  int lived_through = 0;
  for (const patience much : {patience::little, patience::by_default})
    for (const shape how : {shape::single, shape::pipelined, shape::cluster})
      for (int what = static_cast<int>(outage::refused); what <= static_cast<int>(outage::frozen); ++what) {
        CAPTURE(what);
        CAPTURE(static_cast<int>(how));
        CAPTURE(static_cast<int>(much));
        live_through(static_cast<outage>(what), how, much);
        ++lived_through;
      }
  CHECK(lived_through == 72);
}

TEST_CASE("a server that owes a reply and says nothing at all is given up") {
  redis_scene scene;
  scene.connect();
  const auto endless = scene.get("k", duration::max());
  const auto call = scene.get("k");
  scene.loop().advance(1100ms);
  CHECK((call->error == errc::deadline_exceeded));
  scene.loop().advance(3800ms);
  CHECK(scene.redis().counts().lost == 0);
  scene.loop().advance(200ms);
  CHECK(scene.redis().counts().lost == 0);  // what has come while nobody looked is read first
  scene.loop().advance(20ms);
  CHECK(scene.redis().counts().lost == 1);
  CHECK((endless->error == redis_errc::connection_lost));
  CHECK((scene.redis().last_error() == std::errc::timed_out));
}

TEST_CASE("a server that says nothing is given up sooner where nobody waits any more for what comes next") {
  for (const std::string begun : {"", "$5\r\nab"}) {
    CAPTURE(begun);
    redis_scene scene;
    scene.connect();
    const auto call = scene.get("k", 50ms);
    scene.run_once();
    scene.send(begun);
    scene.loop().advance(60ms);
    CHECK((call->error == errc::deadline_exceeded));
    const auto behind = scene.get("k", 10s);
    for (int i = 0; i < 67; ++i) scene.loop().advance(10ms);
    CHECK(scene.redis().counts().lost == 0);
    for (int i = 0; i < 6; ++i) scene.loop().advance(10ms);
    CHECK(scene.redis().counts().lost == 1);
    CHECK((behind->error == redis_errc::connection_lost));
    scene.connect_again();
    const auto next = scene.get("k");
    scene.run_once();
    scene.send(bulk("v"));
    CHECK(next->text == "v");
  }
}

TEST_CASE("a slow server that answers keeps its connection, whoever does not wait for it") {
  redis_scene scene;
  scene.connect();
  for (int round = 0; round < 5; ++round) {
    const auto hasty = scene.get("k", 20ms);
    scene.run_once();
    for (int i = 0; i < 14; ++i) scene.loop().advance(50ms);
    CHECK((hasty->error == errc::deadline_exceeded));
    scene.send(bulk("late"));
  }
  const auto patient = scene.get("k", 4s);  // the command takes that long, and others behind it leave
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(scene.get("k", 20ms));
    for (int k = 0; k < 20; ++k) scene.loop().advance(50ms);
  }
  scene.send(bulk("v") + bulk("x") + bulk("x") + bulk("x"));
  CHECK(patient->text == "v");

  // A loop that was away has not read what has come meanwhile.
  static_cast<void>(scene.get("k", 20ms));
  scene.run_once();
  scene.loop().advance(30ms);
  scene.server().send(bulk("late"));
  scene.loop().advance(10s);
  const auto next = scene.get("k");
  scene.run_once();
  scene.send(bulk("v"));
  CHECK(next->text == "v");
  CHECK(scene.redis().counts().lost == 0);
}

TEST_CASE("a server that is asked nothing may be silent") {
  redis_scene scene;
  scene.connect();
  const auto call = scene.get("k");
  scene.run_once();
  scene.send(bulk("v"));
  for (int i = 0; i < 20; ++i) scene.loop().advance(1s);
  CHECK(call->text == "v");
  CHECK(scene.redis().counts().lost == 0);
}
