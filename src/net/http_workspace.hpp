// src/net/http_workspace.hpp: declares the memory that a server's connection needs only while it has a request.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/net/detail/http_body_decoder.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/detail/http_parser.hpp>
#include <braid/net/http_server.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace braid::detail {

/// The current request, and the answers that are not sent yet.
struct http_workspace {
  explicit http_workspace(const http_limits& limits) : parser(without_body_limit(limits)), body(limits) {}

  http_request_parser parser;
  http_body_decoder body;
  std::string output;
  std::string sent;  // output that is being sent
  http_router::match match;
  std::vector<std::pair<std::string, std::string>> own_fields;
  std::vector<std::pair<std::string, std::string>> own_trailers;
  std::vector<http_fields::field> fields;  // views, for the encoder
  http_status status = http_status::ok;
  http_framing framing;
  std::uint64_t written = 0;  // the number of written bytes of the answer's body
  std::optional<http_errc> body_error;
  std::optional<time_point> body_deadline;

  /// Drops the fields of an answer that will not be sent.
  void drop_fields() noexcept {
    own_fields.clear();
    own_trailers.clear();
  }

 private:
  /// Returns limits for the parser of heads, without a body limit. The body limit depends on the route, which is looked
  /// up after the head was parsed.
  static auto without_body_limit(http_limits limits) noexcept -> http_limits {
    limits.body_bytes = std::numeric_limits<std::uint64_t>::max();
    return limits;
  }
};

/// A pool of unused workspaces. The workspace that was returned last is reused first, because it is still in the
/// processor's caches. As a result, many connections that are active in turn use the memory of only a few workspaces.
class http_workspaces {
 public:
  explicit http_workspaces(const http_limits& limits) : limits_(limits) { free_.reserve(max_free); }

  [[nodiscard]] auto take() -> std::unique_ptr<http_workspace> {
    if (free_.empty()) return std::make_unique<http_workspace>(limits_);
    std::unique_ptr<http_workspace> out = std::move(free_.back());
    free_.pop_back();
    return out;
  }

  /// Keeps a workspace for the next connection. Requires that the request of this workspace was read completely and
  /// answered.
  void give_back(std::unique_ptr<http_workspace> one) noexcept {
    if (free_.size() < max_free) free_.push_back(std::move(one));
  }

 private:
  // docs/design/constants.md gives the reason for this value.
  static constexpr std::size_t max_free = 256;

  const http_limits& limits_;
  std::vector<std::unique_ptr<http_workspace>> free_;
};

}  // namespace braid::detail
