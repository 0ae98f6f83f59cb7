// rankd/store/model_server.cpp: calls model servers over HTTP, with limits on size and time.
#include <rankd/store/model_server.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/store/detail/environment.hpp>
#include <rankd/store/detail/inference_messages.hpp>
#include <rankd/store/detail/redis_failure.hpp>
#include <rankd/store/error.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/config.hpp>
#include <braid/base/detail/number_in.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <system_error>
#include <variant>

namespace rankd {
namespace {

/// Two values of the error category. All other values are HTTP statuses of answers, or `grpc_base` plus a gRPC code.
constexpr int bad_answer = 1;
constexpr int resting = 2;
constexpr int grpc_base = 1000;

/// The meaning of a gRPC status code in an answer.
struct grpc_code_row {
  std::string_view name;
  std::string_view code = "model_refused";
  bool is_of_server = false;  ///< the server is broken, as by HTTP statuses of 500 and above
};

/// The codes of gRPC, from 0. Source: grpc/doc/statuscodes.md.
constexpr std::array grpc_codes{grpc_code_row{"OK"},
                                grpc_code_row{"CANCELLED"},
                                grpc_code_row{"UNKNOWN", "model_refused", true},
                                grpc_code_row{"INVALID_ARGUMENT"},
                                grpc_code_row{"DEADLINE_EXCEEDED", "model_timeout", true},
                                grpc_code_row{"NOT_FOUND"},
                                grpc_code_row{"ALREADY_EXISTS"},
                                grpc_code_row{"PERMISSION_DENIED"},
                                grpc_code_row{"RESOURCE_EXHAUSTED", "model_overloaded"},
                                grpc_code_row{"FAILED_PRECONDITION"},
                                grpc_code_row{"ABORTED"},
                                grpc_code_row{"OUT_OF_RANGE"},
                                grpc_code_row{"UNIMPLEMENTED", "model_refused", true},
                                grpc_code_row{"INTERNAL", "model_refused", true},
                                grpc_code_row{"UNAVAILABLE", "model_unreachable", true},
                                grpc_code_row{"DATA_LOSS", "model_refused", true},
                                grpc_code_row{"UNAUTHENTICATED"}};

/// Returns the table row of a gRPC code, or the row of UNKNOWN for a code that does not exist.
auto find_code_row(int value) -> const grpc_code_row& {
  constexpr std::size_t unknown = 2;
  const auto code = static_cast<std::size_t>(value - grpc_base);
  return grpc_codes[code < grpc_codes.size() ? code : unknown];
}

class model_category final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "rankd.model_server"; }
  [[nodiscard]] auto message(int value) const -> std::string override {
    if (value == bad_answer) return "the answer does not follow the inference protocol";
    if (value == resting) return "the last calls to this server have failed, so rankd sends no calls for a moment";
    if (value >= grpc_base)
      return "the server answers with gRPC status " + std::to_string(value - grpc_base) + " (" +
             std::string(find_code_row(value).name) + ")";
    return "the server answers with status " + std::to_string(value);
  }
};

auto models() noexcept -> const std::error_category& {
  static const model_category category;
  return category;
}

auto model_failure(int value, std::string_view text, braid::arena& arena) -> std::unexpected<store_error> {
  return std::unexpected(store_error(std::error_code(value, models()), arena.copied(text)));
}

auto code_of_status(int status) -> std::string_view {
  if (status >= grpc_base) return find_code_row(status).code;
  if (status == 429 || status == 503) return "model_overloaded";
  if (status == 408 || status == 504) return "model_timeout";
  return status == 502 ? "model_unreachable" : "model_refused";
}

auto code_of(const store_error& error) -> std::string_view {
  if (error.category() == models()) {
    if (error.value() == bad_answer) return "model_bad_answer";
    return error.value() == resting ? "model_unreachable" : code_of_status(error.value());
  }
  if (error == braid::errc::deadline_exceeded) return "model_timeout";
  if (error == braid::errc::full) return "model_overloaded";
  if (error.category() == braid::detail::tls_category()) return "model_untrusted";
  const bool is_of_system = error.category() == std::system_category() || error.category() == std::generic_category() ||
                            error == braid::errc::closed || error == braid::errc::ended ||
                            error == braid::errc::unknown_host || error == braid::http_errc::truncated;
  return is_of_system ? "model_unreachable" : "model_bad_answer";
}

