// tests/support/http_caller.hpp: a client that blocks, on a socket of its own, and says whatever it is told.
#pragma once

#include <braid/io/backend.hpp>
#include <braid/io/sockets.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace braid::testing {

/// An answer with a length, as it came.
struct heard_answer {
  int status = 0;
  std::string head;
  std::string body;

  /// The value of a field that is written as here; empty where there is none.
  [[nodiscard]] auto field(std::string_view name) const -> std::string {
    const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class http_caller {
 public:
  explicit http_caller(const socket_address& to) : socket_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    connected_ = ::connect(socket_.number(), to.data(), to.size()) == 0;
  }

  [[nodiscard]] auto connected() const noexcept -> bool { return connected_; }

  /// False where the other side has gone.
  auto say(std::string_view text) -> bool {
    while (!text.empty()) {
      const ::ssize_t done = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

  /// Nothing more will be said.
  void finish() { ::shutdown(socket_.number(), SHUT_WR); }

  /// The next answer; nothing where the connection ends before its first byte.
  auto hear() -> std::optional<heard_answer> {
    while (held_.find("\r\n\r\n") == std::string::npos)
      if (!more()) {
        if (held_.empty()) return std::nullopt;
        throw std::runtime_error("half an answer: " + held_);
      }
    heard_answer answer;
    const std::size_t head = held_.find("\r\n\r\n") + 4;
    answer.head = held_.substr(0, head);
    answer.status = std::stoi(answer.head.substr(9, 3));
    const std::string length = answer.field("Content-Length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (held_.size() < head + size)
      if (!more()) throw std::runtime_error("half an answer: " + held_);
    answer.body = held_.substr(head, size);
    held_.erase(0, head + size);
    return answer;
  }

  /// The bytes that came next, as they are; empty where the connection has ended.
  auto hear_bytes() -> std::string {
    if (held_.empty()) more();
    return std::exchange(held_, {});
  }

 private:
  auto more() -> bool {
    char room[4096];
    ::ssize_t got = 0;
    do got = ::recv(socket_.number(), room, sizeof(room), 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    held_.append(room, static_cast<std::size_t>(got));
    return true;
  }

  descriptor socket_;
  std::string held_;
  bool connected_ = false;
};

/// A request as text; `fields` are whole lines.
inline auto request_text(std::string_view method, std::string_view path, std::string_view fields = {},
                         std::string_view body = {}) -> std::string {
  std::string out(method);
  ((((out += ' ') += path) += " HTTP/1.1\r\nHost: localhost\r\n") += fields);
  if (!body.empty() || method == "POST") out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return (out += "\r\n") += body;
}

}  // namespace braid::testing
