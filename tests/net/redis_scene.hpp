// tests/net/redis_scene.hpp: a loop whose clock the test turns, a server that the test plays, and calls with their
// ends.
#pragma once

#include <tests/support/scripted_server.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::testing {

/// The command as a server reads it.
inline auto command_bytes(std::initializer_list<std::string_view> words) -> std::string {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words)
    out += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
  return out;
}

/// A bulk string as a server writes it.
inline auto bulk(std::string_view text) -> std::string {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

/// What came of a call.
struct call_end {
  bool over = false;
  std::string text = {};  ///< its value
  std::error_code error = {};
};

class redis_scene {
 public:
  explicit redis_scene(redis_options options = {}) : options_(std::move(options)) {
    server_.direct(options_);
    options_.backoff.seed = 1;
  }
  redis_scene(const redis_scene&) = delete;
  auto operator=(const redis_scene&) -> redis_scene& = delete;
  ~redis_scene() {
    redis_.reset();
    loop_.run_once();
    scopes_.clear();
  }

  /// Connects; the server has accepted when this returns.
  auto connect() -> redis_connection& {
    if (!redis_) redis_.emplace(loop_.io(), options_);
    if (!loop_.run_until([&] { return server_.accept(); })) throw std::runtime_error("the client does not connect");
    loop_.run_once();
    return *redis_;
  }
  /// Lets the time until the next attempt pass, and connects.
  void connect_again() {
    loop_.advance(options_.backoff.max_delay);
    connect();
  }
  /// Makes the connection object, whatever comes of it.
  auto begin() -> redis_connection& {
    redis_.emplace(loop_.io(), options_);
    loop_.run_once();
    return *redis_;
  }
  void end() { redis_.reset(); }

  [[nodiscard]] auto server() -> scripted_server& { return server_; }
  [[nodiscard]] auto loop() -> test_loop& { return loop_; }
  [[nodiscard]] auto redis() -> redis_connection& { return *redis_; }
  [[nodiscard]] auto options() -> redis_options& { return options_; }

  void run_once() { loop_.run_once(); }
  void send(std::string_view bytes) {
    server_.send(bytes);
    run_once();
  }

  /// Starts to get a key; the end is told in what is returned.
  auto get(std::string key, duration timeout = duration::zero()) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    scope& in = *scopes_.emplace_back(std::make_unique<scope>(loop_.io().root()));
    in.spawn(get_in(told, *redis_, std::move(key), timeout));
    return told;
  }
  /// Stops the call that was started last.
  void stop_last() {
    scopes_.back()->request_stop();
    run_once();
  }
  /// The same for the call that was started first.
  void stop_first() {
    scopes_.front()->request_stop();
    run_once();
  }
  auto set(std::string key, std::string value) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    loop_.io().spawn(set_in(told, *redis_, std::move(key), std::move(value)));
    return told;
  }
  /// A redis_batch or redis_id_batch.
  template <typename Batch>
  auto run(const Batch& batch) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    scope& in = *scopes_.emplace_back(std::make_unique<scope>(loop_.io().root()));
    in.spawn(run_in(told, *redis_, batch));
    return told;
  }
  /// Any command, by its words.
  auto command(std::vector<std::string> words) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    loop_.io().spawn(command_in(told, *redis_, std::move(words)));
    return told;
  }

 private:
  static auto get_in(std::shared_ptr<call_end> told, redis_connection& redis, std::string key, duration timeout)
      -> task<void> {
    arena memory;
    const auto got = co_await redis.get(key, memory, timeout);
    told->over = true;
    if (got)
      told->text = got->has_value() ? std::string(**got) : "nothing";
    else
      told->error = got.error();
  }
  static auto set_in(std::shared_ptr<call_end> told, redis_connection& redis, std::string key, std::string value)
      -> task<void> {
    const auto done = co_await redis.set(key, value);
    told->over = true;
    if (!done) told->error = done.error();
  }
  template <typename Batch>
  static auto run_in(std::shared_ptr<call_end> told, redis_connection& redis, const Batch& batch) -> task<void> {
    arena memory;
    const auto got = co_await redis.run(batch, memory);
    told->over = true;
    if (!got) {
      told->error = got.error();
      co_return;
    }
    for (const resp_value& each : *got) told->text += (each.has_text() ? std::string(each.text()) : "-") + " ";
  }
  static auto command_in(std::shared_ptr<call_end> told, redis_connection& redis, std::vector<std::string> words)
      -> task<void> {
    arena memory;
    const std::vector<std::string_view> views(words.begin(), words.end());
    const auto got = co_await redis.command(views, memory);
    told->over = true;
    if (!got)
      told->error = got.error();
    else
      told->text = got->has_text() ? std::string(got->text()) : "-";
  }

  test_loop loop_;
  scripted_server server_;
  redis_options options_;
  std::vector<std::unique_ptr<scope>> scopes_;
  std::optional<redis_connection> redis_;
};

}  // namespace braid::testing
