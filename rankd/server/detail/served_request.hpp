// rankd/server/detail/served_request.hpp: the state of one request to rank, from its HTTP head until its sinks have
// received it.
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
struct served_request;
struct shadow_ask;

/// The form of an answer that is not JSON.
class answer_form {
 public:
  /// Writes the candidates. Requires a ranking without an error.
  virtual void answer(served_request& request, const ranking& ranked) = 0;
  virtual void fail(served_request& request, const error_answer& error) = 0;

 protected:
  ~answer_form() = default;
};

/// A request to rank, or another request that is recorded in the log and the audit. It holds its answer, its permits,
/// and the data for log and audit. When the request ends, by `end` or by the destruction of this object, the sinks of
/// the loop receive it.
struct served_request {
  /// Begins a request that has just arrived.
  served_request(endpoint_context& context, endpoint endpoint, braid::http_exchange& x);
  /// Begins the request at position `index` of a batch. Its answer becomes a part of the answer to the whole call.
  served_request(const served_request& call, std::size_t index, std::string& answer);
  served_request(served_request&& other) noexcept;
  auto operator=(served_request&&) -> served_request& = delete;
  ~served_request();

  /// Checks the id, the client and the media type in the head. Returns true if they are valid. Otherwise, answers the
  /// request and returns false.
  auto check_head() -> bool;
  /// Checks only the id and the client of the request, and otherwise behaves like `check_head`.
  auto check_client() -> bool;
  /// Counts the request against the limit of its client. If the limit is reached, answers the request and returns
  /// false. For a request of a batch, `part_text` is the JSON of the request, because the answer repeats the id that is
  /// in the JSON.
  auto enter_client(std::string_view part_text = {}) -> bool;
  /// If the server is full, refuses the request before its body is read. Returns whether the request was refused.
  auto is_refused_unread() -> bool;

  /// Answers with the candidates, or with the error of the plan.
  void answer(const ranking& ranked);
  void fail(const error_answer& error);
  /// Answers with the error that occurred while the body was read.
  void fail_body(std::error_code error);
  /// Answers with an error, because the server is full.
  void refuse_overloaded();
  /// Answers with an error, because the client or the plan of the request has reached its limit of running requests.
  void refuse_busy(std::string code, std::string_view message);

  /// Ends the request: releases its permits and passes it to the sinks. Does nothing if it has ended already.
  void end() noexcept;

  endpoint_context* context;       // null: the request has ended, or the object was moved from
  std::optional<endpoint> which;   // nothing: a request of a batch
  braid::http_exchange* exchange;  // null for a request of a batch
  std::string* part = nullptr;     // the request's part of the answer to the batch
  answer_form* form = nullptr;     // null: the answer is JSON
  request_record record;
  held_body body;
  std::optional<in_flight_shares::pass> client_place;
  std::optional<in_flight_shares::pass> plan_place;
  request_stores stores;               // if its list is null, the request uses the stores and the cache of the engine
  std::unique_ptr<recorded_ask> kept;  // null: the traffic of the request is not recorded
  std::unique_ptr<shadow_ask> shadow;  // null: no candidate plan runs for the request

  // The following members are set if the request ran:
  plan_handle plan;
  const ranking* ranked = nullptr;    // null: the plan did not run to its end
  std::string_view text;              // the bytes of the answer
  std::chrono::milliseconds time{0};  // the time at which the request arrived, since 1970
  braid::time_point ran_until{};
  bool others_wait = false;  // whether other requests waited to be admitted when this request had run

 private:
  [[nodiscard]] auto is_part() const noexcept -> bool { return exchange == nullptr; }
};

/// Returns true if the log and the audit record the request. The log and the audit record all requests to rank, and
/// failed calls of other endpoints.
[[nodiscard]] auto is_reported(const served_request& request) noexcept -> bool;

}  // namespace rankd::detail
