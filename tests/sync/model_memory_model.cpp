// tests/sync/model_memory_model.cpp: the explorer's memory shows what too weak an order allows, and only that.
#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/sync/explorations.hpp>

#include <array>
#include <cstddef>
#include <optional>

using braid::acq_rel;
using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::seq_cst;
using braid::testing::dekker;
using braid::testing::edge_orders;
using braid::testing::message;
using braid::testing::must_fail;
using braid::testing::must_pass;
using order = std::memory_order;
namespace model = braid::model;

namespace {

/// IRIW: two readers of two independent writes may disagree which came first.
auto independent_reads(order load) {
  return [load](model::run& r) {
    std::array<atomic<int>, 2> values{};
    std::array<bool, 2> reversed{};
    for (std::size_t i : {0U, 1U}) {
      r.thread([&, i] { values[i].store(1, load == acquire ? release : load); });
      r.thread([&, i] { reversed[i] = values[i].load(load) == 1 && values[1 - i].load(load) == 0; });
    }
    r.join();
    r.check(!(reversed[0] && reversed[1]), "the readers agree");
  };
}

}  // namespace

TEST_CASE("a plain value is passed by release and acquire, and by nothing weaker") {
  must_pass(message({release, acquire}));
  must_pass(message({seq_cst, seq_cst}));
  must_fail(message({relaxed, acquire}), "data race");
  must_fail(message({release, relaxed}), "data race");
}

TEST_CASE("two flags exclude each other by seq_cst, and by nothing weaker") {
  must_pass(dekker({seq_cst, seq_cst}));
  must_fail(dekker({release, acquire}), "one sees the other");
  must_fail(dekker({seq_cst, acquire}), "one sees the other");
  must_fail(dekker({release, seq_cst}), "one sees the other");
}

TEST_CASE("two readers of independent writes agree by seq_cst, and by nothing weaker") {
  must_pass(independent_reads(seq_cst));
  must_fail(independent_reads(acquire), "the readers agree");
}

TEST_CASE("a thread never sees an atomic go back, nor does one that it has told") {
  must_pass([](model::run& r) {
    atomic<int> value{0};
    atomic<int> seen{0};
    r.thread([&] {
      value.store(1, relaxed);
      value.store(2, relaxed);
    });
    r.thread([&] {
      const int first = value.load(relaxed);
      r.check(value.load(relaxed) >= first, "a second load is not older");
      seen.store(first, release);
    });
    r.thread([&] {
      const int told = seen.load(acquire);
      r.check(value.load(relaxed) >= told, "what another saw before is seen");
    });
    r.join();
  });
}

TEST_CASE("a load without an edge may return an old value, and after a join only the newest") {
  const auto body = [](std::optional<int> wanted) {
    return [wanted](model::run& r) {
      atomic<int> value{0};
      atomic<bool> stored{false};
      r.thread([&] {
        value.store(1, relaxed);
        stored.store(true, relaxed);
      });
      r.thread([&] {
        if (stored.load(relaxed)) r.check(value.load(relaxed) != wanted, "the value");
      });
      r.join();
      r.check(value.load(relaxed) == 1, "the value at the end");
    };
  };
  must_pass(body(std::nullopt));
  must_fail(body(0), "check failed: the value");
  must_fail(body(1), "check failed: the value");
}

namespace {

/// Someone else writes the flag between the publisher and the reader.
auto in_between(bool by_update, order between) {
  return [=](model::run& r) {
    model::shared<int> value{0};
    atomic<int> flag{0};
    r.thread([&] {
      value = 7;
      flag.store(1, release);
    });
    r.thread([&] {
      if (by_update)
        flag.fetch_add(1, between);
      else if (flag.load(relaxed) == 1)
        flag.store(2, between);
    });
    r.thread([&] {
      if (flag.load(acquire) == 2) r.check(value == 7, "the message arrived");
    });
    r.join();
  };
}

}  // namespace

TEST_CASE("a read-modify-write continues a release sequence, and a store breaks it") {
  must_pass(in_between(true, relaxed));
  must_fail(in_between(false, relaxed), "data race");
  must_fail(in_between(false, release), "data race");
}

TEST_CASE("a read-modify-write reads the newest value, so none is lost") {
  const auto count_in_two_threads = [](auto add) {
    return [add](model::run& r) {
      atomic<int> count{0};
      for (int i = 0; i < 2; ++i) r.thread([&] { add(count); });
      r.join();
      r.check(count.load(relaxed) == 2, "both were counted");
    };
  };
  must_pass(count_in_two_threads([](atomic<int>& count) { count.fetch_add(1, relaxed); }));
  must_pass(count_in_two_threads([](atomic<int>& count) {
    int seen = count.load(relaxed);
    while (!count.compare_exchange_weak(seen, seen + 1, relaxed, relaxed)) {}
  }));
  must_fail(count_in_two_threads([](atomic<int>& count) { count.store(count.load(relaxed) + 1, relaxed); }),
            "both were counted");
}

TEST_CASE("a compare-exchange may fail by an old value, and a weak one without reason") {
  const auto body = [](auto exchange) {
    return [exchange](model::run& r) {
      atomic<int> value{1};
      int expected = 1;
      r.check(exchange(value, expected), "it succeeds");
    };
  };
  must_pass(
      body([](atomic<int>& value, int& seen) { return value.compare_exchange_strong(seen, 2, acq_rel, relaxed); }));
  must_fail(body([](atomic<int>& value, int& seen) { return value.compare_exchange_weak(seen, 2, acq_rel, relaxed); }),
            "it succeeds");
  must_fail(
      [](model::run& r) {
        atomic<int> value{0};
        atomic<bool> stored{false};
        r.thread([&] {
          value.store(1, relaxed);
          stored.store(true, relaxed);
        });
        r.thread([&] {
          int seen = 1;
          if (stored.load(relaxed)) r.check(value.compare_exchange_strong(seen, 2, relaxed, relaxed), "it succeeds");
        });
        r.join();
      },
      "it succeeds");
}

TEST_CASE("a write races with a read before it that nothing orders") {
  const auto body = [](edge_orders orders) {
    return [orders](model::run& r) {
      model::shared<int> value{0};
      atomic<bool> done{false};
      r.thread([&] {
        r.check(value == 0, "the read comes first");
        done.store(true, orders.publish);
      });
      r.thread([&] {
        if (done.load(orders.observe)) value = 1;
      });
      r.join();
    };
  };
  must_pass(body({release, acquire}));
  must_fail(body({relaxed, relaxed}), "data race: thread 2 writes");
}
