// braid/task/when_all.hpp: one future of many: all of them, or the first.
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

/// How a future ended: with its value, as a std::reference_wrapper if it is a reference, or with an exception.
template <typename T>
using ended = std::expected<std::conditional_t<std::is_void_v<T>, void, detail::held<T>>, std::exception_ptr>;

namespace detail {

/// Settles once all inputs have. `Rule` says how.
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
    // edge when_all.input: both, the last input to arrive reads what the others wrote
    if (pending_.fetch_sub(1, acq_rel) == 1) finish(more);
  }
  void finish(cascade& more) noexcept;

  void fire(cascade& /*more*/) noexcept override {}  // it hangs on nothing; its inputs do

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

/// The values of all, or the first failure.
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

/// Returns the endings of all inputs.
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

/// Returns a future of its own for a reader of a shared one, with a copy of the value.
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

/// Returns a future of all values, as a std::tuple: void becomes std::monostate, a reference a std::reference_wrapper.
/// If all of them are future<void>, so is the result. It is ready once all of them are. If some fail, it then fails
/// like the first of those by position, whatever the timing. Continuations run on the executor of the first input that
/// has one.
/// Cost: one block of memory for jobs. Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(future<T>... all) -> future<typename detail::all_values_as_tuple<T...>::result> {
  using rule = detail::all_values_as_tuple<T...>;
  return detail::gather<detail::all_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Does the same for any number of futures of one type, with the values as a std::vector, in order. Without any it is
/// ready at once.
/// Errors: std::bad_alloc.
template <detail::future_range R>
auto when_all(R&& range) -> future<typename detail::all_values_as_vector<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_values_as_vector<value>>>(all);
}

/// Does the same for shared futures, which stay valid: the values are copies.
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

/// A future of how each of them ended, as a std::tuple of `ended`, ready once all of them are. It does not fail for
/// their failures. Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all_settled(future<T>... all) -> future<std::tuple<ended<T>...>> {
  using rule = detail::all_endings_as_tuple<T...>;
  return detail::gather<detail::all_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Does the same for any number of futures of one type, as a std::vector, in order.
/// Errors: std::bad_alloc.
template <detail::future_range R>
auto when_all_settled(R&& range) -> future<std::vector<ended<detail::element_value<R>>>> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_endings_as_vector<value>>>(all);
}

/// The first value, and whose it is.
template <typename T>
struct any_result {
  std::size_t index = 0;  ///< of the future, from 0
  T value;
};
template <>
struct any_result<void> {
  std::size_t index = 0;
};

namespace detail {

/// Settles with the first input that has a value, or once all have failed. It stays until all inputs have settled.
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

  void fire(cascade& /*more*/) noexcept override {}  // it hangs on nothing; its inputs do

  void destroy() noexcept override {
    this->destroy_result();
    // edge when_any.input: both, the last holder frees what all have used
    if ((holds_.fetch_sub(1, acq_rel) & ~won) == 1) vanish();
  }

  inputs inputs_;
  // Inputs that have not settled, `begin`, and the references to the result together; the last to go frees the object.
  // Also `won`, once an input with a value has settled. One word, because after the last but one the object may be
  // gone.
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

/// If no input has won, the last one to settle is the producer; then the references to the result keep the object
/// alive.
template <typename Inputs, typename Rule>
void any_state<Inputs, Rule>::arrive(cascade& more) noexcept {
  const std::size_t before = holds_.fetch_sub(1, acq_rel);  // edge when_any.input: both, the last sees all inputs
  if ((before & ~won) == 1) return vanish();
  if (before == 2) this->fail(first_failure(inputs_), more);
}

/// Inputs that failed were kept until now, because the first of them might have been the result.
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

/// Returns a future of the first value, in a std::variant with one alternative for each future, also if several have
/// the same type; its index is that of the future. Void becomes std::monostate, a reference a std::reference_wrapper.
/// If several are ready already, the first by position counts. The others continue, and their results are dropped. If
/// all fail, it fails like the first by position. Continuations run on the executor of the first input that has one.
/// Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_any(future<T>... all) -> future<any_result<std::variant<detail::held<T>...>>> {
  using rule = detail::first_as_variant<T...>;
  return detail::gather<detail::any_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// Does the same for any number of futures of one type.
/// Errors: in the future: errc::invalid_argument if there are no futures.
template <detail::future_range R>
auto when_any(R&& range) -> future<typename detail::first_of_range<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  using rule = detail::first_of_range<value>;
  auto all = detail::to_vector(std::forward<R>(range));
  if (all.empty()) return failed_future<typename rule::result>(detail::failure_of(errc::invalid_argument));
  return detail::gather<detail::any_state<detail::range_inputs<value>, rule>>(all);
}

}  // namespace braid