/// The maximum length of an answer that the loop itself parses. Parsing such an answer takes well under a millisecond.
/// Another thread parses longer answers.
constexpr std::size_t max_bytes_on_loop = std::size_t{64} << 10U;

/// An answer that was read to its end or up to a size limit.
struct bounded_answer {
  braid::http_status status = braid::http_status::ok;
  std::string body;
  bool is_too_long = false;  ///< there is more than `body`, and the connection is closed
  std::optional<std::string> grpc_status = {};
  std::string grpc_message = {};

  /// Stores the fields of the gRPC status, which are in the head if there is no body.
  void keep_status(const braid::http_fields& fields) {
    if (const auto found = fields.find("grpc-status")) grpc_status = std::string(*found);
    if (const auto found = fields.find("grpc-message")) grpc_message = detail::status_text(*found);
  }
};

auto fetch(braid::http_client& client, braid::http_client::call call, std::size_t max_bytes)
    -> braid::task<braid::result<bounded_answer>> {
  auto opening = client.open(std::move(call));
  auto opened = co_await std::move(opening);
  if (!opened) co_return braid::fail(opened.error());
  bounded_answer answer{.status = opened->head().status, .body = {}};
  answer.keep_status(opened->head().fields);
  for (;;) {
    auto reading = opened->read_some();
    const braid::result<std::string_view> read = co_await std::move(reading);
    if (!read) co_return braid::fail(read.error());
    if (read->empty()) {
      answer.keep_status(opened->trailers());
      co_return answer;
    }
    answer.is_too_long = read->size() > max_bytes - answer.body.size();
    if (answer.is_too_long) co_return answer;
    answer.body += *read;
  }
}

/// Returns whether a failure means that the server is broken. Returns false if the call was invalid or exceeded a
/// limit.
auto is_of_server(const store_error& error) -> bool {
  if (error.category() != models()) return error != braid::errc::full;
  return error.value() >= grpc_base ? find_code_row(error.value()).is_of_server : error.value() >= 500;
}

/// Returns whether the failure of a call suggests that the server speaks the other protocol. Such a server closes the
/// connection, sends bytes of another version of HTTP, or has no such path or method.
auto may_be_other_protocol(const std::error_code& error, bool by_grpc) -> bool {
  using braid::http_errc;
  constexpr std::array by_json{http_errc::bad_start_line, http_errc::bad_version, http_errc::bad_line_end};
  constexpr std::array by_http2{http_errc::speaks_http1, http_errc::bad_frame};
  constexpr std::array statuses_by_json{405, 415, 426, 505};
  constexpr std::array statuses_by_grpc{400, 404, 405, 415, 501, 505};
  const auto is_error = [&error](http_errc each) { return error == each; };
  const auto is_status = [&error](int each) { return error.category() == models() && error.value() == each; };
  if (error == braid::errc::closed || error == braid::errc::ended || error == http_errc::truncated ||
      error == std::errc::connection_reset || error == std::errc::broken_pipe)
    return true;
  return by_grpc ? std::ranges::any_of(by_http2, is_error) || std::ranges::any_of(statuses_by_grpc, is_status)
                 : std::ranges::any_of(by_json, is_error) || std::ranges::any_of(statuses_by_json, is_status);
}

/// Returns the end of the error message for a failed call if the endpoint's option `protocol` may be wrong, and an
/// empty text otherwise.
auto protocol_advice(const std::error_code& error, bool by_grpc) -> std::string_view {
  if (!may_be_other_protocol(error, by_grpc)) return {};
  return by_grpc ? R"(; if the server expects JSON, remove `protocol = "grpc"` from the resolver of the endpoint)"
                 : R"(; if the server expects gRPC, write `protocol = "grpc"` into the resolver of the endpoint)";
}

/// Returns the options of a client for a model server. For gRPC, the client must use HTTP/2.
auto client_options(const model_server_options& options, braid::resolver& names) -> braid::http_client::options {
  braid::http_client::options out{.connections_per_host = options.connections,
                                  .connect_timeout = options.connect_timeout,
                                  .names = &names,
                                  .tls = options.tls};
  if (options.by_grpc) out.http2.use = braid::http_client::http2_use::known;
  return out;
}

/// Returns a call of a gRPC method.
auto grpc_method_call(const model_server_options& options, std::string_view path, std::string_view message,
                      braid::duration limit) -> braid::http_client::call {
  const auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(limit), std::chrono::milliseconds(1));
  constexpr std::chrono::milliseconds longest(99'999'999);  // 8 digits
  return {.method = braid::http_method::post,
          .url = options.origin + std::string(path),
          .fields = {{"Content-Type", "application/grpc"},
                     {"TE", "trailers"},
                     {"grpc-timeout", std::to_string(std::min(left, longest).count()) + "m"}},
          .body = detail::framed_message(message)};
}

