// rankd/store/model_server.hpp: a store that requests scores from a model server behind an endpoint of kind http.
#pragma once

#include <rankd/store/detail/circuit_breaker.hpp>
#include <rankd/store/detail/model_messages.hpp>
#include <rankd/store/detail/per_loop.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>
#include <braid/coro/home.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>
#include <braid/task/executors.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankd {

struct model_server_options {
  std::string endpoint_id;  ///< for messages
  std::string origin;       ///< `http://host:port`, or `https://…`
  std::string token = {};   ///< sent as `Authorization: Bearer …` if it is not empty
  std::optional<braid::tls_context> tls = {};
  bool by_grpc = false;  ///< whether calls use gRPC over HTTP/2 instead of JSON
  braid::duration connect_timeout = std::chrono::seconds(1);
  /// The maximum time from the beginning of the call to the last byte of its answer.
  braid::duration request_timeout = std::chrono::seconds(1);
  std::size_t connections = 1;     ///< the number of connections of each loop; calls wait for a free connection
  std::size_t max_in_flight = 64;  ///< the maximum number of concurrent calls of each loop; see `ask`
  detail::circuit_breaker::options breaker = {};  ///< one breaker for each loop
  server_messages words = server_messages::hidden;
};

/// Scores rows by the Open Inference Protocol V2, in JSON or over gRPC. KServe, Triton and MLServer support this
/// protocol. A model server has no keys, so reads fail with store_errc::wrong_type. The first call on a loop creates a
/// client for that loop, and the client ends with the loop. Threads: any number of event loops at once. Calls must be
/// awaited by tasks of `braid::loop`s. Lifetime: the store must outlive these loops. Errors, as returned by `explain`:
/// model_timeout, model_unreachable, model_overloaded, model_refused, model_bad_answer, model_untrusted.
class model_server final : public store {
 public:
  /// Creates the store without opening a connection. Requires at least one connection and one call in flight in the
  /// options.
  explicit model_server(model_server_options options);

  /// Asks the server for scores. More than `rows_per_call` rows are split into concurrent calls. If `max_in_flight`
  /// does not allow so many calls, the remaining calls are sent when earlier calls of this question have ended. If
  /// calls for other questions use up the limit, so that no call of this question is allowed, the question fails with
  /// model_overloaded. After a failure, no further call begins. If several calls fail, the error is that of the first
  /// failed call.
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;

  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override;

 private:
  class client;
  class calling;
  struct parts_of_call;

  auto find_client(braid::home& home) -> std::shared_ptr<client>;
  static auto keep_client(model_server& owner, braid::loop& loop) -> braid::task<void>;
  [[nodiscard]] auto make_call(const model_call& call, detail::row_range rows, braid::duration limit) const
      -> braid::http_client::call;
  static auto send_parts(model_server& self, std::shared_ptr<client> sender, const model_call& call,
                         parts_of_call& parts, std::span<double> into, braid::arena& arena) -> braid::task<void>;
  static auto score_rows(model_server& self, client& sender, const model_call& call, detail::row_range rows,
                         std::span<double> into, braid::arena& arena) -> braid::task<store_result<void>>;

  model_server_options options_;
  braid::blocking_pool lookups_;  // looks up names
  braid::blocking_pool parsing_;  // parses long answers
  detail::per_loop<std::shared_ptr<client>> clients_;
};

/// Asks a model server whether it is ready. Returns nothing if the server is ready. Otherwise, returns the reason why
/// it is not ready.
auto ask_model_server(braid::loop& loop, braid::executor& blocking, const model_server_options& options)
    -> braid::task<std::optional<std::string>>;

/// Returns the options for an endpoint of kind http, completed by the variables RANKD_MODEL_TOKEN and
/// RANKD_MODEL_AUTHORITIES. A variable that ends in the endpoint's id, such as RANKD_MODEL_TOKEN_EP_0002, applies only
/// to that endpoint.
/// Blocks: on the disk, to read the file of authorities. Errors: bad_environment.
auto make_model_server_options(const endpoint_entry& endpoint, server_messages words)
    -> braid::checked<model_server_options>;

}  // namespace rankd
