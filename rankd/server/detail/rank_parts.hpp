// rankd/server/detail/rank_parts.hpp: what ranking one request and ranking a batch have in common.
#pragma once

#include <rankd/engine/request.hpp>
#include <rankd/server/detail/shard.hpp>
#include <rankd/store/read_recorder.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// A body, counted among those that the loop holds from its first piece on until the request is answered.
struct shard::held_body {
  explicit held_body(shard& l) noexcept : of(&l) {}
  held_body(const held_body&) = delete;
  auto operator=(const held_body&) -> held_body& = delete;
  ~held_body() { of->held_bytes_ -= size; }

  /// False where the loop holds too much already.
  [[nodiscard]] auto count(std::size_t more) noexcept -> bool {
    if (of->held_bytes_ + more > of->shares_.body_memory) return false;
    of->held_bytes_ += more;
    size += more;
    return true;
  }

  shard* of;
  std::size_t size = 0;
  std::string pieces;     // those that came one by one
  std::string_view text;  // of all, once it is read: there, or in the memory of the connection
};

/// A request that may wait to be admitted: read, its plan found, and counted for that.
struct shard::ready_request {
  known_plan plan;
  rank_request request;
  in_flight_shares::pass of_plan;
  std::unique_ptr<recorded_ask> recorded;  // null: it is not recorded
  std::unique_ptr<shadow_ask> shadow;      // null: no candidate is run for it
};

/// A request that a candidate is run for as well.
struct shard::shadow_ask {
  std::shared_ptr<shadow_board> board{};
  std::string text;     // its bytes
  std::string head_id;  // as request_origin has it
  std::chrono::milliseconds time{0};
};

/// A request that is recorded, until it is answered.
struct shard::recorded_ask {
  std::string text;     // its bytes, or of a redacted one what may be shown
  std::string head_id;  // as request_origin has it
  std::string request_id;
  std::chrono::milliseconds time{0};
  std::vector<std::string> redacted;     // names; what depends on them is not recorded
  std::shared_ptr<read_recorder> reads;  // null for a redacted one
  request_stores behind;                 // what these pass on to

  [[nodiscard]] auto stores() const -> request_stores {
    if (reads == nullptr) return {};
    request_stores out(read_recorder::stores_of(reads));
    out.reads = behind.reads;
    return out;
  }
};

/// Whether a refusal before the body is read keeps the connection, or keeps the body from being sent.
[[nodiscard]] inline auto may_refuse_unread(const braid::http_exchange& x) -> bool {
  return x.has_whole_body() || x.request().expects_continue;
}

}  // namespace rankd::detail