/// Returns the message in the answer to a gRPC call, or the error of the call.
auto message_in(const bounded_answer& answer, braid::arena& arena) -> store_result<std::string_view> {
  if (!answer.grpc_status) return model_failure(bad_answer, "the answer has no grpc-status", arena);
  const auto code = braid::detail::number_in<std::uint16_t>(*answer.grpc_status);
  if (!code)
    return model_failure(bad_answer, "grpc-status must be a number, got " + quote_name(*answer.grpc_status), arena);
  if (*code != 0) return model_failure(grpc_base + *code, answer.grpc_message, arena);
  const auto message = detail::only_message(answer.body);
  if (!message) return model_failure(bad_answer, message.error(), arena);
  return *message;
}

}  // namespace

/// The connections and limits for one loop. Calls in progress keep the client alive.
class model_server::client {
 public:
  client(model_server& owner, braid::loop& loop)
      : names_(loop, owner.lookups_),
        http_(loop, client_options(owner.options_, names_)),
        breaker_(owner.options_.breaker),
        max_in_flight_(owner.options_.max_in_flight) {}

  [[nodiscard]] auto http() noexcept -> braid::http_client& { return http_; }

 private:
  friend class calling;

  braid::resolver names_;
  braid::http_client http_;
  detail::circuit_breaker breaker_;
  std::size_t max_in_flight_;
  std::size_t in_flight_ = 0;
};

/// A call in progress. If the object is destroyed before the call has ended, the caller has abandoned the call.
class model_server::calling {
 public:
  calling(client& client, braid::time_point now) : client_(&client) {
    if (client.in_flight_ >= client.max_in_flight_)
      refused_ = braid::errc::full;
    else if (pass_ = client.breaker_.ask(now); pass_ == pass::none)
      refused_ = std::error_code(resting, models());
    if (!refused_) ++client.in_flight_;
  }
  calling(const calling&) = delete;
  auto operator=(const calling&) -> calling& = delete;
  ~calling() {
    if (refused_) return;
    --client_->in_flight_;
    if (!has_ended_) client_->breaker_.gave_up(pass_);
  }

  /// Returns the reason why no call is allowed now, or no error if calls are allowed.
  [[nodiscard]] auto refused() const noexcept -> std::error_code { return refused_; }

  void ended(const store_result<void>& result, braid::time_point now) noexcept {
    has_ended_ = true;
    if (!result && is_of_server(result.error()))
      client_->breaker_.failed(pass_, now);
    else
      client_->breaker_.succeeded();
  }

 private:
  using pass = detail::circuit_breaker::pass;

  client* client_;
  pass pass_ = pass::none;
  std::error_code refused_;
  bool has_ended_ = false;
};

/// The parts of a call, each with at most `rows_per_call` rows, and the state that the senders of the call share.
struct model_server::parts_of_call {
  std::size_t count = 0;
  std::size_t next = 0;       ///< the first part that no sender has taken
  std::size_t in_flight = 0;  ///< of this call
  std::size_t failed = 0;     ///< the first part that has failed, if there is a failure
  std::optional<store_error> failure = {};

  void fail(std::size_t part, const store_error& error) {
    if (failure && failed < part) return;
    failed = part;
    failure = error;
  }
};

model_server::model_server(model_server_options options)
    : options_(std::move(options)),
      lookups_({.max_threads = 1, .name = "model-names"}),
      parsing_({.max_threads = 1, .name = "model-answers"}) {
  BRAID_EXPECTS(options_.connections > 0, "a model server needs at least one connection");
  BRAID_EXPECTS(options_.max_in_flight > 0, "a model server needs at least one call in flight");
}

/// Owns the client of a loop until the loop stops.
auto model_server::keep_client(model_server& owner, braid::loop& loop) -> braid::task<void> {
  const detail::per_loop<std::shared_ptr<client>>::entry known(owner.clients_, loop,
                                                               std::make_shared<client>(owner, loop));
  braid::event never;
  co_await never;
}

/// Returns the client of a loop, or null if the loop is stopping already.
auto model_server::find_client(braid::home& home) -> std::shared_ptr<client> {
  if (auto known = clients_.find(home)) return known;
  auto* const on = dynamic_cast<braid::loop*>(&home);
  BRAID_EXPECTS(on != nullptr, "a model server must be called by tasks of an event loop");
  on->spawn(keep_client(*this, *on));
  return clients_.find(home);
}

