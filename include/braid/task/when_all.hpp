// braid/task/when_all.hpp: combines several futures into one future, which gets all values (`when_all`) or the first
// value (`when_any`).
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/inputs.hpp>
#include <braid/task/future.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

/// The result of a future: its value or its exception. A reference is stored as a std::reference_wrapper.
template <typename T>
using ended = std::expected<std::conditional_t<std::is_void_v<T>, void, detail::held<T>>, std::exception_ptr>;

namespace detail {

/// The state of a combined future. The combined future settles when all inputs have settled. `Rule` computes the
/// result.
template <typename Inputs, typename Rule>
class all_state final : public future_state<typename Rule::result> {
  using inputs = typename Inputs::template of<all_state>;

 public:
  using result = typename Rule::result;

  template <typename... From>
  explicit all_state(executor_id executor, From&... from)
      : future_state<result>(nullptr, executor), inputs_(from...), pending_(inputs_.all().size() + 1) {}

  void begin(cascade& more) noexcept {
    for (auto& one : inputs_.all()) one.attach(*this, more);
    arrive(more);
  }

  void settled(input<all_state>& /*one*/, cascade& more) noexcept { arrive(more); }

 private:
  void arrive(cascade& more) noexcept {
    // edge when_all.input: both, because the last input to arrive reads what the other inputs have written
    if (pending_.fetch_sub(1, acq_rel) == 1) finish(more);
  }
  void finish(cascade& more) noexcept;

  void fire(cascade& /*more*/) noexcept override {}  // never called: only its inputs are attached to futures

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  inputs inputs_;
  atomic<std::size_t> pending_;  // inputs that have not settled, and `begin`; written by each of them once
};

template <typename Inputs, typename Rule>
void all_state<Inputs, Rule>::finish(cascade& more) noexcept {
  std::exception_ptr failure = Rule::failure(inputs_);
  if (failure == nullptr) {
    try {
      this->emplace([this] { return Rule::collect(inputs_); });
    } catch (...) {
      failure = std::current_exception();
    }
  }
  for (auto& one : inputs_.all()) one.release();
  if (failure == nullptr) return this->settle(verdict::value, more);
  this->fail(std::move(failure), more);
}

/// The rule that returns the values of all inputs, or the first failure.
template <typename... T>
struct all_values_as_tuple {
  static constexpr bool nothing = (std::is_void_v<T> && ...);
  using result = std::conditional_t<nothing, void, std::tuple<held<T>...>>;

