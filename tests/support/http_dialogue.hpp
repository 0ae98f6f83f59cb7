// tests/support/http_dialogue.hpp: reads messages that come in pieces as a connection does, and writes down what it
// saw.
#pragma once

#include <braid/net/detail/http_body_decoder.hpp>
#include <braid/net/detail/http_parser.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace braid::testing {

inline auto written(const http_fields& fields) -> std::string {
  std::string out;
  for (const http_fields::field field : fields) ((((out += field.name) += '=') += field.value) += ';');
  return out;
}

/// What was understood of a message, in words.
inline auto written(const http_request_head& head) -> std::string {
  std::string out(name_of(head.method));
  ((out += ' ') += head.target) += ' ';
  ((out += head.path) += '?') += head.query;
  ((out += " host=") += head.host) += head.keep_alive ? " stays " : " closes ";
  out += std::to_string(head.minor_version);
  return out + (head.expects_continue ? " waits " : " ") + written(head.fields);
}

inline auto written(const http_response_head& head) -> std::string {
  std::string out = std::to_string(static_cast<int>(head.status));
  ((out += ' ') += head.reason) += head.keep_alive ? " stays " : " closes ";
  out += std::to_string(head.minor_version);
  return (out += ' ') += written(head.fields);
}

/// One direction of a connection, for either parser.
template <typename Parser>
class http_dialogue {
 public:
  static constexpr bool of_requests = std::is_same_v<Parser, braid::detail::http_request_parser>;

  explicit http_dialogue(http_limits limits = {}, http_method asked = http_method::get)
      : parser_(limits), body_(limits), asked_(asked) {}
  /// One that has received all pieces.
  explicit http_dialogue(const std::vector<std::string_view>& pieces, http_limits limits = {},
                         http_method asked = http_method::get)
      : http_dialogue(limits, asked) {
    for (const std::string_view piece : pieces) receive(piece);
  }

  void receive(std::string_view bytes) {
    held_ += bytes;
    while (!refused_ && step()) {}
  }

  /// The connection has ended.
  void end() {
    if (!refused_ && in_body_ && body_.end_of_input()) finish_body();
  }

  /// For each message `ok`, `until` for a body up to the end, or why it was refused; `more` where something is missing.
  [[nodiscard]] auto outcomes() const -> std::vector<std::string> {
    std::vector<std::string> out = outcomes_;
    if (!refused_ && (in_body_ || !held_.empty())) out.emplace_back("more");
    return out;
  }
  [[nodiscard]] auto refusal() const -> std::optional<http_errc> { return refused_; }
  [[nodiscard]] auto messages() const -> const std::vector<std::string>& { return messages_; }

 private:
  auto refuse(http_errc why) -> bool {
    refused_ = why;
    return false;
  }

  void finish_body() {
    in_body_ = false;
    ((messages_.back() += " trailers ") += written(body_.trailers())) += '.';
    outcomes_.emplace_back(until_close_ ? "until" : "ok");
  }

  auto step() -> bool {
    if (in_body_) return read_body();
    if (held_.empty()) return false;
    // A copy of its own, so that the sanitizers see reads beyond its end or of an older one.
    const std::vector<char> input(held_.begin(), held_.end());
    const std::string_view view(input.data(), input.size());
    const braid::detail::http_progress read = parse(view);
    if (read == braid::detail::http_progress::refused) return refuse(parser_.error());
    if (read == braid::detail::http_progress::needs_more) return false;
    messages_.push_back(written(parser_.head()) + " body ");
    body_.start(parser_.head().body);
    until_close_ = parser_.head().body.how == http_framing::kind::until_close;
    in_body_ = true;
    held_.erase(0, parser_.size());
    parser_.reset();
    if (body_.finished()) finish_body();
    return true;
  }

  auto read_body() -> bool {
    const std::vector<char> input(held_.begin(), held_.end());
    const auto piece = body_.next({input.data(), input.size()});
    if (!piece) return refuse(piece.error());
    messages_.back() += piece->data;
    held_.erase(0, piece->consumed);
    if (body_.finished()) {
      finish_body();
      return true;
    }
    return piece->consumed != 0;
  }

  auto parse(std::string_view input) -> braid::detail::http_progress {
    if constexpr (of_requests)
      return parser_.parse(input);
    else
      return parser_.parse(input, asked_);
  }

  Parser parser_;
  braid::detail::http_body_decoder body_;
  http_method asked_;
  std::string held_;
  std::optional<http_errc> refused_;
  bool in_body_ = false;
  bool until_close_ = false;
  std::vector<std::string> outcomes_;
  std::vector<std::string> messages_;
};

}  // namespace braid::testing
