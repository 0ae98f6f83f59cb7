// rankd/server/admission_gate.cpp: entering, waiting and leaving.
#include <rankd/server/admission_gate.hpp>

#include <braid/coro/with_scope.hpp>

#include <system_error>

namespace rankd {
namespace {

auto wait_for(braid::event& turn) -> braid::task<void> { co_await turn; }

}  // namespace

auto admission_gate::refuses(braid::time_point now) noexcept -> bool {
  const bool busy = waiting_ > 0 || under_way_ >= limit_.limit();
  const bool slow = waiting_ > 0 && now - queue_.front().since > options_.longest_wait;
  const bool full = busy && (waiting_ >= options_.queue || slow);
  if (full) ++refused_;
  return full;
}

auto admission_gate::try_enter() noexcept -> std::optional<pass> {
  if (waiting_ > 0 || under_way_ >= limit_.limit()) return std::nullopt;
  ++under_way_;
  ++admitted_;
  return pass(*this);
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
    --waiting_;
    ++under_way_;
    ++admitted_;
    first->holds_place = true;
    first->turn.set();
  }
}

}  // namespace rankd
