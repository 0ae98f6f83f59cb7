// src/net/redis_shared_connection_state.cpp: connects to a server, sends the greeting, and reconnects after a loss.
#include <braid/net/detail/redis_shared_connection.hpp>

#include <braid/base/detail/after.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/resp.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <utility>

namespace braid::detail {
namespace {

/// The time without a received byte after which a connection with tracking sends a PING. docs/design/constants.md gives
/// the reason for this value.
constexpr duration tracking_check = std::chrono::seconds(1);

}  // namespace

/// Adds the metrics of a connection.
/// Threads: any.
void redis_shared_connection::add_metrics(const void* self, metric_list& metrics) {
  const redis_counts& counts = static_cast<const redis_shared_connection*>(self)->counts_;
  const auto now = [](const std::uint64_t& count) { return static_cast<double>(read_count(count)); };
  metrics.counter("braid_redis_commands_sent", "Commands that were sent to Redis.", now(counts.sent));
  metrics.counter("braid_redis_replies", "Redis replies that a task was waiting for.", now(counts.answered));
  metrics.counter("braid_redis_dropped_replies", "Redis replies that no task was waiting for any more.",
                  now(counts.dropped));
  metrics.counter("braid_redis_shared_reads",
                  "Reads that were not sent, because an identical read was already in flight.", now(counts.shared));
  metrics.counter("braid_redis_pushed_messages", "Messages from Redis that are not replies.", now(counts.pushed));
  metrics.counter("braid_redis_expired_calls", "Calls that timed out without a reply.", now(counts.expired));
  metrics.counter("braid_redis_refused_calls", "Calls that were refused because the queue was full.",
                  now(counts.refused));
  metrics.counter("braid_redis_connections_made", "Connections to Redis that were established.", now(counts.connected));
  metrics.counter("braid_redis_connections_lost", "Connections to Redis that ended or were abandoned.",
                  now(counts.lost));
  metrics.counter("braid_redis_failed_connects", "Attempts to connect to Redis that failed.", now(counts.failed));
}

void redis_shared_connection::connect() noexcept {
  state_ = state::connecting;
  loop_->arm(connect_timer_, after(loop_->now(), options_.connect_timeout));
  try {
    transport_ = std::make_shared<redis_transport>(*this, *loop_, options_);
    loop_->spawn(redis_transport::run(transport_));
  } catch (const std::bad_alloc&) {
    attempt_failed(std::make_error_code(std::errc::not_enough_memory));
  }
}

void redis_shared_connection::connected() noexcept {
  state_ = state::greeting;
  has_answered_ = false;
  try {
    greet();
  } catch (const std::bad_alloc&) {
    attempt_failed(std::make_error_code(std::errc::not_enough_memory));
  }
}

void redis_shared_connection::greet() {
  const std::string_view user = options_.user.empty() ? std::string_view("default") : options_.user;
  const bool has_password = !options_.password.empty();
  const bool is_tracked = options_.tracker != nullptr && !is_untracked_;
  const bool is_resp3 = is_tracked || options_.protocol == redis_protocol::resp3;
  greetings_ = 0;
  if (is_resp3 && has_password) {
    write_command(out_, "HELLO", 3, "AUTH", user, options_.password);
    ++greetings_;
  } else if (is_resp3) {
    write_command(out_, "HELLO", 3);
    ++greetings_;
  } else if (has_password && options_.user.empty()) {
    write_command(out_, "AUTH", options_.password);
    ++greetings_;
  } else if (has_password) {
    write_command(out_, "AUTH", user, options_.password);
    ++greetings_;
  }
  if (options_.database != 0) {
    write_command(out_, "SELECT", options_.database);
    ++greetings_;
  }
  if (options_.reads_from_replica) {
    write_command(out_, "READONLY");
    ++greetings_;
  }
  if (is_tracked) {
    write_command(out_, "CLIENT", "TRACKING", "ON");
    ++greetings_;
  }
  greetings_ == 0 ? become_ready() : flush();
}

auto redis_shared_connection::take_greeting(const resp_value& reply) noexcept -> next {
  if (reply.is_error()) {
    if (may_go_on_untracked(parse_redis_error(reply.text())))
      connect_untracked();
    else
      attempt_failed(parse_redis_error(reply.text()), reply.text());
    return next::stop;
  }
  has_answered_ = true;
  if (--greetings_ > 0) return next::go_on;
  failures_ = 0;
  refusal_.clear();
  become_ready();
  return state_ == state::ready ? next::go_on : next::stop;
}

void redis_shared_connection::become_ready() noexcept {
  loop_->disarm(connect_timer_);
  state_ = state::ready;
  add_to_count(counts_.connected);
  if (options_.tracker != nullptr) begin_tracking();
  if (in_iteration_) return;  // the commands are sent at the end of the iteration
  encode_waiting();
  flush();
}

/// Closes the connection and discards its buffers. A task that is using the connection notices this by the changed
/// generation.
void redis_shared_connection::hang_up() noexcept {
  ++generation_;
  if (has_tracker_) end_tracking();
  if (transport_ != nullptr) transport_->give_up();
  transport_.reset();
  out_.clear();
  same_reads_.clear();
  shared_.reset();
  reply_ = reply_slot::none;
  loop_->disarm(connect_timer_);
  loop_->disarm(silence_timer_);
  doubted_ = time_point::max();
}

// The functions below track changed keys.

/// Returns whether to reconnect without tracking after an error of the greeting. The server may not support or permit
/// HELLO 3 or CLIENT TRACKING. If the error has another cause, the second attempt fails with the same error.
auto redis_shared_connection::may_go_on_untracked(redis_errc code) const noexcept -> bool {
  const bool is_refused = code == redis_errc::refused || code == redis_errc::no_permission;
  return options_.tracker != nullptr && !is_untracked_ && is_refused;
}

void redis_shared_connection::connect_untracked() noexcept {
  hang_up();
  is_untracked_ = true;
  connect();
}

void redis_shared_connection::begin_tracking() noexcept {
  has_tracker_ = true;
  if (is_untracked_)
    ++options_.tracker->untracked_;
  else
    loop_->arm(tracking_timer_, after(loop_->now(), tracking_check));
}

/// Reports all keys as changed when the connection ends, because later changes are not reported. This also happens if
/// the server has refused tracking. Otherwise the values that were read over this connection would count as tracked
/// once the connection no longer exists.
void redis_shared_connection::end_tracking() noexcept {
  has_tracker_ = false;
  loop_->disarm(tracking_timer_);
  pushed_.reset();
  if (is_untracked_) --options_.tracker->untracked_;
  options_.tracker->all_changed();
}

/// Reports the keys of an `invalidate` message as changed. Null in place of the array of keys means all keys.
void redis_shared_connection::note_changes(const resp_value& pushed) noexcept {
  const std::span<const resp_value> words = pushed.items();
  if (words.size() == 2 && words[0].has_text() && words[0].text() == "invalidate") {
    if (words[1].has_items()) {
      for (const resp_value& key : words[1].items())
        if (key.has_text()) options_.tracker->key_changed(key.text());
    } else {
      options_.tracker->all_changed();
    }
  }
  pushed_.reset();
}

/// Sends a PING to a server that has been silent for a while. An unreachable server cannot report changed keys, and a
/// client that caches its reads may send no other command. If no reply arrives, the connection ends as usual.
void redis_shared_connection::check_tracking() noexcept {
  const time_point now = loop_->now();
  loop_->arm(tracking_timer_, after(now, tracking_check));
  if (state_ != state::ready || !window_.empty() || !waiting_.empty() || now - last_heard_ < tracking_check) return;
  try {
    write_command(out_, "PING");
  } catch (const std::bad_alloc&) {
    return;  // the next check may succeed
  }
  window_.push_unowned();
  add_to_count(counts_.sent);
  last_heard_ = now;
  look_sooner_for_silence();
  flush();
}

/// Ends a failed attempt to connect. Requests that waited for this attempt get the error of the attempt; later requests
/// wait for the next attempt.
void redis_shared_connection::attempt_failed(std::error_code error, std::string_view text) noexcept {
  add_to_count(counts_.failed);
  keep_reason(error, text);
  hang_up();
  fail_waiting(error);
  back_off();
}

void redis_shared_connection::connect_timed_out() noexcept {
  attempt_failed(std::make_error_code(std::errc::timed_out));
}

/// Called when the connection has ended, in any state.
void redis_shared_connection::broke(std::error_code error) noexcept {
  state_ == state::ready ? lose(error) : attempt_failed(error);
}

/// Ends an established connection. Requests that were sent, even in part, fail; the other requests wait for the next
/// connection. The request whose reply was expected next gets the error `first`.
void redis_shared_connection::lose(std::error_code error, std::error_code first, std::string_view text) noexcept {
  add_to_count(counts_.lost);
  keep_reason(error, text);
  hang_up();
  fail_due(first, redis_errc::connection_lost);
  if (begun_ != nullptr)
    fail(*begun_, redis_errc::connection_lost);  // a part was answered, and the rest cannot be sent separately
  back_off();
}

/// Called if the server refuses the connection with an error after the greeting. Such a server has executed no command,
/// so all commands fail with this error.
void redis_shared_connection::turned_away(std::string_view text) noexcept {
  const std::error_code why = parse_redis_error(text);
  fail_due(why, why);
  lose(why, why, text);
}

/// Stores why the connection has ended, with the server's text. The text is cut before the password, because a server
/// that does not know a command of the greeting repeats the arguments of that command.
void redis_shared_connection::keep_reason(std::error_code error, std::string_view text) noexcept {
  constexpr std::size_t max_text = 1'000;
  last_error_ = error;
  const bool has_password = !options_.password.empty();
  const std::size_t secret =
      has_password ? std::min(text.find(options_.password), text.find(", with args")) : text.npos;
  try {
    refusal_ = text.substr(0, std::min(secret, max_text));
  } catch (const std::bad_alloc&) {
    refusal_.clear();
  }
}

void redis_shared_connection::back_off() noexcept {
  if (is_retired_) return close();
  state_ = state::backing_off;
  is_untracked_ = false;  // the next server may be a different one
  const auto& how = options_.backoff;
  duration span = how.first;
  for (std::uint32_t i = 0; i < failures_ && span < how.max_delay; ++i)
    span = span > how.max_delay / 2 ? how.max_delay : 2 * span;
  span = std::clamp(span, duration(1), std::max(how.max_delay, duration(1)));
  ++failures_;
  const auto half = span / 2;
  const auto random_part =
      duration(static_cast<duration::rep>(random_.below(static_cast<std::uint64_t>(half.count()) + 1)));
  loop_->arm(backoff_timer_, after(loop_->now(), half + random_part));
}

void redis_shared_connection::close() noexcept {
  if (std::exchange(state_, state::closed) == state::closed) return;
  BRAID_EXPECTS(loop_->is_current(), "a connection must be closed on the thread of its loop");
  hang_up();
  loop_->disarm(backoff_timer_);
  fail_due(errc::closed, errc::closed);
  fail_waiting(errc::closed);
  loop_->disarm(due_timer_);
}

void redis_shared_connection::retire() noexcept {
  is_retired_ = true;
  if (state_ != state::ready || load() == 0) close();
}

void redis_shared_connection::fail_waiting(std::error_code error) noexcept {
  while (!waiting_.empty()) fail(waiting_.front(), error);
}

void redis_shared_connection::fail_due(std::error_code first_why, std::error_code error) noexcept {
  for (std::error_code now = first_why; !window_.empty(); now = error) {
    redis_request* first = window_.drop_front();
    while (first != nullptr) {
      redis_request& request = *std::exchange(first, first->same);
      window_.leave(request);  // a batch may have entries after this one
      request.same = nullptr;
      fail(request, now);
    }
  }
}

}  // namespace braid::detail
