// rankd/server/traffic/open_http_load.cpp: sends each request over HTTP when it is due, whether earlier requests were
// answered or not.
#include <rankd/server/traffic/http_load.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/detail/http_parser.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace rankd {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t sent_in_succession = 64;
constexpr std::size_t max_backlog = 1'000'000;

/// A request that is due to be sent.
struct arrival {
  braid::time_point due;
  std::uint64_t number = 0;
};

struct heard {
  braid::http_status status{};
  bool has_retry_after = false;  // the answer says when to retry
  bool stays = false;            // the connection stays open
};

/// A connection that is opened when it is first used, and opened again after an error.
class line {
 public:
  line(braid::loop& loop, const braid::socket_address& address) : loop_(&loop), address_(address) {}

  auto ask(std::string_view request) -> braid::task<braid::result<heard>> {
    auto exchange = exchange_message(request);
    const braid::result<heard> got = co_await std::move(exchange);
    if (!got || !got->stays) socket_ = braid::stream_socket();
    co_return got;
  }

 private:
  auto exchange_message(std::string_view request) -> braid::task<braid::result<heard>> {
    if (!socket_) {
      auto connecting = braid::stream_socket::connect(*loop_, address_);
      auto made = co_await std::move(connecting);
      if (!made) co_return braid::fail(made.error());
      socket_ = std::move(*made);
    }
    const braid::result<void> sent = co_await socket_.write_all(braid::bytes_of(request));
    if (!sent) co_return braid::fail(sent.error());
    held_.clear();
    parser_.reset();
    std::optional<heard> head;
    for (std::size_t whole = 0;;) {
      if (!head && !held_.empty()) {
        const braid::detail::http_progress read = parser_.parse(held_, braid::http_method::post);
        if (read == braid::detail::http_progress::refused) co_return braid::fail(parser_.error());
        if (read == braid::detail::http_progress::complete) head = take_head(whole);
      }
      if (head && held_.size() >= whole) co_return *head;
      const braid::result<std::size_t> got = co_await socket_.read_some(room_);
      if (!got) co_return braid::fail(got.error());
      if (*got == 0) co_return braid::fail(braid::http_errc::truncated);
      held_ += braid::text_of(std::span(room_).first(*got));
    }
  }

  /// Returns the head of the answer, and sets `whole` to the size of the entire answer. Requires that the answer has a
  /// Content-Length field, which rankd always sends.
  auto take_head(std::size_t& whole) const -> heard {
    const braid::http_response_head& head = parser_.head();
    whole = parser_.size() + head.body.length;
    return {.status = head.status,
            .has_retry_after = head.fields.find("Retry-After").has_value(),
            .stays = head.keep_alive && head.body.how == braid::http_framing::kind::length};
  }

  braid::loop* loop_;
  braid::socket_address address_;
  braid::stream_socket socket_;
  braid::detail::http_response_parser parser_;
  std::string held_;
  std::array<std::byte, 8192> room_;
};

/// An open load that runs on one loop.
class open_load {
 public:
  open_load(braid::loop& loop, const braid::socket_address& address, const std::vector<std::string>& texts,
            const open_load_options& options, open_load_result& seen)
      : loop_(&loop),
        address_(address),
        texts_(&texts),
        options_(&options),
        seen_(&seen),
        due_(choose_backlog(options)) {}

  auto run() -> braid::task<void> {
    counts_from_ = loop_->now() + options_->warm_up;
    ends_at_ = counts_from_ + options_->duration;
    auto start = [this](braid::scope& children) -> braid::task<void> {
      for (unsigned each = 0; each < options_->connections; ++each) children.spawn(ask_what_is_due());
      auto all = send_all();
      co_await std::move(all);
    };
    braid::task<void> whole = braid::with_scope(std::ref(start));
    // The last request may be sent up to `patience` after the end of the load, and its answer may then take another
    // `patience`.
    auto limited = braid::with_deadline(ends_at_ + 2 * options_->patience, std::move(whole));
    static_cast<void>(co_await std::move(limited));  // requests without an answer by then have failed
    while (const std::optional<arrival> left = due_.try_receive()) seen_->unsent += left->due >= counts_from_ ? 1 : 0;
  }

 private:
  static auto choose_backlog(const open_load_options& options) -> std::size_t {
    const double waiting = options.per_second * std::chrono::duration<double>(options.patience).count();
    return std::min(max_backlog, static_cast<std::size_t>(waiting) + options.connections + 1);
  }

