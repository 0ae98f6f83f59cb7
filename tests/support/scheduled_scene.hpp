// tests/support/scheduled_scene.hpp: scheduled work in a world where the test turns the time and runs the jobs.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <tests/support/manual_executor.hpp>

namespace braid::testing {

/// About a millisecond, and so many ticks of the timers that what is due after some beats fires just then.
inline constexpr duration beat{duration::rep{64} << timer_wheel::tick_bits};

/// Time that the test turns, and an executor whose jobs it runs. Time moves on by beats; at each of them what is due is
/// queued, and run unless the test says that workers are busy.
struct scheduled_scene {
  void advance(int beats, bool busy = false) {
    for (const time_point end = clock.now() + beats * beat; clock.now() < end;) {
      clock.advance(beat);
      timers.run_once();
      if (!busy) where.run_all();
    }
  }

  /// Runs what is due without moving the clock.
  void settle() {
    timers.run_once();
    where.run_all();
  }

  /// Whole beats since the start.
  [[nodiscard]] auto elapsed() const -> int { return static_cast<int>((clock.now() - start) / beat); }

  manual_clock clock;
  time_point start = on_a_tick(clock);
  manual_executor where;
  braid::detail::shared_timers timers{clock};

 private:
  static auto on_a_tick(manual_clock& turned) -> time_point {
    turned.advance(beat - turned.now().time_since_epoch() % beat);
    return turned.now();
  }
};

}  // namespace braid::testing
