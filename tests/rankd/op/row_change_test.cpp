// tests/rankd/op/row_change_test.cpp: every promise is kept by rows that keep it, and broken by those that do not.
#include <rankd/op/row_change.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <array>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::op_bench;

namespace {

constexpr std::array all_changes{row_change::dense_source, row_change::preserves_view, row_change::stable_filter,
                                 row_change::prefix,       row_change::permutation,    row_change::selection,
                                 row_change::distinct,     row_change::matched,        row_change::concatenation,
                                 row_change::diversified,  row_change::merged};

/// Rows of one batch of five, in orders that a test names.
struct world {
  op_bench bench;
  row_set whole = bench.rows_of({10, 20, 30, 40, 50});

  auto rows(std::initializer_list<std::uint32_t> order) -> row_set {
    return {whole.table(), bench.memory().copied(std::span<const std::uint32_t>(order.begin(), order.size()))};
  }
  auto kept(row_change promise, const row_set& input, const row_set& output) -> bool {
    const std::array inputs{input, bench.rows_of({60, 70})};
    return keeps_promise(promise, inputs, output);
  }
};

}  // namespace

TEST_CASE("merged rows are all rows of a batch, in any order") {
  world w;
  CHECK(w.kept(row_change::merged, w.whole, w.bench.rows_of({1, 10, 1})));
  CHECK(w.kept(row_change::merged, w.whole, w.rows({4, 0, 3, 1, 2})));
  CHECK(w.kept(row_change::merged, w.whole, row_set()));
  CHECK_FALSE(w.kept(row_change::merged, w.whole, w.rows({4, 0, 3, 1})));
  CHECK_FALSE(w.kept(row_change::merged, w.whole, w.rows({4, 0, 3, 1, 1})));
}

TEST_CASE("a dense source gives every row of its batch as it lies") {
  world w;
  CHECK(w.kept(row_change::dense_source, w.whole, w.bench.rows_of({1, 1, 2})));
  CHECK(w.kept(row_change::dense_source, w.whole, row_set()));
  CHECK_FALSE(w.kept(row_change::dense_source, w.whole, w.whole.take(4)));
  CHECK_FALSE(w.kept(row_change::dense_source, w.whole, w.rows({0, 1, 2, 3})));
  CHECK_FALSE(w.kept(row_change::dense_source, w.whole, w.rows({1, 0, 2, 3, 4})));
}

TEST_CASE("a view is preserved by the same rows in the same order, with or without more columns") {
  world w;
  const row_set view = w.rows({3, 1, 4});
  CHECK(w.kept(row_change::preserves_view, view, view));
  CHECK(w.kept(row_change::preserves_view, view, w.bench.with<double>(view, 1001, {1, 2, 3, 4, 5})));
  CHECK_FALSE(w.kept(row_change::preserves_view, view, w.rows({1, 3, 4})));
  CHECK_FALSE(w.kept(row_change::preserves_view, view, w.rows({3, 1})));
  CHECK_FALSE(w.kept(row_change::preserves_view, view, w.whole));
  CHECK_FALSE(w.kept(row_change::preserves_view, w.whole, w.bench.rows_of({10, 20, 30, 40, 50})));
}

TEST_CASE("a stable filter gives some of the rows in the order that they had, whatever decides") {
  world w;
  const row_set view = w.rows({3, 1, 4, 0});
  for (const row_change promise : {row_change::stable_filter, row_change::distinct, row_change::matched}) {
    for (const row_set& fine : {view, w.rows({3, 0}), w.rows({1, 4}), view.take(0)}) CHECK(w.kept(promise, view, fine));
    CHECK_FALSE(w.kept(promise, view, w.rows({1, 3})));
    CHECK_FALSE(w.kept(promise, view, w.rows({3, 2})));
    CHECK_FALSE(w.kept(promise, view, w.rows({3, 3})));
    CHECK_FALSE(w.kept(promise, view, w.whole));
  }
}

TEST_CASE("a prefix is the first rows and nothing else") {
  world w;
  const row_set view = w.rows({3, 1, 4, 0});
  for (const row_set& fine : {view, view.take(2), view.take(0)}) CHECK(w.kept(row_change::prefix, view, fine));
  CHECK_FALSE(w.kept(row_change::prefix, view, w.rows({1, 4})));
  CHECK_FALSE(w.kept(row_change::prefix, view, w.rows({3, 4})));
  CHECK_FALSE(w.kept(row_change::prefix, view.take(2), view));
}

TEST_CASE("a permutation is all of the rows in any order") {
  world w;
  const row_set view = w.rows({3, 1, 4});
  for (const row_set& fine : {view, w.rows({4, 3, 1}), w.rows({1, 3, 4})})
    CHECK(w.kept(row_change::permutation, view, fine));
  CHECK_FALSE(w.kept(row_change::permutation, view, w.rows({3, 1})));
  CHECK_FALSE(w.kept(row_change::permutation, view, w.rows({3, 1, 1})));
  CHECK_FALSE(w.kept(row_change::permutation, view, w.rows({3, 1, 2})));
}

TEST_CASE("a selection is some of the rows in any order") {
  world w;
  const row_set view = w.rows({3, 1, 4});
  for (const row_change promise : {row_change::selection, row_change::diversified}) {
    for (const row_set& fine : {view, w.rows({4, 1}), w.rows({1}), view.take(0)}) CHECK(w.kept(promise, view, fine));
    CHECK_FALSE(w.kept(promise, view, w.rows({3, 3})));
    CHECK_FALSE(w.kept(promise, view, w.rows({4, 2})));
    CHECK_FALSE(w.kept(promise, view, w.bench.rows_of({40, 20})));
  }
}

TEST_CASE("a concatenation is a batch of the ids of the first input, then those of the second") {
  world w;
  const row_set view = w.rows({3, 1});
  CHECK(w.kept(row_change::concatenation, view, w.bench.rows_of({40, 20, 60, 70})));
  CHECK_FALSE(w.kept(row_change::concatenation, view, w.bench.rows_of({60, 70, 40, 20})));
  CHECK_FALSE(w.kept(row_change::concatenation, view, w.bench.rows_of({40, 20, 60})));
  CHECK_FALSE(w.kept(row_change::concatenation, view, w.bench.rows_of({40, 20, 60, 70, 80}).take(4)));
}

TEST_CASE("the empty set keeps every promise about itself, but is no concatenation of rows") {
  world w;
  for (const row_change promise : all_changes) {
    const bool joins = promise == row_change::concatenation;
    CHECK(w.kept(promise, row_set(), row_set()) == !joins);
  }
}