  auto send_all() -> braid::task<void> {
    const braid::time_point begin = counts_from_ - options_->warm_up;
    for (std::uint64_t number = 0;; ++number) {
      const std::chrono::duration<double> since(static_cast<double>(number) / options_->per_second);
      const braid::time_point due = begin + std::chrono::duration_cast<nanoseconds>(since);
      if (due >= ends_at_) break;
      if (due > loop_->now())
        co_await braid::sleep_until(due);
      else if (number % sent_in_succession == 0)
        co_await braid::yield();
      const bool counts = due >= counts_from_;
      seen_->due += counts ? 1 : 0;
      if (!due_.try_send({due, number}) && counts) ++seen_->unsent;
    }
    due_.close();
  }

  auto ask_what_is_due() -> braid::task<void> {
    line mine(*loop_, address_);
    for (;;) {
      const std::optional<arrival> next = co_await due_.receive();
      if (!next) co_return;
      const bool counts = next->due >= counts_from_;
      const braid::time_point sent = loop_->now();
      if (sent - next->due > options_->patience) {
        seen_->unsent += counts ? 1 : 0;
        continue;
      }
      auto asking = mine.ask((*texts_)[next->number % texts_->size()]);
      const braid::result<heard> got = co_await std::move(asking);
      if (counts) note(*next, sent, got);
    }
  }

  void note(const arrival& sent_request, braid::time_point sent, const braid::result<heard>& got) {
    const braid::time_point end = loop_->now();
    seen_->lateness.push_back(sent - sent_request.due);
    if (!got) return;
    if (got->status == braid::http_status::ok) seen_->good.push_back(end - sent_request.due);
    if (got->status != braid::http_status::service_unavailable) return;
    seen_->refused.push_back(end - sent_request.due);
    seen_->refusals.push_back(end - sent);
    seen_->without_hint += got->has_retry_after ? 0 : 1;
  }

  braid::loop* loop_;
  braid::socket_address address_;
  const std::vector<std::string>* texts_;
  const open_load_options* options_;
  open_load_result* seen_;
  braid::time_point counts_from_;
  braid::time_point ends_at_;
  braid::channel<arrival> due_;
};

/// Returns the complete HTTP requests as bytes.
auto make_texts(const http_load_address& address, const braid::http_url& url, std::span<const std::string> requests)
    -> std::vector<std::string> {
  std::string head = "POST /v1/rank HTTP/1.1\r\nHost: " + url.host + "\r\nContent-Type: application/json\r\n";
  if (!address.token.empty()) head += "Authorization: Bearer " + address.token + "\r\n";
  std::vector<std::string> texts;
  for (const std::string& body : requests)
    texts.push_back(head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return texts;
}

auto run_on(braid::runtime& runtime, const http_load_address& address, std::span<const std::string> requests,
            const open_load_options& options, open_load_result& seen) -> braid::task<std::error_code> {
  const auto url = braid::http_url::parse(address.url);
  if (!url) co_return url.error();
  braid::resolver names(runtime.io(), runtime.blocking());
  auto asking = names.resolve(url->name == "localhost" ? "127.0.0.1" : url->name, url->port);
  const auto known = co_await std::move(asking);
  if (!known) co_return known.error();
  const std::vector<std::string> texts = make_texts(address, *url, requests);
  const auto load = std::make_unique<open_load>(runtime.io(), known->front(), texts, options, seen);
  auto work = load->run();
  co_await std::move(work);
  co_return std::error_code();
}

}  // namespace

auto open_load_result::failed() const noexcept -> std::uint64_t { return due - unsent - good.size() - refused.size(); }

auto run_open_load(const http_load_address& address, std::span<const std::string> requests,
                   const open_load_options& options) -> braid::checked<open_load_result> {
  BRAID_EXPECTS(!requests.empty() && options.connections > 0 && options.per_second > 0,
                "a load needs at least one request and a rate");
  if (address.url.starts_with("https:"))
    return refused("no_tls_here", "a load with --rate must use http://, not https://", {}, address.url);
  auto on = braid::runtime::create({.workers = 1, .name = "load"});
  if (!on) return std::unexpected(no_runtime(on.error()));
  open_load_result seen{.total = options.duration};
  const std::error_code why = (*on)->run(run_on(**on, address, requests, options, seen));
  if (why) return refused("server_unreachable", "the server did not answer: " + why.message(), {}, address.url);
  for (auto* each : {&seen.good, &seen.refused, &seen.refusals, &seen.lateness}) std::ranges::sort(*each);
  return seen;
}

}  // namespace rankd
