// src/net/redis_shared_connection.cpp: encodes commands, sends them, and passes replies to the waiting requests.
#include <braid/net/detail/redis_shared_connection.hpp>

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/net/detail/short_text.hpp>
#include <braid/net/redis_options.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <random>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::uint32_t resumptions_per_iteration = 4096;
constexpr std::size_t max_unsent = 1U << 20U;
constexpr std::size_t max_shared = 64U << 10U;
constexpr duration second_look = std::chrono::milliseconds(10);

/// Returns a value with only the type of the reply, without its text and elements.
auto type_only(const resp_value& reply) noexcept -> resp_value {
  if (reply.has_text())
    return resp_value::of_text(reply.type(), reply.type() == resp_type::verbatim ? std::string_view("txt:") : "");
  return reply.has_items() ? resp_value::of_items(reply.type(), {}) : reply;
}

/// Returns whether a server sends this error instead of a reply to a command, because it refuses the whole connection.
auto refuses_connections(redis_errc code) noexcept -> bool {
  return code == redis_errc::too_many_clients || code == redis_errc::protected_mode;
}

/// Limits the number of commands in flight, because memory is allocated for all these commands when the connection is
/// created.
auto within_limits(redis_options options) -> redis_options {
  options.in_flight = std::min(options.in_flight, redis_options::max_in_flight);
  return options;
}

}  // namespace

redis_request::own_timer::own_timer(redis_request& request) noexcept
    : timer([](timer& self) noexcept {
        redis_request& late = *static_cast<own_timer&>(self).owner;
        late.link->request_timed_out(late);
      }),
      owner(&request) {}

redis_shared_connection::redis_shared_connection(loop& loop, redis_options options)
    : loop_(&loop),
      options_(within_limits(std::move(options))),
      parser_(options_.limits),
      window_(options_.in_flight),
      same_reads_(options_.repeats == redis_repeats::shared ? options_.in_flight : 0),
      random_(options_.backoff.seed != 0 ? options_.backoff.seed : std::random_device{}()),
      flush_(new flush_job(*this)) {
  BRAID_EXPECTS(loop.is_current(), "a connection must be created on the thread of its loop");
  BRAID_EXPECTS(options_.in_flight > 0, "`in_flight` of a Redis connection must be at least 1");
  connect();
}

redis_shared_connection::~redis_shared_connection() {
  if (gone_ != nullptr) *gone_ = true;
  close();
  if (flush_->is_posted)
    flush_->owner = nullptr;
  else
    delete flush_;
}

// The functions below queue and encode commands.

auto redis_shared_connection::submit(redis_request& request) noexcept -> std::error_code {
  if (state_ == state::closed) return errc::closed;
  const bool at_once = state_ == state::ready && waiting_.empty() && window_.room() > 0 && out_.size() < max_unsent;
  if (!at_once && waiting_count_ >= options_.queue) {
    add_to_count(counts_.refused);
    return errc::full;
  }
  request.link = this;
  set_deadline(request);
  if (at_once) encode(request);
  if (request.link != nullptr && request.unsent > 0) wait_to_be_sent(request);
  flush_later();
  return {};
}

[[gnu::noinline]] void redis_shared_connection::wait_to_be_sent(redis_request& request) noexcept {
  waiting_.push_back(request);
  ++waiting_count_;
  if (request.unsent != request.missing) begun_ = &request;
  if (request.timeout == duration::zero()) by_due_.push_back(request);
}

/// Encodes as many commands of the request as the window has room for.
void redis_shared_connection::encode(redis_request& request) noexcept {
  const std::size_t begin = out_.size();
  std::uint32_t count = 0;
  try {
    count = request.how->encode(request, out_, std::min(window_.room(), request.unsent));
  } catch (const std::bad_alloc&) {
    const bool is_half_sent = begun_ == &request && request.how->is_whole;
    out_.shorten_to(begin);
    window_.leave(request);
    fail(request, std::make_error_code(std::errc::not_enough_memory));
    if (is_half_sent) lose(redis_errc::connection_lost);  // for the same reason as in `withdraw`
    return;
  }
  if (same_reads_.is_used() && joins_same(request, begin)) return;
  if (window_.empty()) last_heard_ = iteration_time();
  redis_window::entry& place = window_.push(request, count);
  request.unsent -= count;
  add_to_count(counts_.sent, std::uint64_t{count});
  if (same_reads_.is_used() && request.how->is_read) same_reads_.add(begin, out_.size() - begin, place);
}