  static auto failure(auto& inputs) noexcept -> std::exception_ptr { return first_failure(inputs); }
  static auto collect(auto& inputs) -> result {
    if constexpr (!nothing) return collect(inputs, std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t... Index>
  static auto collect(auto& inputs, std::index_sequence<Index...> /*unused*/) -> result {
    return result(inputs.all()[Index].template take<T>()...);
  }
};

template <typename T>
struct all_values_as_vector {
  using result = std::conditional_t<std::is_void_v<T>, void, std::vector<held<T>>>;

  static auto failure(auto& inputs) noexcept -> std::exception_ptr { return first_failure(inputs); }
  static auto collect(auto& inputs) -> result {
    if constexpr (!std::is_void_v<T>) {
      result values;
      values.reserve(inputs.all().size());
      for (auto& one : inputs.all()) values.push_back(one.template take<T>());
      return values;
    }
  }
};

/// Returns the results of all inputs, each a value or an exception.
template <typename T, typename Input>
auto find_ending(Input& one) -> ended<T> {
  if (one.has_failed()) return std::unexpected(one.template state<T>().take_failure());
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return one.template take<T>();
}

template <typename... T>
struct all_endings_as_tuple {
  using result = std::tuple<ended<T>...>;

  static auto failure(auto& /*inputs*/) noexcept -> std::exception_ptr { return nullptr; }
  static auto collect(auto& inputs) -> result { return collect(inputs, std::index_sequence_for<T...>()); }

 private:
  template <std::size_t... Index>
  static auto collect(auto& inputs, std::index_sequence<Index...> /*unused*/) -> result {
    return result(find_ending<T>(inputs.all()[Index])...);
  }
};

template <typename T>
struct all_endings_as_vector {
  using result = std::vector<ended<T>>;

  static auto failure(auto& /*inputs*/) noexcept -> std::exception_ptr { return nullptr; }
  static auto collect(auto& inputs) -> result {
    result endings;
    endings.reserve(inputs.all().size());
    for (auto& one : inputs.all()) endings.push_back(find_ending<T>(one));
    return endings;
  }
};

/// Returns a new future for a reader of a shared future, with a copy of the value.
template <typename T>
auto make_copy(const shared_future<T>& from) -> future<T> {
  if constexpr (std::is_void_v<T>)
    return from.then_inline([] {});
  else
    return from.then_inline([](const T& value) -> T { return value; });
}

template <typename T>
inline constexpr bool is_shared_future = false;
template <typename T>
inline constexpr bool is_shared_future<shared_future<T>> = true;

/// A range of shared futures, which are not consumed.
template <typename R>
concept shared_future_range = std::ranges::input_range<R> && is_shared_future<std::ranges::range_value_t<R>>;

}  // namespace detail

/// Returns a future of all values as a std::tuple. Void becomes std::monostate, and a reference becomes a
/// std::reference_wrapper. If all inputs are future<void>, the result is a future<void>. The result is ready once all
/// inputs are ready. If some inputs fail, the result fails with the exception of the failed input that is first by
/// position, not by time. Continuations run on the executor of the first input that has an executor.
/// Cost: one block of memory for jobs. Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(future<T>... all) -> future<typename detail::all_values_as_tuple<T...>::result> {
  using rule = detail::all_values_as_tuple<T...>;
  return detail::gather<detail::all_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Works like `when_all` of several futures, but for any number of futures of one type. The values are in a
/// std::vector, in the order of the futures. If there are no futures, the result is ready at once.
/// Errors: std::bad_alloc.
template <detail::future_range R>
auto when_all(R&& range) -> future<typename detail::all_values_as_vector<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_values_as_vector<value>>>(all);
}

/// Works like `when_all` of futures, but for shared futures, which stay valid. The values are copied.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(const shared_future<T>&... all) -> future<typename detail::all_values_as_tuple<T...>::result> {
  return when_all(detail::make_copy(all)...);
}

template <detail::shared_future_range R>
auto when_all(R&& range) -> future<typename detail::all_values_as_vector<detail::element_value<R>>::result> {
  std::vector<future<detail::element_value<R>>> all;
  for (const auto& each : range) all.push_back(detail::make_copy(each));
  return when_all(std::move(all));
}

/// Returns a future of the results of all inputs, as a std::tuple of `ended`. The result is ready once all inputs are
/// ready, and does not fail if inputs fail. Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all_settled(future<T>... all) -> future<std::tuple<ended<T>...>> {
  using rule = detail::all_endings_as_tuple<T...>;
  return detail::gather<detail::all_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Works like `when_all_settled` of several futures, but for any number of futures of one type. The results are in a
/// std::vector, in the order of the futures.
/// Errors: std::bad_alloc.
template <detail::future_range R>
auto when_all_settled(R&& range) -> future<std::vector<ended<detail::element_value<R>>>> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_endings_as_vector<value>>>(all);
}

/// The first value, and the index of the future to which it belongs.
template <typename T>
struct any_result {
  std::size_t index = 0;  ///< the index of the future, from 0
  T value;
};
template <>
struct any_result<void> {
  std::size_t index = 0;
};

namespace detail {

/// The state of a `when_any`. The combined future settles when an input has a value, or when all inputs have failed.
/// The state exists until all inputs have settled.
template <typename Inputs, typename Rule>
class any_state final : public future_state<typename Rule::result> {
  using inputs = typename Inputs::template of<any_state>;
  static constexpr std::size_t won = ~(SIZE_MAX >> 1U);

 public:
  using result = typename Rule::result;

  template <typename... From>
  explicit any_state(executor_id executor, From&... from)
      : future_state<result>(nullptr, executor), inputs_(from...), holds_(inputs_.all().size() + 2) {}

  void begin(cascade& more) noexcept {
    for (auto& one : inputs_.all()) one.attach(*this, more);
    arrive(more);
  }

  void settled(input<any_state>& one, cascade& more) noexcept {
    if (!one.has_failed()) {
      if ((holds_.fetch_or(won, relaxed) & won) == 0) win(one, more);
      one.release();
    }
    arrive(more);
  }

