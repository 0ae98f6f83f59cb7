// braid/thread/detail/query_stages.hpp: the stages of a query. Each stage gets its values from the previous stage.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

// `each(sink)` of a stage passes its values to `sink(value)`, in order, until `sink` returns false. Stages keep no
// state between two runs; counters are local variables of `each`. Inlining is forced, because g++ 12 would otherwise
// call a function for every value, which is five times as slow as a loop.

/// A stage with the values of an immutable vector.
template <typename T>
struct snapshot_stage {
  using value_type = T;

  template <typename Sink>
  [[gnu::always_inline]] void each(Sink&& sink) const {
    for (const T& value : *values)
      if (!sink(value)) return;
  }

  std::shared_ptr<const std::vector<T>> values;
};

template <typename Source, typename Fn>
struct filter_stage {
  using value_type = typename Source::value_type;

  template <typename Sink>
  [[gnu::always_inline]] void each(Sink&& sink) const {
    source.each([&]<typename V>(V&& value) __attribute__((always_inline)) -> bool {
      return !std::invoke(holds, std::as_const(value)) || sink(std::forward<V>(value));
    });
  }

  Source source;
  Fn holds;
};

template <typename Source, typename Fn>
struct map_stage {
  using value_type = std::remove_cvref_t<std::invoke_result_t<const Fn&, const typename Source::value_type&>>;

  template <typename Sink>
  [[gnu::always_inline]] void each(Sink&& sink) const {
    source.each([&](const auto& value) __attribute__((always_inline)) -> bool { return sink(std::invoke(fn, value)); });
  }

  Source source;
  Fn fn;
};

template <typename Source>
struct take_stage {
  using value_type = typename Source::value_type;

  template <typename Sink>
  [[gnu::always_inline]] void each(Sink&& sink) const {
    if (max_count == 0) return;
    std::size_t left = max_count;
    source.each([&]<typename V>(V&& value) __attribute__((always_inline)) -> bool {
      --left;
      return sink(std::forward<V>(value)) && left != 0;
    });
  }

  Source source;
  std::size_t max_count;
};

template <typename Source>
struct skip_stage {
  using value_type = typename Source::value_type;

  template <typename Sink>
  [[gnu::always_inline]] void each(Sink&& sink) const {
    std::size_t left = first;
    source.each([&]<typename V>(V&& value) __attribute__((always_inline)) -> bool {
      if (left == 0) return sink(std::forward<V>(value));
      --left;
      return true;
    });
  }

  Source source;
  std::size_t first;
};

}  // namespace braid::detail
