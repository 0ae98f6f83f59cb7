// rankd/server/admission_gate.cpp: entering, waiting and leaving.
#include <rankd/server/admission_gate.hpp>

#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <system_error>

namespace rankd {
namespace {

constexpr std::uint64_t turns_of_a_measurement = 16;

auto wait_for(braid::event& turn) -> braid::task<void> { co_await turn; }

}  // namespace

auto admission_gate::refuses(braid::time_point now) noexcept -> bool {
  learn_pace(now);
  const bool busy = waiting_ > 0 || under_way_ >= limit_.limit();
  const bool slow = waiting_ > 0 && now - queue_.front().since > options_.longest_wait;
  const bool many = static_cast<double>(waiting_) * each_turn_ > static_cast<double>(options_.longest_wait.count());
  const bool full = busy && (waiting_ >= options_.queue || slow || many);
  if (full) ++refused_;
  return full;
}

auto admission_gate::try_enter() noexcept -> std::optional<pass> {
  if (waiting_ > 0 || under_way_ >= limit_.limit()) return std::nullopt;
  ++under_way_;
  ++admitted_;
  return pass(*this);
}

auto admission_gate::free_places() const noexcept -> std::size_t {
  if (waiting_ > 0) return 0;
  return limit_.limit() - std::min(under_way_, limit_.limit());
}

auto admission_gate::enter(braid::time_point now, braid::time_point deadline) -> braid::task<braid::result<pass>> {
  if (auto free = try_enter()) co_return std::move(*free);
  if (refuses(now)) co_return braid::fail(braid::errc::full);
  waiter place(*this, now);
  braid::task<void> waits = wait_for(place.turn);
  braid::task<braid::result<void>> limited = braid::with_deadline(deadline, std::move(waits));
  static_cast<void>(co_await std::move(limited));
  if (!place.holds_place) {
    ++late_;
    co_return braid::fail(braid::errc::deadline_exceeded);
  }
  place.holds_place = false;  // the pass has it now
  co_return pass(*this);
}

void admission_gate::note(double slowdown, const pass& of) noexcept {
  limit_.note(slowdown, of.beside_);
  let_in();
}

auto admission_gate::counts() const noexcept -> admission_counts {
  return {.admitted = admitted_,
          .refused = refused_,
          .late = late_,
          .under_way = under_way_,
          .waiting = waiting_,
          .limit = limit_.limit()};
}

void admission_gate::leave() noexcept {
  --under_way_;
  let_in();
}

void admission_gate::let_in() noexcept {
  while (under_way_ < limit_.limit()) {
    waiter* const first = queue_.pop_front();
    if (first == nullptr) return;
    if (--waiting_ == 0) nobody_waits();
    ++turns_;
    ++under_way_;
    ++admitted_;
    first->holds_place = true;
    first->turn.set();
  }
}

/// Turns that are given while nobody waits say how many come, and not how many could.
void admission_gate::learn_pace(braid::time_point now) noexcept {
  if (waiting_ == 0) return;
  const std::uint64_t turns = turns_ - turns_before_;
  if (measures_ && turns < turns_of_a_measurement) return;
  if (measures_) {
    const double each = static_cast<double>((now - measured_from_).count()) / static_cast<double>(turns);
    each_turn_ = each_turn_ == 0 ? each : (3 * each_turn_ + each) / 4;
  }
  measures_ = true;
  turns_before_ = turns_;
  measured_from_ = now;
}

void admission_gate::nobody_waits() noexcept {
  measures_ = false;
  each_turn_ = 0;
}

}  // namespace rankd