auto model_server::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  const auto* const call = std::get_if<model_call>(&question);
  if (call == nullptr) co_return braid::fail(store_errc::wrong_type);
  const model_call& what = *call;
  const std::span<double> values = arena.filled(what.rows * what.scores, std::numeric_limits<double>::quiet_NaN());
  const score_batch out{.values = values, .scores = what.scores};
  if (what.rows == 0) co_return out;
  braid::scope& around = co_await braid::this_scope();
  const std::shared_ptr<client> by = find_client(around.where());
  if (by == nullptr) co_return braid::fail(braid::errc::closed);
  parts_of_call parts{.count = (what.rows + what.rows_per_call - 1) / what.rows_per_call};
  std::vector<braid::task<void>> senders;
  for (std::size_t at = 0; at < std::min(parts.count, options_.max_in_flight); ++at)
    senders.push_back(send_parts(*this, by, what, parts, values, arena));
  auto all = braid::when_all(std::move(senders));
  co_await std::move(all);
  if (parts.failure) co_return std::unexpected(*parts.failure);
  co_return out;
}

/// Sends one part after the other until no part is left, or a part has failed. If the loop allows no call now and other
/// senders of this call have a part in progress, this sender ends, because the other senders will send the rest.
auto model_server::send_parts(model_server& self, std::shared_ptr<client> sender, const model_call& call,
                              parts_of_call& parts, std::span<double> into, braid::arena& arena) -> braid::task<void> {
  const braid::scope& around = co_await braid::this_scope();
  while (parts.next < parts.count && !parts.failure) {
    calling one(*sender, around.where().now());
    if (one.refused() == braid::errc::full && parts.in_flight > 0) co_return;
    const std::size_t at = parts.next++;
    if (one.refused()) co_return parts.fail(at, one.refused());
    const std::size_t begin = at * call.rows_per_call;
    const detail::row_range rows{.begin = begin, .end = std::min(call.rows, begin + call.rows_per_call)};
    ++parts.in_flight;
    auto scoring = score_rows(self, *sender, call, rows, into, arena);
    const store_result<void> scored = co_await std::move(scoring);
    --parts.in_flight;
    one.ended(scored, around.where().now());
    if (!scored) co_return parts.fail(at, scored.error());
  }
}

/// Returns the HTTP call for some rows. `limit` is the time that is left for the call.
auto model_server::make_call(const model_call& call, detail::row_range rows, braid::duration limit) const
    -> braid::http_client::call {
  braid::http_client::call out =
      options_.by_grpc
          ? grpc_method_call(options_, detail::infer_path, detail::inference_message(call, rows), limit)
          : braid::http_client::call{.method = braid::http_method::post,
                                     .url = options_.origin + detail::inference_path(call.model, call.version),
                                     .fields = {{"Content-Type", "application/json"}},
                                     .body = detail::inference_body(call, rows)};
  if (!options_.token.empty()) out.fields.emplace_back("Authorization", "Bearer " + options_.token);
  return out;
}

auto model_server::score_rows(model_server& self, client& sender, const model_call& call, detail::row_range rows,
                              std::span<double> into, braid::arena& arena) -> braid::task<store_result<void>> {
  const braid::scope& around = co_await braid::this_scope();
  const std::size_t max_bytes = detail::max_answer_bytes(call, rows);
  const braid::duration limit = std::min(self.options_.request_timeout, around.deadline() - around.where().now());
  auto limited = braid::with_timeout(self.options_.request_timeout,
                                     fetch(sender.http(), self.make_call(call, rows, limit), max_bytes));
  const braid::result<bounded_answer> answer = co_await std::move(limited);
  store_result<void> ended;
  if (!answer) {
    ended = std::unexpected(store_error(answer.error()));
  } else if (answer->status != braid::http_status::ok) {
    ended = model_failure(static_cast<int>(answer->status), detail::refusal_text(answer->body), arena);
  } else if (answer->is_too_long) {
    ended = model_failure(bad_answer,
                          "the answer has more than " + std::to_string(max_bytes) + " bytes, but the scores of " +
                              counted(rows.size(), "row") + " need fewer",
                          arena);
  } else if (auto body = self.options_.by_grpc ? message_in(*answer, arena) : std::string_view(answer->body); !body) {
    ended = std::unexpected(body.error());
  } else {
    const auto read = [&] {
      return self.options_.by_grpc ? detail::read_message_scores(*body, call, rows, into)
                                   : detail::read_scores(*body, call, rows, into);
    };
    std::string wrong;
    if (answer->body.size() <= max_bytes_on_loop) {
      wrong = read();
    } else {
      auto reading = braid::offload(self.parsing_, read);
      wrong = co_await std::move(reading);
    }
    if (!wrong.empty()) ended = model_failure(bad_answer, wrong, arena);
  }
  co_return ended;
}

