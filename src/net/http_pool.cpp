// src/net/http_pool.cpp: implements a client's pool of open connections, and a call on an HTTP/1.1 connection.
#include "http_pool.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/http_server.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include <sys/socket.h>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t max_connections = 65'536;  // to one host; there is a place for each
constexpr std::size_t short_call = 16 * 1024;    // the buffers of two sockets hold it, even if the peer does not read

/// Creates a TLS context for a client whose options contain no context. Blocks: while it reads the system's certificate
/// authorities.
struct usual_context {
  executor* handshakes;  // certificate folders are read when a certificate is verified
  bool offers_http2;

  auto operator()() const -> result<tls_context> {
    tls_context::client_options options;
    if (offers_http2) options.protocols.emplace_back("h2");
    options.protocols.emplace_back("http/1.1");
    options.handshakes = handshakes;
    return tls_context::client(options);
  }
};

}  // namespace

// The functions below implement one connection.

http_line::~http_line() {
  if (const auto* const secure = std::get_if<tls_stream>(&stream_); secure != nullptr && !half_sent)
    static_cast<void>(secure->try_shutdown());
}

auto http_line::write(std::string_view text) -> task<result<void>> {
  half_sent = true;
  result<void> sent;
  if (const auto* const plain = std::get_if<stream_socket>(&stream_)) {
    sent = co_await plain->write_all(bytes_of(text));
  } else {
    auto sending = std::get<tls_stream>(stream_).write_all(bytes_of(text));
    sent = co_await std::move(sending);
  }
  half_sent = !sent.has_value();
  co_return sent;
}

auto http_line::receive() -> task<result<std::size_t>> {
  result<std::size_t> got;
  if (const auto* const plain = std::get_if<stream_socket>(&stream_))
    got = co_await plain->read_some(input.room());
  else
    got = co_await std::get<tls_stream>(stream_).read_some(input.room());
  if (!got && got.error() == tls_errc::truncated) co_return fail(http_errc::truncated);
  if (got && *got > 0) nothing_came = false;
  if (got) input.received(*got);
  co_return got;
}

auto http_line::socket() const noexcept -> const stream_socket& {
  const auto* const secure = std::get_if<tls_stream>(&stream_);
  return secure != nullptr ? secure->socket() : *std::get_if<stream_socket>(&stream_);
}

