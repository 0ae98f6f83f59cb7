// tests/sync/explorations.hpp: what tests of the explorer expect of it: that both searches find a failure, or none.
#pragma once

#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace braid::testing {

inline auto says(const model::report& report, std::string_view part) -> bool {
  return report.failure.find(part) != std::string::npos;
}

/// Neither the search through all schedules nor the one by seeds finds a failure.
template <typename Body>
void must_pass(const Body& body, const model::options& bounds = {.seeds = 2'000}) {
  const model::report all = model::explore_all(bounds, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore(bounds, body).failure == "");
}

/// Both searches find the failure.
template <typename Body>
void must_fail(const Body& body, std::string_view with, const model::options& bounds = {.seeds = 2'000}) {
  CHECK_MESSAGE(says(model::explore_all(bounds, body), with), with);
  CHECK_MESSAGE(says(model::explore(bounds, body), with), with);
}

/// The two ends of an edge.
struct edge_orders {
  std::memory_order publish;
  std::memory_order observe;
};

/// A plain value behind a flag.
inline auto message(edge_orders orders) {
  return [orders](model::run& r) {
    model::shared<int> value{0};
    atomic<bool> ready{false};
    r.thread([&] {
      value = 7;
      ready.store(true, orders.publish);
    });
    r.thread([&] {
      if (ready.load(orders.observe)) r.check(value == 7, "the message arrived");
    });
    r.join();
  };
}

/// Store buffering: each thread raises its flag, then looks at the other's.
inline auto dekker(edge_orders orders) {
  return [orders](model::run& r) {
    std::array<atomic<int>, 2> flags{};
    std::array<bool, 2> alone{};
    for (std::size_t me : {0U, 1U})
      r.thread([&, me] {
        flags[me].store(1, orders.publish);
        alone[me] = flags[1 - me].load(orders.observe) == 0;
      });
    r.join();
    r.check(!(alone[0] && alone[1]), "one sees the other");
  };
}

}  // namespace braid::testing
