// tests/trace/record_ring_model.cpp: under no schedule does the reader of a ring see half a record, or one twice.
#include <braid/trace/detail/record_ring.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace model = braid::model;

namespace {

/// Two plain words: a reader that looks before they are published, or a writer that overwrites them too early, races.
struct record {
  record() = default;
  record(int n) : number(n), twice(2 * n) {}
  record(const record& other) : number(static_cast<int>(other.number)), twice(static_cast<int>(other.twice)) {}
  auto operator=(const record& other) -> record& {
    number = static_cast<int>(other.number);
    twice = static_cast<int>(other.twice);
    return *this;
  }
  model::shared<int> number{0};
  model::shared<int> twice{0};
};

/// The thread notes four slices in a ring of four; the writer looks three times while it does.
template <typename Ring>
void thread_and_writer(model::run& r) {
  Ring ring;
  std::array<int, 8> seen{};
  std::size_t count = 0;
  int accepted = 0;
  const auto look = [&] {
    ring.drain([&](const record& found) {
      r.check(found.twice == 2 * found.number, "a record is seen whole");
      if (count < seen.size()) seen[count++] = static_cast<int>(found.number);
    });
  };
  r.thread([&] {
    for (int i = 1; i <= 4; ++i) {
      if (!ring.try_add(std::array{record(i)}, 1)) continue;
      ++accepted;
      ring.add_end(record(-i));
    }
  });
  r.thread([&] {
    for (int i = 0; i < 3; ++i) look();
  });
  r.join();
  look();
  r.check(count == 2 * static_cast<std::size_t>(accepted), "what was accepted is seen once");
  r.check(ring.lost() == 2 * static_cast<std::uint64_t>(4 - accepted), "what was not is counted");
  int last = 0;
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    r.check(seen[i] > last && seen[i + 1] == -seen[i], "in order, each slice with its end");
    last = seen[i];
  }
}

using small_ring = braid::detail::record_ring<record, 4>;

}  // namespace

TEST_CASE("what a thread notes arrives whole, once and in order, or is counted as lost") {
  const model::report all = model::explore_all({.preemptions = 3}, thread_and_writer<small_ring>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 5'000, .preemptions = 6}, thread_and_writer<small_ring>).failure == "");
}

TEST_CASE("every order of the ring is needed") {
  CHECK(model::orders_not_needed("record_ring.hpp", {}, {thread_and_writer<small_ring>}) == "");
}
