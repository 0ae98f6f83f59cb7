// src/net/http_pacer.cpp: limits the time that a loop spends on refusals, by delaying reads of refused connections.
#include "http_pacer.hpp"

#include <algorithm>
#include <chrono>

namespace braid::detail {
namespace {

using nanoseconds = std::chrono::duration<double, std::nano>;

// docs/design/constants.md gives the reasons for these values.
constexpr auto between_ticks = 1ms;
constexpr auto saved_for = 10ms;  // the unused share of this time is kept for a burst
constexpr auto unseen = 4us;      // the time that the kernel spends before a head is read, which cannot be measured
constexpr auto max_step = 10ms;   // the maximum time that counts: on a shared processor a thread may be interrupted
constexpr std::size_t max_at_once = 256;

auto in_nanoseconds(duration span) noexcept -> double { return nanoseconds(span).count(); }

}  // namespace

http_pacer::http_pacer(loop& loop, const http_server::pacing& options) noexcept
    : loop_(&loop),
      pacing_(&options),
      account_(options.share * in_nanoseconds(saved_for)),
      mean_(in_nanoseconds(unseen)),
      refilled_(loop.now()) {}

auto http_pacer::charge(duration took, time_point now) noexcept -> bool {
  if (is_open_ || pacing_->share >= 1) return false;
  refill(now);
  const double cost = in_nanoseconds(std::clamp<duration>(took, duration::zero(), max_step) + unseen);
  mean_ += (cost - mean_) / 8;
  const double max_owed = pacing_->share * in_nanoseconds(pacing_->max_wait);
  account_ = std::max(account_, -max_owed) - cost;
  return account_ < 0;
}

void http_pacer::refill(time_point now) noexcept {
  const double max_saved = pacing_->share * in_nanoseconds(saved_for);
  account_ = std::min(account_ + pacing_->share * in_nanoseconds(now - refilled_), max_saved);
  refilled_ = now;
}

void http_pacer::open() noexcept {
  is_open_ = true;
  while (!queue_.empty()) leave(queue_.front());
}

/// Lets waiting connections be read again, as many as the account allows. A connection that has waited for the maximum
/// time is released in any case.
void http_pacer::tick() noexcept {
  const time_point now = loop_->now();
  for (std::size_t left = due(now); !queue_.empty(); left -= left == 0 ? 0U : 1U) {
    waiter& first = queue_.front();
    if (left == 0 && now - first.since_ < pacing_->max_wait) break;
    leave(first);
  }
  if (!queue_.empty()) loop_->arm(tick_, now + between_ticks);
}

/// Returns how many waiting connections may be read: the connections whose refusals the account can pay for, plus the
/// connections whose requests will be accepted.
auto http_pacer::due(time_point now) noexcept -> std::size_t {
  refill(now);
  const std::size_t paid = account_ < 0 ? 0 : 1 + static_cast<std::size_t>(account_ / mean_);
  return std::min(paid + (pacing_->room ? pacing_->room() : 0), max_at_once);
}

void http_pacer::leave(waiter& one) noexcept {
  one.unlink();
  if (--waiting_ == 0) loop_->disarm(tick_);
  one.comes.set();
}

http_pacer::waiter::waiter(http_pacer& pacer, time_point now) noexcept : pacer_(&pacer), since_(now) {
  pacer.queue_.push_back(*this);
  if (pacer.waiting_++ == 0) pacer.loop_->arm(pacer.tick_, now + between_ticks);
}

http_pacer::waiter::~waiter() {
  if (is_linked()) pacer_->leave(*this);
}

}  // namespace braid::detail
