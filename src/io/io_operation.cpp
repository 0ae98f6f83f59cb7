// src/io/io_operation.cpp: implements an operation on a descriptor: its attempts, its waits and its stop.
#include <braid/io/detail/io_operation.hpp>

#include "sockets.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/detail/debug_layout.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace braid::detail {

open_descriptor::open_descriptor(loop& loop, descriptor owned, io_registration::kind kind) noexcept
    : loop_(&loop), owned_(std::move(owned)), registration_(owned_.number(), kind) {
  loop_->open_descriptors_.fetch_add(1, relaxed);
}

open_descriptor::~open_descriptor() {
  BRAID_EXPECTS(
      registration_.pending(io_interest::read) == nullptr && registration_.pending(io_interest::write) == nullptr,
      "a stream or listener must not be destroyed while a task reads, writes or accepts on it");
  loop_->backend().forget(registration_);
  loop_->open_descriptors_.fetch_sub(1, relaxed);
}

void open_descriptor::move_to(loop& other) noexcept {
  BRAID_EXPECTS(
      registration_.pending(io_interest::read) == nullptr && registration_.pending(io_interest::write) == nullptr,
      "a stream or listener must not be moved to another loop while a task uses it");
  BRAID_EXPECTS(!registration_.is_registered() || loop_->is_current(),
                "a stream or listener that was used must be moved to another loop by a task of its own loop");
  if (registration_.is_registered()) loop_->backend().release(registration_);
  const bool ends_read_waits = registration_.ends_read_waits();
  registration_.begin_anew();
  registration_.set_ends_read_waits(ends_read_waits);
  loop_->open_descriptors_.fetch_sub(1, relaxed);
  other.open_descriptors_.fetch_add(1, relaxed);
  loop_ = &other;
}

io_operation::io_operation(open_descriptor* descriptor, io_interest side, aim aim) noexcept
    : awaiter_base(operations),
      io_transfer(
          (BRAID_EXPECTS(descriptor != nullptr, "this stream or listener is not open"), descriptor->registration()),
          side, aim, answered_normally),
      loop_(&descriptor->on()) {}

io_operation::io_operation(io_operation&& other) noexcept
    : awaiter_base(operations),
      io_transfer(other.registration(), other.side(), other.wants_bytes() ? aim::bytes : aim::readiness,
                  answered_normally),
      loop_(other.loop_) {}

// The types below are not standard-layout types, so `offsetof` is a compiler extension here. This is acceptable,
// because the table tells a debugger only the layout that this compiler generates. `next` is the first member of an
// `awaiter_base`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

constinit const wait_layout io_operation::layout = {
    .what = wait_layout::kind::descriptor,
    .flag = offsetof(io_operation, side_) - offsetof(io_operation, next),
    .hops = 1,
    .path = {offsetof(io_operation, registration_) - offsetof(io_operation, next),
             offsetof(io_registration, descriptor_)},
};

constinit const wait_layout readiness_awaiter::layout = {
    .what = wait_layout::kind::descriptor,
    .flag = offsetof(readiness_awaiter, watch_) + offsetof(io_watch, interest) - offsetof(readiness_awaiter, next),
    .hops = 0,
    .path = {offsetof(readiness_awaiter, watch_) + offsetof(io_watch, descriptor) - offsetof(readiness_awaiter, next),
             0},
};

#pragma GCC diagnostic pop

auto io_operation::begin(awaiter_base& self) noexcept -> std::coroutine_handle<> {
  auto& starting = static_cast<io_operation&>(self);
  BRAID_EXPECTS(&starting.where() == starting.loop_, "a descriptor may only be used by tasks of its own loop");
  BRAID_EXPECTS(starting.registration().pending(starting.side()) == nullptr,
                "only one task at a time may read a descriptor or accept on it, and only one may write to it");
  if (!starting.over_or_waiting()) return {};
  if (may_go_on()) return starting.not_started();
  starting.complete_later();
  return {};
}

/// Attempts the operation. Returns true if the operation has ended, or false if the backend now waits for the
/// descriptor.
auto io_operation::over_or_waiting() noexcept -> bool {
  if (registration().may_be_ready(side()) && attempt()) return true;
  if (const auto started = loop_->backend().start(*this); !started) return absorb(-started.error().value());
  return false;
}

auto io_operation::withdraw(awaiter_base& self) noexcept -> withdrawal {
  auto& waiting = static_cast<io_operation&>(self);
  if (!waiting.is_to_end_ && waiting.loop_->backend().cancel(waiting)) return withdrawal::done;
  waiting.is_to_end_ = true;
  waiting.is_stopped_ = true;
  return withdrawal::later;
}

void io_operation::describe(const awaiter_base& self, std::string& text) {
  const auto& waiting = static_cast<const io_operation&>(self);
  describe_descriptor(text, waiting.side(), waiting.registration().descriptor());
}

/// Describes the descriptor of a waiting operation for a task dump. The peer's address is read at the time of the dump;
/// a socket that is no longer connected has no peer address.
void describe_descriptor(std::string& text, io_interest side, int number) {
  text += side == io_interest::read ? "read of fd " : "write of fd ";
  text += std::to_string(number);
  if (const auto peer = read_peer_address(number)) text += ", " + peer->to_string();
}

void io_operation::moved(io_transfer& self, int outcome) noexcept {
  auto& mine = static_cast<io_operation&>(self);
  mine.is_to_end_ = false;
  if (mine.is_stopped_ && outcome == -ECANCELED) return mine.stop_later();
  mine.go_on(mine.absorb(outcome));
}

void io_operation::ready(io_transfer& self) noexcept {
  auto& mine = static_cast<io_operation&>(self);
  mine.go_on(mine.attempt());
}

void io_operation::end_read_waits(open_descriptor& descriptor) noexcept {
  io_registration& registration = descriptor.registration();
  if (registration.ends_read_waits()) return;  // ended before: a pending read will be answered
  registration.set_ends_read_waits(true);
  registration.distrust_short_reads();  // only an attempt then decides whether there is more
  registration.set_ready(io_interest::read, true);
  io_transfer* const pending = registration.pending(io_interest::read);
  if (pending == nullptr) return;
  auto& waiting = static_cast<io_operation&>(*pending);
  if (std::exchange(waiting.is_to_end_, true) || !descriptor.on().backend().cancel(waiting))
    return waiting.answer_by(answered_early);
  waiting.is_to_end_ = false;
  static_cast<void>(waiting.attempt());  // this attempt always ends the operation
  waiting.complete_later();              // the caller may not be ready for a resumed task
}

/// Handles the end of a read after `end_read_waits`. The backend's report does not show whether more data has arrived,
/// so the operation tries to read once more.
void io_operation::moved_early(io_transfer& self, int outcome) noexcept {
  auto& mine = static_cast<io_operation&>(self);
  if (outcome == -ECANCELED && !mine.is_stopped_) return ready_early(self);
  mine.registration().set_ready(io_interest::read, true);
  moved(self, outcome);
}

void io_operation::ready_early(io_transfer& self) noexcept {
  static_cast<io_operation&>(self).is_to_end_ = false;
  static_cast<io_operation&>(self).registration().set_ready(io_interest::read, true);
  ready(self);
}

void io_operation::go_on(bool over) noexcept {
  if (!over && is_stopped_) return stop_later();
  if (over || over_or_waiting()) complete();
}

}  // namespace braid::detail
