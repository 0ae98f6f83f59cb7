// rankd/server/detail/served_request.hpp: one request to rank, from its head until its sinks have received it.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/server/sinks/audit_line.hpp>
#include <rankd/server/detail/endpoint_context.hpp>
#include <rankd/server/detail/held_body.hpp>
#include <rankd/server/endpoints/endpoint.hpp>
#include <rankd/server/endpoints/error_answer.hpp>
#include <rankd/server/admission/in_flight_shares.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/net/http_server.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace rankd::detail {

struct recorded_ask;
struct shadow_ask;

/// A request to rank, or another request that log and audit contain: its answer, its places among those that may run at
/// a time, and what is known about it. When it ends, by `end` or by its destruction, the sinks of the loop receive it.
struct served_request {
  /// Begins a request that has come now.
  served_request(endpoint_context& context, endpoint endpoint, braid::http_exchange& x);
  /// Begins a request of a batch: the one at position `at` of a call, with its place in the answer to the call.
  served_request(const served_request& call, std::size_t at, std::string& answer);
  served_request(served_request&& other) noexcept;
  auto operator=(served_request&&) -> served_request& = delete;
  ~served_request();

  /// Checks the head: id, client and media type. Returns true if the request may continue; otherwise it has been
  /// answered.
  auto check_head() -> bool;
  /// Takes a place among the requests of its client. Returns false if there is no place; then it has been answered. A
  /// request of a batch passes its JSON, which may have an id for the answer.
  auto enter_client(std::string_view part_text = {}) -> bool;
  /// Returns true, having answered, if the request can be refused before its body is read because the server is full.
  auto is_refused_unread() -> bool;

  /// Answers with the candidates, or with the error of the plan.
  void answer(const ranking& ranked);
  void fail(const error_answer& error);
  /// Answers that the body could not be read.
  void fail_body(std::error_code error);
  /// Answers that the server is full.
  void refuse_overloaded();
  /// Answers that its client or its plan has reached its limit of running requests.
  void refuse_busy(std::string code, std::string_view message);

  /// Ends the request: releases its places and hands it to the sinks. Does nothing if it has ended already.
  void end() noexcept;

  endpoint_context* context;       // null: it has ended, or was moved from
  std::optional<endpoint> which;   // nothing: a request of a batch
  braid::http_exchange* exchange;  // null: a request of a batch
  std::string* part = nullptr;     // its place in the answer to the batch
  request_record record;
  held_body body;
  std::optional<in_flight_shares::pass> client_place;
  std::optional<in_flight_shares::pass> plan_place;
  request_stores stores;               // without a list: those of the engine, and its cache
  std::unique_ptr<recorded_ask> kept;  // null: it is not recorded
  std::unique_ptr<shadow_ask> shadow;  // null: no candidate runs for it

  // For a request that ran:
  plan_handle plan;
  const ranking* ranked = nullptr;    // null: it did not run to its end
  std::string_view text;              // the bytes of its answer
  std::chrono::milliseconds time{0};  // since 1970: when it came
  braid::time_point ran_until{};
  bool others_wait = false;  // other requests waited to be admitted when it had run

 private:
  [[nodiscard]] auto is_part() const noexcept -> bool { return exchange == nullptr; }
};

/// Returns true if log and audit contain the request: requests to rank, and failed calls of other endpoints.
[[nodiscard]] auto is_reported(const served_request& request) noexcept -> bool;

}  // namespace rankd::detail
