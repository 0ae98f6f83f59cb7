// tests/rankd/server/collector.hpp: a collector of spans on this machine, which takes, refuses or does not answer.
#pragma once

#include <braid/coro/synchronization.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace rankd::testing {

class collector {
 public:
  /// Answers these first, each to one call, and then 200 with `body`. Status 0: never.
  explicit collector(std::vector<int> first = {}, std::string body = "{}")
      : first_(std::move(first)),
        body_(std::move(body)),
        on_(braid::or_throw(
            braid::runtime::create({.workers = 1, .name = "sink", .shape = braid::runtime_shape::merged}))) {
    routes_.post("/v1/traces", [this](braid::http_exchange& x) { return take(x); });
    on_->run(listen());
  }
  collector(const collector&) = delete;
  auto operator=(const collector&) -> collector& = delete;
  ~collector() {
    on_->run(end());
    on_.reset();
  }

  [[nodiscard]] auto url() const -> std::string { return "http://" + address_.to_string(); }
  /// How many calls have come.
  [[nodiscard]] auto calls() const -> std::size_t {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  /// How many spans each call had that was taken.
  [[nodiscard]] auto sizes() const -> std::vector<std::size_t> {
    const std::scoped_lock lock(mutex_);
    return sizes_;
  }
  /// All of these spans, in order.
  [[nodiscard]] auto spans() const -> std::vector<nlohmann::json> {
    const std::scoped_lock lock(mutex_);
    return spans_;
  }
  [[nodiscard]] auto content_type() const -> std::string {
    const std::scoped_lock lock(mutex_);
    return content_type_;
  }

 private:
  auto listen() -> braid::task<void> {
    auto listener = braid::or_throw(braid::stream_listener::listen(on_->io(), braid::socket_address::loopback(0)));
    address_ = braid::or_throw(listener.local_address());
    server_ = std::make_unique<braid::http_server>(on_->io(), routes_);
    on_->io().spawn(serve(std::move(listener)));
    co_return;
  }
  auto serve(braid::stream_listener listener) -> braid::task<void> {
    auto serving = server_->serve(std::move(listener));
    static_cast<void>(co_await std::move(serving));
  }
  auto end() -> braid::task<void> {
    auto stopping = server_->stop({});
    co_await std::move(stopping);
  }

  auto take(braid::http_exchange& x) -> braid::task<void> {
    auto reading = x.read_all();
    const braid::result<std::string> text = co_await std::move(reading);
    if (!text) co_return;
    const int status = note(*text, x.request().fields.find("Content-Type").value_or(""));
    if (status == 0) {
      braid::event never;
      co_await never;
    }
    x.reply(static_cast<braid::http_status>(status), "application/json", body_);
  }

  auto note(const std::string& text, std::string_view type) -> int {
    const std::scoped_lock lock(mutex_);
    content_type_ = type;
    const int status = calls_ < first_.size() ? first_[calls_] : 200;
    ++calls_;
    if (status != 200) return status;
    const auto call = nlohmann::json::parse(text);
    const auto& spans = call.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
    sizes_.push_back(spans.size());
    spans_.insert(spans_.end(), spans.begin(), spans.end());
    return status;
  }

  const std::vector<int> first_;
  const std::string body_;
  mutable std::mutex mutex_;
  std::size_t calls_ = 0;
  std::vector<nlohmann::json> spans_;
  std::vector<std::size_t> sizes_;
  std::string content_type_;
  braid::http_router routes_;
  braid::socket_address address_;
  std::unique_ptr<braid::http_server> server_;
  std::unique_ptr<braid::runtime> on_;
};

/// A URL where nothing listens. The port is taken, so that nothing else comes to listen there.
class dead_collector {
 public:
  dead_collector() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof(name);
    if (::bind(socket_.number(), any, size) != 0 || ::getsockname(socket_.number(), any, &size) != 0)
      throw std::runtime_error("a dead collector has no port");
    port_ = ntohs(name.sin_port);
  }

  [[nodiscard]] auto url() const -> std::string { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  braid::descriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace rankd::testing