auto http_line::is_silent() const noexcept -> bool {
  const auto* const secure = std::get_if<tls_stream>(&stream_);
  if (secure != nullptr && !secure->is_drained()) return false;
  char byte = 0;
  return ::recv(socket().number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

// The functions below implement the pool.

http_pool::~http_pool() {
  if (idle_.is_armed()) loop_.disarm(idle_);
  while (!free_.empty()) free_.front().unlink();
  for (const auto& [origin, host] : hosts_)
    for (const std::shared_ptr<http2_line>& line : host->shared) line->give_up();
}

auto http_pool::host(const http_url& url) -> std::shared_ptr<http_host> {
  forget_unused();
  std::string origin = url.origin();
  if (const auto known = hosts_.find(origin); known != hosts_.end()) return known->second;
  auto made = std::make_shared<http_host>(std::min(options_.connections_per_host, max_connections));
  return hosts_.emplace(std::move(origin), std::move(made)).first->second;
}

/// Removes hosts without connections, so that a client that calls each of many hosts only once does not store all these
/// hosts. The next cleanup happens at twice the number of the remaining hosts, so the amortized cost per host is
/// constant.
void http_pool::forget_unused() {
  if (hosts_.size() < many_hosts_) return;
  // docs/design/constants.md gives the reason for this value.
  constexpr std::size_t few = 64;
  std::erase_if(hosts_, [](auto& entry) {
    return entry.second.use_count() == 1 && entry.second->free.empty() && entry.second->shared.empty();
  });
  many_hosts_ = std::max(few, 2 * hosts_.size());
}

/// Closes connections that were idle for too long. Otherwise they would keep their descriptors, even if the server has
/// closed them, because the client does not notice that.
void http_pool::close_idle() noexcept {
  const time_point now = loop_.now();
  while (!free_.empty() && after(free_.front().free_since, options_.idle_timeout) <= now) {
    http_line& old = free_.front();
    old.unlink();
    std::erase_if(old.free_at->free, [&](const auto& line) { return line.get() == &old; });
  }
  if (!free_.empty()) loop_.arm(idle_, after(free_.front().free_since, options_.idle_timeout));
}

auto http_pool::take(http_host& from) -> std::unique_ptr<http_line> {
  const time_point now = loop_.now();
  while (!from.free.empty()) {
    std::unique_ptr<http_line> line = std::move(from.free.back());
    from.free.pop_back();
    line->unlink();
    if (after(line->free_since, options_.idle_timeout) >= now && line->is_silent()) return line;
  }
  return nullptr;
}

void http_pool::give_back(http_host& to, std::unique_ptr<http_line> line) {
  line->used_before = line->nothing_came = true;
  line->free_since = loop_.now();
  line->free_at = &to;
  free_.push_back(*line);
  to.free.push_back(std::move(line));
  if (!idle_.is_armed()) loop_.arm(idle_, after(free_.front().free_since, options_.idle_timeout));
}

auto http_pool::free_lines() const noexcept -> std::size_t {
  std::size_t all = 0;
  for (const auto& [name, host] : hosts_) {
    all += host->free.size();
    all +=
        static_cast<std::size_t>(std::ranges::count_if(host->shared, [](const auto& line) { return line->is_idle(); }));
  }
  return all;
}

auto http_pool::resolve_addresses(const http_url& url) -> task<result<socket_address::list>> {
  const bool is_local = url.name == "localhost" || url.name == "localhost.";  // the dot stands for the DNS root
  const std::string_view name = is_local ? std::string_view("127.0.0.1") : std::string_view(url.name);
  const auto number = socket_address::ip(name, url.port);
  if (number) co_return socket_address::list{*number};
  if (options_.names == nullptr) co_return fail(http_errc::no_resolver);
  auto asking = options_.names->resolve(url.name, url.port);
  co_return co_await std::move(asking);
}

auto http_pool::connect(http_url url) -> task<result<connection>> {
  auto limited = with_timeout(options_.connect_timeout, make_connection(std::move(url)));
  co_return co_await std::move(limited);
}

auto http_pool::make_connection(http_url url) -> task<result<connection>> {
  const bool is_known = options_.http2.use == http_client::http2_use::known;
  if (url.scheme == http_scheme::http && is_known && !http_server::has_http2()) co_return fail(http_errc::no_http2);
  result<socket_address::list> known = co_await resolve_addresses(url);
  if (!known) co_return fail(known.error());
  auto connecting = stream_socket::connect_to_first(loop_, std::move(*known));
  result<stream_socket> socket = co_await std::move(connecting);
  if (!socket) co_return fail(socket.error());
  if (url.scheme == http_scheme::http) co_return connection{.stream = std::move(*socket), .is_http2 = is_known};
  auto shaking = shake_hands(std::move(*socket), std::move(url.name));
  co_return co_await std::move(shaking);
}

auto http_pool::context() -> task<result<tls_context>> {
  if (options_.tls) co_return *options_.tls;
  const async_mutex::guard alone = co_await making_context_.lock();
  if (options_.tls) co_return *options_.tls;
  if (!blocking_) blocking_.emplace(blocking_pool::options{.max_threads = 4, .name = "https"});
  try {
    auto making = offload(*blocking_, usual_context{&*blocking_, offers_http2()});
    result<tls_context> made = co_await making;
    if (made) options_.tls = *made;
    co_return made;
  } catch (const std::system_error& refused) {
    co_return fail(refused.code());
  }
}

auto http_pool::shake_hands(stream_socket socket, std::string name) -> task<result<connection>> {
  auto making = context();
  result<tls_context> as = co_await std::move(making);
  if (!as) co_return fail(as.error());
  auto shaking = tls_stream::connect(std::move(*as), std::move(socket), std::move(name));
  result<tls_stream> stream = co_await std::move(shaking);
  if (!stream) co_return fail(stream.error());
  const bool is_http2 = stream->protocol() == "h2" && offers_http2();
  const bool speaks_http = is_http2 || stream->protocol().empty() || stream->protocol() == "http/1.1";
  if (!speaks_http) co_return fail(tls_errc::no_application_protocol);
  co_return connection{.stream = std::move(*stream), .is_http2 = is_http2};
}

// The functions below find a connection for each call.

auto http_pool::offers_http2() const -> bool {
  return options_.http2.use != http_client::http2_use::never && http_server::has_http2();
}

/// Returns whether calls to a host may share a connection. Until the first connection has shown which version the host
/// speaks, calls to this host wait for that connection, unless it is certain that the version is HTTP/1.1.
auto http_pool::may_share(const http_url& url, const http_host& host) const -> bool {
  if (url.scheme == http_scheme::http) return options_.http2.use == http_client::http2_use::known;
  if (host.speaks == http_host::version::http1) return false;
  return (!options_.tls || options_.tls->offers("h2")) && offers_http2();
}

auto http_pool::find_place(const http_url& url, std::shared_ptr<http_host> host,
                           std::optional<async_semaphore::permit> permit) -> task<result<http_place>> {
  if (!permit && may_share(url, *host)) {
    http_turn turn(*host);
    host->serve_waiting();
    co_await turn.is_over;
    if (turn.error) co_return fail(turn.error);
    if (turn.slot) co_return http_place{.slot = std::move(turn.slot)};
    if (turn.connecting) {
      auto connecting = connect(url);
      result<connection> made = co_await std::move(connecting);
      if (made) co_return place_on(std::move(*made), *host, turn.connecting->take_permit());
      host->fail_waiting(made.error());
      co_return fail(made.error());
    }
  }
  const bool is_repeated = permit.has_value();
  if (!is_repeated) {
    auto granted = co_await host->room.acquire();
    permit.emplace(std::move(granted));
  }
  std::unique_ptr<http_line> line = is_repeated ? nullptr : take(*host);
  if (line != nullptr) co_return http_place{.permit = std::move(permit), .line = std::move(line)};
  auto connecting = connect(url);
  result<connection> made = co_await std::move(connecting);
  if (!made) co_return fail(made.error());
  co_return place_on(std::move(*made), *host, std::move(*permit));
}

auto http_pool::place_on(connection made, http_host& host, async_semaphore::permit permit) -> http_place {
  host.speaks = made.is_http2 ? http_host::version::http2 : http_host::version::http1;
  if (!made.is_http2) {
    auto line = std::make_unique<http_line>(std::move(made.stream));
    return {.permit = std::move(permit), .line = std::move(line)};
  }
  return {.slot = http2_line::open(loop_, options_, host, std::move(permit), std::move(made.stream))};
}

auto http_pool::lease(std::shared_ptr<http_host> host, http_place place) -> std::unique_ptr<http_lease> {
  if (place.slot) return http2_line::lease(std::move(place.slot), std::move(host));
  return std::make_unique<http_line_lease>(*this, std::move(host), std::move(*place.permit), std::move(place.line));
}

http_connecting::http_connecting(http_host& host, async_semaphore::permit permit) noexcept
    : host_(&host), permit_(std::move(permit)) {
  host.is_connecting = true;
}

http_connecting::~http_connecting() {
  permit_.release();
  if (host_ == nullptr) return;
  host_->is_connecting = false;
  host_->serve_waiting();
}

http_turn::http_turn(http_host& host) noexcept { host.waiting.push_back(*this); }

void http_host::serve_waiting() noexcept {
  while (!waiting.empty()) {
    http_turn& next = waiting.front();
    if (speaks != version::http1) {
      const auto line = std::ranges::find_if(shared, [](const auto& each) { return each->has_room(); });
      if (line != shared.end()) {
        next.slot = http2_slot(*line);
      } else {
        if (is_connecting) return;
        auto permit = room.try_acquire();
        if (!permit) return;
        next.connecting.emplace(*this, std::move(*permit));
      }
    }
    next.unlink();
    next.is_over.set();
  }
}

void http_host::fail_waiting(std::error_code error) noexcept {
  while (http_turn* const next = waiting.pop_front()) {
    next->error = error;
    next->is_over.set();
  }
}

// The functions below implement one call.

auto http_line_lease::converse(const http_url& /*url*/, std::string_view head_and_body, const http_client::call& call)
    -> task<result<void>> {
  result<void> heard;
  if (!call.pieces && head_and_body.size() <= short_call) {
    note_sent(co_await line_->write(head_and_body));
    heard = co_await receive_head(call.method);
  } else {
    auto both = send_and_receive(head_and_body, call);
    heard = co_await std::move(both);
  }
  const bool failed = has_no_pieces_ || (!heard && send_error_);
  if (failed) co_return fail(send_error_);
  co_return heard;
}

auto http_line_lease::send_and_receive(std::string_view head_and_body, const http_client::call& call)
    -> task<result<void>> {
  auto both = [&](scope& children) -> task<result<void>> {
    children.spawn(send(head_and_body, call));
    const result<void> heard = co_await receive_head(call.method);
    if (heard && static_cast<int>(head().status) < first_refusing) co_await receive_beside();
    const bool is_over = !heard || end_of_input_ || static_cast<int>(head().status) >= first_refusing;
    if (is_over) children.request_stop();  // no task waits for the rest of the call
    co_return heard;
  };
  auto whole = with_scope(std::ref(both));
  co_return co_await std::move(whole);
}

/// Receives and stores the answer while the call is still being sent, up to the size limit. Otherwise the client and
/// the server might each wait for the other to read.
auto http_line_lease::receive_beside() -> task<void> {
  receives_beside_ = true;
  while (sends_on_ && !end_of_input_ && line_->input.view().size() < pool_->options().limits.body_bytes) {
    const result<std::size_t> got = co_await line_->receive();
    if (!got && got.error() == std::errc::operation_canceled) break;
    if (!got || *got == 0) end_of_input_ = got;
  }
  receives_beside_ = false;
  line_->allow_waits();
}

void http_line_lease::note_sent(const result<void>& sent) noexcept {
  is_sent_ = sent.has_value();
  if (!sent) send_error_ = sent.error();
  sends_on_ = false;
}

auto http_line_lease::send(std::string_view head_and_body, const http_client::call& call) -> task<void> {
  auto sending = call.pieces ? send_pieces(head_and_body, call) : line_->write(head_and_body);
  note_sent(co_await std::move(sending));
  if (receives_beside_ || has_no_pieces_) line_->end_waits();
}

auto http_line_lease::send_pieces(std::string_view head, const http_client::call& call) -> task<result<void>> {
  if (const auto sent = co_await line_->write(head); !sent) co_return sent;
  for (;;) {
    line_->half_sent = true;
    const result<std::string> piece = co_await call.pieces();
    has_no_pieces_ = !piece.has_value();
    if (!piece) co_return fail(piece.error());
    std::string text;
    append_chunk(text, *piece);
    if (piece->empty()) static_cast<void>(append_last_chunk(text));
    const auto sent = co_await line_->write(text);
    if (!sent || piece->empty()) co_return sent;
  }
}

auto http_line_lease::receive_head(http_method asked) -> task<result<void>> {
  http_input& input = line_->input;
  for (int informational = 0; informational <= max_informational;) {
    const http_progress read = input.empty() ? http_progress::needs_more : parser_.parse(input.view(), asked);
    if (read == http_progress::refused) co_return fail(parser_.error());
    if (read == http_progress::needs_more) {
      const result<std::size_t> got = co_await line_->receive();
      if (!got) co_return fail(got.error());
      if (*got == 0) co_return fail(http_errc::truncated);
      continue;
    }
    if (!is_informational(head().status)) co_return keep_head(asked);
    if (head().status == http_status::switching_protocols) break;
    input.consume(parser_.size());
    parser_.reset();
    ++informational;
  }
  co_return fail(http_errc::too_many_responses);
}

/// Copies the head of the answer out of the input buffer, so that it stays valid while the body is read.
auto http_line_lease::keep_head(http_method asked) -> result<void> {
  head_text_ = line_->input.view().substr(0, parser_.size());
  line_->input.consume(parser_.size());
  static_cast<void>(parser_.parse(head_text_, asked));
  body_.start(head().body);
  in_order_ = true;
  return {};
}

auto http_line_lease::read_some() -> task<result<std::string_view>> {
  for (;;) {
    if (body_.finished()) {
      settle();
      co_return std::string_view();
    }
    if (!in_order_) co_return fail(http_errc::truncated);
    http_input& input = line_->input;
    if (!input.empty()) {
      const auto piece = body_.next(input.view());
      in_order_ = piece.has_value();
      if (!piece) co_return fail(piece.error());
      input.consume(piece->consumed);
      if (!piece->data.empty()) co_return piece->data;
      continue;
    }
    result<std::size_t> got = end_of_input_.value_or(std::size_t{0});
    if (!end_of_input_) got = co_await line_->receive();
    if (!got || (*got == 0 && !body_.end_of_input())) {
      in_order_ = false;
      co_return fail(got ? make_error_code(http_errc::truncated) : got.error());
    }
  }
}

/// Returns the connection to the pool if it can be used again: the call was sent completely and the answer was read to
/// its end.
void http_line_lease::settle() noexcept {
  if (line_ == nullptr) return;
  const bool is_free =
      is_sent_ && !end_of_input_ && in_order_ && body_.finished() && head().keep_alive && line_->input.empty();
  if (is_free) pool_->give_back(*host_, std::move(line_));
  line_.reset();
  permit_.release();
  host_->serve_waiting();
}

}  // namespace braid::detail