auto model_server::explain(const store_error& error) const -> store_failure {
  if (error == store_errc::wrong_type) return wrong_type_failure(options_.endpoint_id);
  const std::string why = error == braid::errc::full
                              ? "calls in progress on this event loop: " + std::to_string(options_.max_in_flight) +
                                    ", as many as `max_inflight` in the policy of the endpoint allows"
                              : detail::failure_text(error);
  store_failure out{std::string(code_of(error)),
                    "endpoint `" + options_.endpoint_id + "` at " + options_.origin + ": " + why};
  const bool is_ours = error.category() == models() && error.value() == bad_answer;
  if (is_ours)
    out.message += ": " + std::string(error.server_text());
  else if (options_.words == server_messages::shown && !error.server_text().empty())
    out.message += "; " + detail::server_message(error.server_text());
  out.message += protocol_advice(error, options_.by_grpc);
  return out;
}

auto ask_model_server(braid::loop& loop, braid::executor& blocking, const model_server_options& options)
    -> braid::task<std::optional<std::string>> {
  constexpr std::size_t max_bytes = 64U << 10U;
  constexpr std::string_view json_path = "/v2/health/ready";
  braid::resolver names(loop, blocking);
  braid::http_client client(loop, client_options(options, names));
  braid::http_client::call call = options.by_grpc
                                      ? grpc_method_call(options, detail::ready_path, {}, options.request_timeout)
                                      : braid::http_client::call{.url = options.origin + std::string(json_path)};
  if (!options.token.empty()) call.fields.emplace_back("Authorization", "Bearer " + options.token);
  auto asking = braid::with_timeout(options.request_timeout, fetch(client, std::move(call), max_bytes));
  const braid::result<bounded_answer> answer = co_await std::move(asking);
  const auto with_advice = [&options](std::string text, const std::error_code& error) {
    return text.append(protocol_advice(error, options.by_grpc));
  };
  if (!answer) co_return with_advice(answer.error().message(), answer.error());
  const std::string asked = options.by_grpc ? "ServerReady" : "GET " + std::string(json_path);
  if (const int status = static_cast<int>(answer->status); answer->status != braid::http_status::ok)
    co_return with_advice("it answers " + std::to_string(status) + " to " + asked, {status, models()});
  if (!options.by_grpc) co_return std::nullopt;
  braid::arena arena;
  const auto message = message_in(*answer, arena);
  if (!message) co_return message.error().message() + " to " + asked;
  if (!detail::is_ready_message(*message)) co_return "it answers to " + asked + " that it is not ready";
  co_return std::nullopt;
}

auto make_model_server_options(const endpoint_entry& endpoint, server_messages words)
    -> braid::checked<model_server_options> {
  const auto& server = std::get<static_resolver>(endpoint.resolver);
  const bool is_v6 = server.host.contains(':');
  model_server_options out{.endpoint_id = endpoint.endpoint_id,
                           .origin = std::string(server.by_tls ? "https://" : "http://") +
                                     (is_v6 ? "[" + server.host + "]" : server.host) + ":" +
                                     std::to_string(server.port)};
  out.by_grpc = server.by_grpc;
  out.connect_timeout = endpoint.policy.connect_timeout;
  out.request_timeout = endpoint.policy.request_timeout;
  out.connections = endpoint.policy.connections;
  out.max_in_flight = endpoint.policy.max_inflight;
  out.breaker = {.failures = endpoint.policy.breaker_failures, .rest = endpoint.policy.breaker_rest};
  out.words = words;
  if (auto token = detail::find_variable("RANKD_MODEL_TOKEN", endpoint.endpoint_id))
    out.token = std::move(token->value);
  if (!server.by_tls) return out;
  auto context = detail::tls_of_environment("RANKD_MODEL_AUTHORITIES", endpoint.endpoint_id);
  if (!context) return std::unexpected(std::move(context.error()));
  out.tls = std::move(*context);
  return out;
}

}  // namespace rankd