/// If the same read was already encoded in this iteration, removes the second encoding from the buffer. Both requests
/// then share the reply.
auto redis_shared_connection::joins_same(redis_request& request, std::size_t begin) noexcept -> bool {
  if (request.how->is_write) same_reads_.clear();  // a read after a write must see the write
  if (!request.how->is_read) return false;
  const std::string_view all = out_.bytes();
  redis_window::entry* const first = same_reads_.find(all, all.substr(begin));
  if (first == nullptr) return false;
  out_.shorten_to(begin);
  request.unsent = 0;
  request.same = std::exchange(first->who, &request);
  add_to_count(counts_.shared);
  return true;
}

void redis_shared_connection::encode_waiting() noexcept {
  while (state_ == state::ready && !waiting_.empty() && window_.room() > 0 && out_.size() < max_unsent) {
    redis_request& next = waiting_.front();
    encode(next);
    if (next.link == nullptr) continue;
    begun_ = next.unsent > 0 ? &next : nullptr;
    if (next.unsent > 0) continue;
    static_cast<redis_queue_hook&>(next).unlink();
    --waiting_count_;
  }
}

void redis_shared_connection::withdraw(redis_request& request) noexcept {
  if (request.link != this) return;
  const bool is_begun = begun_ == &request;
  if (is_begun || request.missing != request.unsent) {  // a part of the request was encoded
    if (reply_ == reply_slot::own && window_.front().who == &request) parser_.discard();
    window_.leave(request);
    look_sooner_for_silence();
  }
  request.same = nullptr;
  release(request);
  if (!is_begun) return;
  begun_ = nullptr;
  if (request.how->is_whole) lose(redis_errc::connection_lost);  // the server waits for the end of a transaction
}

/// Removes a request from all lists and timers of this connection.
void redis_shared_connection::release(redis_request& request) noexcept {
  auto& queued = static_cast<redis_queue_hook&>(request);
  if (queued.is_linked()) {
    queued.unlink();
    --waiting_count_;
  }
  auto& timed = static_cast<redis_due_hook&>(request);
  if (timed.is_linked()) timed.unlink();
  if (request.deadline && request.deadline->is_armed()) loop_->disarm(*request.deadline);
  request.link = nullptr;
}

void redis_shared_connection::fail(redis_request& request, std::error_code error) noexcept {
  if (begun_ == &request) begun_ = nullptr;
  release(request);
  if (!request.error) request.error = error;  // an invalid reply has set a more precise error
  request.how->over(request, redis_end::later);
}

// The functions below write to the socket.

void redis_shared_connection::flush_job::act(job& self, action /*what*/) {
  auto& posted = static_cast<flush_job&>(self);
  posted.is_posted = false;
  if (posted.owner == nullptr) {
    delete &posted;
    return;
  }
  posted.owner->encode_waiting();
  posted.owner->flush();
}

void redis_shared_connection::flush_later() noexcept {
  if (in_iteration_ || flush_->is_posted) return;
  flush_->is_posted = true;
  loop_->post_resumption(*flush_);
}

void redis_shared_connection::flush() noexcept {
  now_known_ = false;
  same_reads_.clear();
  if (state_ != state::ready && state_ != state::greeting) return;
  if (!window_.empty() && !silence_timer_.is_armed()) loop_->arm(silence_timer_, after(last_heard_, options_.silence));
  if (!out_.empty()) transport_->send();
}

/// Moves the encoded commands to `into`, by a swap. Before the swap, encodes waiting requests for which the buffer had
/// no room so far. Returns false if there is nothing to send.
auto redis_shared_connection::take_encoded(byte_buffer& into) noexcept -> bool {
  encode_waiting();
  same_reads_.clear();  // its entries refer to the buffer
  if (out_.empty()) return false;
  std::swap(out_, into);
  return true;
}

// The functions below read replies.

/// Processes the received replies.
void redis_shared_connection::read_ready() noexcept {
  bool gone = false;
  gone_ = &gone;
  in_iteration_ = true;
  now_known_ = false;
  at_once_ = resumptions_per_iteration;
  last_heard_ = iteration_time();
  try {
    read_replies(transport_->received());
  } catch (const std::bad_alloc&) {
    // No code of the program has run since the exception was thrown, so the program has not destroyed this connection.
    const auto why = std::make_error_code(std::errc::not_enough_memory);
    state_ == state::ready ? lose(why, why) : attempt_failed(why);
  }
  if (gone) return;
  gone_ = nullptr;
  in_iteration_ = false;
  encode_waiting();
  flush();
}

