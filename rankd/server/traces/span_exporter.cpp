// rankd/server/traces/span_exporter.cpp: sends batches of spans, and handles the answers of a collector.
#include <rankd/server/traces/span_exporter.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <iterator>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

constexpr auto max_retry_after = std::chrono::seconds(30);  // whatever the collector asks for

/// Returns whether the call may be retried. Source: OpenTelemetry Protocol, "OTLP/HTTP Response", retryable codes.
auto is_temporary(braid::http_status status) -> bool {
  using braid::http_status;
  return status == http_status::too_many_requests || status == http_status::bad_gateway ||
         status == http_status::service_unavailable || status == http_status::gateway_timeout;
}

auto is_taken(const braid::result<braid::http_client::answer>& answer) -> bool {
  return answer && static_cast<int>(answer->status) / 100 == 2;
}

/// The maximum size in bytes of a collector's answer. A normal answer contains only a number and a sentence.
constexpr std::uint64_t max_answer = std::uint64_t{64} << 10U;

/// Returns `partialSuccess.rejectedSpans` of an answer, or 0 if it is absent. The value may be a string or a number.
auto rejected_in(const std::string& body, std::size_t sent) -> std::size_t {
  // Refuses an answer with deeper nesting. The exporter needs no deeper values, and a collector may send any document.
  constexpr int max_depth = 4;
  const auto is_kept = [](int depth, nlohmann::json::parse_event_t /*event*/, nlohmann::json& /*value*/) {
    return depth <= max_depth;
  };
  const auto answer = nlohmann::json::parse(body, is_kept, false);
  if (!answer.is_object()) return 0;
  const auto part = answer.find("partialSuccess");
  if (part == answer.end() || !part->is_object()) return 0;
  const auto rejected = part->find("rejectedSpans");
  if (rejected == part->end()) return 0;
  const std::string digits = rejected->is_string() ? rejected->get<std::string>() : rejected->dump();
  std::size_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return std::min(number, sent);
}

/// Returns the pause that the collector requests in its answer, or zero if it requests no pause.
auto asked_pause(const braid::result<braid::http_client::answer>& answer) -> braid::duration {
  if (!answer) return {};
  const auto field = answer->field("Retry-After");
  std::int64_t seconds = 0;
  if (field) std::from_chars(field->data(), field->data() + field->size(), seconds);
  return std::clamp<braid::duration>(std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, 3600)), {},
                                     max_retry_after);
}

/// Returns the URL for use in the log, without the query, which often contains a key.
auto without_query(std::string_view url) -> std::string { return std::string(url.substr(0, url.find('?'))); }

}  // namespace

/// Looks up host names. Each lookup runs on its own detached thread, because the system's lookup cannot be stopped and
/// may outlast the exporter. Such a thread owns everything that it uses, so a caller can stop waiting at any time.
class span_exporter::lookups : public std::enable_shared_from_this<lookups> {
 public:
  using answer = braid::result<braid::socket_address::list>;
  using function = std::function<answer(const std::string&)>;

  explicit lookups(function ask) : ask_(std::move(ask)) {}

  /// Looks up a host. Blocks: until the system answers or `give_up` is called. Errors: errc::closed after `give_up`;
  /// the errors of the lookup function; std::system_error if no thread can be created.
  auto find(const std::string& host) -> answer {
    const auto found = std::make_shared<std::optional<answer>>();
    std::thread([self = shared_from_this(), found, host] { self->answer_to(host, *found); }).detach();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return given_up_ || found->has_value(); });
    if (!*found) return braid::fail(braid::errc::closed);
    return **found;
  }

  /// Makes waiting and later calls of `find` fail with errc::closed.
  void give_up() {
    const std::scoped_lock lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

 private:
  void answer_to(const std::string& host, std::optional<answer>& found) noexcept {
    answer made = braid::fail(braid::errc::unknown_host);
    try {
      made = ask_(host);
    } catch (const std::bad_alloc&) {
      made = braid::fail(std::make_error_code(std::errc::not_enough_memory));
    }
    const std::scoped_lock lock(mutex_);
    found = std::move(made);
    changed_.notify_all();
  }

  const function ask_;
  std::mutex mutex_;  // guards the members below, and the answers
  std::condition_variable changed_;
  bool given_up_ = false;
};

auto collector_url(std::string_view text) -> braid::result<std::string> {
  auto url = braid::http_url::parse(text);
  if (!url) return braid::fail(url.error());
  return url->origin() + (url->target == "/" ? "/v1/traces" : url->target);
}

auto span_exporter::start(span_export_options options, serve_log log)
    -> braid::checked<std::unique_ptr<span_exporter>> {
  auto url = collector_url(options.url);
  if (!url) return refused("bad_url", "`" + options.url + "` is not a valid collector URL: " + url.error().message());
  options.url = std::move(*url);
  auto on = braid::runtime::create({.workers = 1, .name = "otlp", .shape = braid::runtime_shape::merged});
  if (!on) return std::unexpected(no_runtime(on.error()));
  std::unique_ptr<span_exporter> made(new span_exporter(std::move(options), log, std::move(*on)));
  made->works_.emplace(braid::spawn(*made->runtime_, made->work()));
  return made;
}