 private:
  void win(input<any_state>& one, cascade& more) noexcept;
  void arrive(cascade& more) noexcept;
  void vanish() noexcept;

  void fire(cascade& /*more*/) noexcept override {}  // never called: only its inputs are attached to futures

  void destroy() noexcept override {
    this->destroy_result();
    // edge when_any.input: both, because the last holder must see all uses before it frees the object
    if ((holds_.fetch_sub(1, acq_rel) & ~won) == 1) vanish();
  }

  inputs inputs_;
  // The number of holders of the object. Each input that has not settled is a holder, and so is `begin` while it runs.
  // All references to the result together are one holder. The last holder frees the object. The bit `won` is set once
  // an input with a value has settled. The counts and the bit are in one word, because another thread may free the
  // object as soon as a thread has subtracted its count.
  atomic<std::size_t> holds_;
};

template <typename Inputs, typename Rule>
void any_state<Inputs, Rule>::win(input<any_state>& one, cascade& more) noexcept {
  const auto index = static_cast<std::size_t>(&one - inputs_.all().data());
  std::exception_ptr failure;
  try {
    this->emplace([&one, index] { return Rule::result_of(one, index); });
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure == nullptr) return this->settle(verdict::value, more);
  this->fail(std::move(failure), more);
}

/// Records that an input has settled. If no input has won, the last input to settle makes the result fail. The
/// references to the result keep the object alive while this happens.
template <typename Inputs, typename Rule>
void any_state<Inputs, Rule>::arrive(cascade& more) noexcept {
  const std::size_t before = holds_.fetch_sub(1, acq_rel);  // edge when_any.input: both, the last sees all inputs
  if ((before & ~won) == 1) return vanish();
  if (before == 2) this->fail(first_failure(inputs_), more);
}

/// Destroys the object. Failed inputs were kept until now, because the combined future could have failed with the
/// exception of the first failed input.
template <typename Inputs, typename Rule>
void any_state<Inputs, Rule>::vanish() noexcept {
  for (auto& one : inputs_.all()) one.release();
  destroy_state(*this);
}

template <typename... T>
struct first_as_variant {
  using value = std::variant<held<T>...>;
  using result = any_result<value>;

  static auto result_of(auto& one, std::size_t index) -> result {
    return result_of(one, index, std::index_sequence_for<T...>());
  }

 private:
  template <typename Input, std::size_t... Index>
  static auto result_of(Input& one, std::size_t index, std::index_sequence<Index...> /*unused*/) -> result {
    using make = auto (*)(Input&)->value;
    constexpr std::array<make, sizeof...(T)> makers = {
        +[](Input& from) { return value(std::in_place_index<Index>, from.template take<T>()); }...};
    return {index, makers[index](one)};
  }
};

template <typename T>
struct first_of_range {
  using result = any_result<std::conditional_t<std::is_void_v<T>, void, held<T>>>;

  static auto result_of(auto& one, std::size_t index) -> result {
    if constexpr (std::is_void_v<T>)
      return {index};
    else
      return {index, one.template take<T>()};
  }
};

}  // namespace detail

/// Returns a future of the first value, in a std::variant with one alternative for each input, even if several inputs
/// have the same type. The index in the variant is the position of the input. Void becomes std::monostate, and a
/// reference becomes a std::reference_wrapper. If several inputs are already ready, the first of them by position
/// counts. The other inputs continue, and their results are dropped. If all inputs fail, the result fails with the
/// exception of the first input by position. Continuations run on the executor of the first input that has an executor.
/// Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_any(future<T>... all) -> future<any_result<std::variant<detail::held<T>...>>> {
  using rule = detail::first_as_variant<T...>;
  return detail::gather<detail::any_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Works like `when_any` of several futures, but for any number of futures of one type.
/// Errors: the future fails with errc::invalid_argument if there are no inputs.
template <detail::future_range R>
auto when_any(R&& range) -> future<typename detail::first_of_range<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  using rule = detail::first_of_range<value>;
  auto all = detail::to_vector(std::forward<R>(range));
  if (all.empty()) return failed_future<typename rule::result>(detail::failure_of(errc::invalid_argument));
  return detail::gather<detail::any_state<detail::range_inputs<value>, rule>>(all);
}

}  // namespace braid