/// Processes the replies in the buffer. The bytes do not move during the call, even if a request closes the connection.
void redis_shared_connection::read_replies(byte_buffer& buffer) {
  while (!buffer.empty()) {
    if (reply_ == reply_slot::none) {
      if (read_short_texts(buffer) == next::stop || buffer.empty()) return;
      begin_reply(buffer.bytes().front());
    }
    const std::string_view bytes = buffer.bytes();
    const auto [status, consumed] = parser_.parse(bytes);
    buffer.removed(consumed);
    if (status == resp_parser::status::incomplete) return;
    if (status == resp_parser::status::wrong) {
      const std::error_code why = parser_.fault().code;
      return state_ == state::ready ? lose(why, why) : attempt_failed(why);
    }
    if (end_reply() == next::stop) return;
  }
}

/// Handles short texts that have arrived completely and that a single request waits for. Most replies are of this kind,
/// and they need no parser.
auto redis_shared_connection::read_short_texts(byte_buffer& buffer) -> next {
  while (state_ == state::ready && !window_.empty()) {
    redis_request* const who = window_.front().who;
    if (who == nullptr || who->memory == nullptr || who->same != nullptr) return next::go_on;
    const std::string_view bytes = buffer.bytes();
    const auto [text, consumed] = short_text_at(bytes.data(), bytes.data() + bytes.size());
    if (consumed == 0 || consumed > options_.limits.reply) return next::go_on;
    char* const place = static_cast<char*>(who->memory->bytes(text.size(), 1));
    copy_text(place, text.data(), text.size());
    buffer.removed(consumed);
    same_reads_.clear();  // no task joins reads whose reply has arrived
    has_answered_ = true;
    if (deliver(*who, resp_value::of_text(resp_type::bulk_string, {place, text.size()})) == next::stop)
      return next::stop;
  }
  return next::go_on;
}

void redis_shared_connection::begin_reply(char sign) noexcept {
  same_reads_.clear();  // no request joins a reply that has begun
  reply_ = reply_slot::shared;
  if (sign == '>') {
    reply_ = reply_slot::push;
    return parser_.begin(has_tracker_ ? &pushed_ : nullptr);
  }
  if (state_ == state::ready && !window_.empty()) {
    const redis_request* const who = window_.front().who;
    const bool is_own = who == nullptr || (who->memory != nullptr && who->same == nullptr);
    if (is_own) {
      reply_ = reply_slot::own;
      return parser_.begin(who == nullptr ? nullptr : who->memory);
    }
  }
  parser_.begin(&shared_);
}

auto redis_shared_connection::end_reply() -> next {
  const resp_value reply = parser_.value();
  if (reply_ == reply_slot::push) {
    add_to_count(counts_.pushed);
    if (has_tracker_) note_changes(reply);
    reply_ = reply_slot::none;
    return next::go_on;
  }
  if (state_ == state::greeting) {
    reply_ = reply_slot::none;
    return take_greeting(reply);
  }
  if (!has_answered_ && reply.is_error() && refuses_connections(parse_redis_error(reply.text()))) {
    turned_away(reply.text());
    return next::stop;
  }
  if (window_.empty()) {
    lose(reply.is_error() ? parse_redis_error(reply.text()) : redis_errc::unexpected_reply);
    return next::stop;
  }
  has_answered_ = true;
  return deliver(reply);
}

/// Passes a reply to the requests that wait for this reply.
auto redis_shared_connection::deliver(const resp_value& reply) -> next {
  const reply_slot place = std::exchange(reply_, reply_slot::none);
  redis_request* const who = window_.front().who;
  if (who != nullptr && place != reply_slot::shared) return deliver(*who, reply);
  failures_ = 0;
  window_.take();
  if (who == nullptr) {
    add_to_count(counts_.dropped);
    return next::go_on;
  }
  const bool is_expected = (who->how->types & redis_type_bit(reply.type())) != 0;
  answer_all(who, reply);
  if (shared_.reserved() > max_shared) shared_.reset();
  return is_expected ? next::go_on : refuse_remaining();
}

/// Passes a reply to one request. The task that waits for the request may resume immediately, and may even destroy this
/// object.
auto redis_shared_connection::deliver(redis_request& request, resp_value reply) -> next {
  failures_ = 0;
  window_.take();
  const bool is_expected = (request.how->types & redis_type_bit(reply.type())) != 0;
  const bool* const gone = gone_;
  const std::uint32_t connection = generation_;
  add_to_count(counts_.answered);
  answer(request, reply);
  finish(request, at_once_ > 0 ? redis_end::now : redis_end::later);
  if (*gone || connection != generation_) return next::stop;
  return is_expected ? next::go_on : refuse_remaining();
}

/// Ends the connection after an unexpected reply, because later replies cannot be matched with their commands.
auto redis_shared_connection::refuse_remaining() noexcept -> next {
  lose(redis_errc::unexpected_reply);
  return next::stop;
}