span_exporter::span_exporter(span_export_options options, serve_log log, std::unique_ptr<braid::runtime> runtime)
    : options_(std::move(options)),
      log_(log),
      lookups_(std::make_shared<lookups>(options_.lookup)),
      runtime_(std::move(runtime)) {}

span_exporter::~span_exporter() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  static_cast<void>(works_->wait_for(options_.last_words));
  lookups_->give_up();
  static_cast<void>(runtime_->shutdown(braid::shutdown_mode::drain));  // stops a call that still waits
}

auto span_exporter::samples(const braid::trace_context& first) const noexcept -> bool {
  constexpr double all = 0x1p53;  // a double represents all integers up to this
  return static_cast<double>(first.trace_id[1] >> 11U) < options_.share * all;
}

void span_exporter::add(std::vector<otlp_span> of_request) {
  const std::scoped_lock lock(mutex_);
  if (counts_.queued + of_request.size() > options_.queue) {
    counts_.dropped += of_request.size();
    return;
  }
  const std::size_t size = of_request.size();
  waiting_.push_back(std::move(of_request));
  counts_.queued += size;
}

void span_exporter::lose() noexcept {
  const std::scoped_lock lock(mutex_);
  ++counts_.dropped;
}

auto span_exporter::counts() const -> span_counts {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

auto span_exporter::is_ending() const -> bool {
  const std::scoped_lock lock(mutex_);
  return ending_;
}

/// Removes the oldest spans from the queue and returns them. Never splits the spans of one request.
auto span_exporter::take_batch() -> spans {
  const std::scoped_lock lock(mutex_);
  std::size_t size = 0;
  auto end = waiting_.begin();
  while (end != waiting_.end() && (size == 0 || size + end->size() <= options_.batch)) size += end++->size();
  spans out;
  out.reserve(size);  // nothing is taken without memory for all
  for (spans& each : std::ranges::subrange(waiting_.begin(), end)) std::ranges::move(each, std::back_inserter(out));
  waiting_.erase(waiting_.begin(), end);
  return out;
}

void span_exporter::settle(std::size_t taken, std::size_t refused) {
  const std::scoped_lock lock(mutex_);
  counts_.queued -= taken + refused;
  counts_.exported += taken;
  counts_.failed += refused;
}

/// Sends batches until the exporter ends. Waits after a batch that is not full, so that an idle server sends few
/// batches.
auto span_exporter::work() -> braid::task<void> {
  braid::resolver names(runtime_->io(), runtime_->blocking(),
                        {.lookup = [of = lookups_](const std::string& host) { return of->find(host); }});
  braid::http_client client(runtime_->io(), {.limits = {.body_bytes = max_answer},
                                             .connections_per_host = 1,
                                             .connect_timeout = options_.timeout,
                                             .names = &names});
  for (;;) {
    const bool is_last = is_ending();  // before the batch: what comes later is not waited for
    spans batch;
    try {
      batch = take_batch();
      if (!batch.empty()) {
        auto delivering = deliver(client, batch);
        co_await std::move(delivering);
      }
    } catch (const std::bad_alloc&) {
      settle(0, batch.size());  // later ones are tried
    }
    if (batch.empty() && is_last) co_return;
    if (batch.size() < options_.batch / 2 && !is_last) co_await braid::sleep_for(options_.interval);
  }
}

auto span_exporter::deliver(braid::http_client& client, const spans& batch) -> braid::task<void> {
  const std::string body = otlp_json(batch);
  braid::duration wait = options_.retry_after;
  for (unsigned attempt = 1;; ++attempt) {
    braid::http_client::call call{.method = braid::http_method::post,
                                  .url = options_.url,
                                  .fields = {{"Content-Type", "application/json"}},
                                  .body = body};
    auto calling = braid::with_timeout(options_.timeout, client.fetch(std::move(call)));
    const braid::result<braid::http_client::answer> answer = co_await std::move(calling);
    if (is_taken(answer)) {
      const std::size_t rejected = rejected_in(answer->body, batch.size());
      is_reported_ = false;
      co_return settle(batch.size() - rejected, rejected);
    }
    report(answer);
    const bool may_repeat = (!answer || is_temporary(answer->status)) && attempt < options_.attempts && !is_ending();
    if (!may_repeat) co_return settle(0, batch.size());
    auto waiting = pause(std::max(wait, asked_pause(answer)));
    co_await std::move(waiting);
    wait *= 2;
  }
}

/// Waits for the given time, or until the exporter ends if that is earlier.
auto span_exporter::pause(braid::duration span) -> braid::task<void> {
  const braid::time_point end = runtime_->io().now() + span;
  while (runtime_->io().now() < end && !is_ending())
    co_await braid::sleep_for(std::min(options_.interval, end - runtime_->io().now()));
}

void span_exporter::report(const braid::result<braid::http_client::answer>& answer) {
  if (std::exchange(is_reported_, true)) return;
  const std::string why =
      answer ? "it answered " + std::to_string(static_cast<int>(answer->status)) : answer.error().message();
  log_.note(log_level::warning, "collector_failed", {{"url", without_query(options_.url)}, {"message", why}});
}

}  // namespace rankd
