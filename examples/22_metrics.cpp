// examples/22_metrics.cpp: what a runtime counts, and a watchdog for loops and
// workers that do not come back.
#include <braid/braid.hpp>

#include <chrono>
#include <cstdio>
#include <string_view>

using namespace std::chrono_literals;

namespace {

// [metrics]
/// What a scraper reads: served at /metrics.
auto answer_metrics(braid::runtime& runtime, braid::http_exchange& x) -> void {
  x.reply(braid::http_status::ok, "text/plain; version=0.0.4; charset=utf-8",
          braid::metrics_text(braid::metrics(runtime)));
}

/// The sum of one family over all labels.
auto sum_of(braid::runtime& runtime, std::string_view name) -> double {
  double sum = 0;
  for (const braid::metric& each : braid::metrics(runtime))
    if (each.name == name) sum += each.value;
  return sum;
}
// [/metrics]

// [stalls]
auto with_watchdog() -> braid::runtime::options {
  return {
      .stall_limit = 500ms, .on_stall = [](const braid::runtime::stall& what) {
        std::fprintf(stderr, "%s does not come back\n", what.thread.c_str());
      }};
}
// [/stalls]

}  // namespace

auto main() -> int {
  const auto runtime = braid::or_throw(braid::runtime::create(with_watchdog()));
  braid::http_router routes;
  routes.get("/metrics",
             [&](braid::http_exchange& x) { answer_metrics(*runtime, x); });
  for (int i = 0; i < 3; ++i) braid::spawn(runtime->blocking(), [] {}).get();
  std::printf("jobs that may block: %.0f\n",
              sum_of(*runtime, "braid_blocking_jobs"));
  std::printf("stalls: %.0f\n", sum_of(*runtime, "braid_stalls"));
}