void redis_shared_connection::answer_all(redis_request* first, const resp_value& reply) noexcept {
  while (first != nullptr) {
    redis_request& request = *std::exchange(first, first->same);
    request.same = nullptr;
    add_to_count(counts_.answered);
    if (request.memory == nullptr) {
      answer(request, reply);
      request.replies[-1] = type_only(reply);
    } else {
      try {
        answer(request, copied(reply, *request.memory));
      } catch (const std::bad_alloc&) {
        answer(request, {});
        request.error = std::make_error_code(std::errc::not_enough_memory);
      }
    }
    finish(request, redis_end::later);
  }
}

void redis_shared_connection::answer(redis_request& request, resp_value reply) noexcept {
  *request.replies++ = reply;
  if ((request.how->types & redis_type_bit(reply.type())) == 0)
    request.error = redis_errc::unexpected_reply;
  else if (request.how->is_simple && reply.is_error())
    request.error = parse_redis_error(reply.text());
}

void redis_shared_connection::finish(redis_request& request, redis_end end) noexcept {
  if (--request.missing > 0) return;
  if (end == redis_end::now) --at_once_;
  release(request);
  request.how->over(request, end);
}

// The functions below handle deadlines and silent servers.

auto redis_shared_connection::iteration_time() noexcept -> time_point {
  if (!std::exchange(now_known_, true)) {
    now_ = loop_->now();
    due_ = after(now_, options_.request_timeout);
  }
  return now_;
}

void redis_shared_connection::set_deadline(redis_request& request) noexcept {
  const time_point now = iteration_time();
  if (request.timeout != duration::zero()) {
    const time_point due = after(now, request.timeout);
    if (due != time_point::max()) loop_->arm(request.deadline.emplace(request), due);
    return;
  }
  request.due = due_;
  if (!due_timer_.is_armed()) loop_->arm(due_timer_, due_);
}

void redis_shared_connection::request_timed_out(redis_request& request) noexcept {
  add_to_count(counts_.expired);
  withdraw(request);
  request.error = errc::deadline_exceeded;
  request.how->over(request, redis_end::later);
}

void redis_shared_connection::expire() noexcept {
  const time_point now = loop_->now();
  while (!by_due_.empty() && by_due_.front().due <= now) request_timed_out(by_due_.front());
  time_point next = expire_sent(now);
  if (!by_due_.empty()) next = std::min(next, by_due_.front().due);
  if (next != time_point::max()) loop_->arm(due_timer_, next);
}

/// Expires requests whose commands were encoded. Returns the deadline of the first request that has not expired. Only
/// requests with the default timeout are checked. The window has them in the order of their deadlines, except requests
/// that share the reply of an earlier request.
auto redis_shared_connection::expire_sent(time_point now) noexcept -> time_point {
  time_point next = time_point::max();
  window_.for_each([&](redis_request& first) {
    for (redis_request* at = &first; at != nullptr;) {
      redis_request& request = *std::exchange(at, at->same);
      if (request.timeout != duration::zero()) continue;
      if (request.due <= now)
        request_timed_out(request);
      else
        next = std::min(next, request.due);
    }
    return next == time_point::max() || same_reads_.is_used();
  });
  return next;
}

/// Returns the time at which the connection to a silent server is closed. This time is earlier if no request waits for
/// the next reply. If a request does wait for the next reply, its command may be slow, and later requests may have
/// timed out only because of this command.
auto redis_shared_connection::silence_due() noexcept -> time_point {
  const bool is_left = window_.front().who == nullptr;
  return after(last_heard_, is_left ? std::min(options_.silence, options_.silence_when_left) : options_.silence);
}

/// Ends the connection if the server owes replies but has not sent a byte for too long, even if TCP still considers the
/// connection established. The first check never ends the connection: a loop that was busy for long may not have read
/// bytes that have arrived.
void redis_shared_connection::look_for_silence() noexcept {
  if (state_ != state::ready || window_.empty()) return;
  const time_point due = silence_due();
  const time_point now = loop_->now();
  if (now < due) return loop_->arm(silence_timer_, due);
  if (std::exchange(doubted_, last_heard_) != last_heard_) return loop_->arm(silence_timer_, after(now, second_look));
  lose(std::make_error_code(std::errc::timed_out));
}

/// Shortens the time that a server may be silent, because a waiting request was withdrawn. The connection is not ended
/// at once, for the same reason as in `look_for_silence`.
void redis_shared_connection::look_sooner_for_silence() noexcept {
  if (state_ != state::ready || window_.empty() || window_.front().who != nullptr) return;
  if (doubted_ == last_heard_) return;  // the second check is already scheduled
  loop_->arm(silence_timer_, silence_due());
}

}  // namespace braid::detail
