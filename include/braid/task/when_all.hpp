// braid/task/when_all.hpp: several futures as one that is ready when all of them are.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/task/detail/inputs.hpp>
#include <braid/task/future.hpp>
#include <braid/task/shared_future.hpp>

#include <concepts>
#include <cstddef>
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

/// How a future ended: with its value, as a std::reference_wrapper where that is a reference, or with what was thrown.
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
  explicit all_state(executor_id where, From&... from)
      : future_state<result>(nullptr, where), inputs_(from...), pending_(inputs_.all().size() + 1) {}

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

/// How each of them ended.
template <typename T, typename Input>
auto ending_of(Input& one) -> ended<T> {
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
    return result(ending_of<T>(inputs.all()[Index])...);
  }
};

template <typename T>
struct all_endings_as_vector {
  using result = std::vector<ended<T>>;

  static auto failure(auto& /*inputs*/) noexcept -> std::exception_ptr { return nullptr; }
  static auto collect(auto& inputs) -> result {
    result endings;
    endings.reserve(inputs.all().size());
    for (auto& one : inputs.all()) endings.push_back(ending_of<T>(one));
    return endings;
  }
};

/// A future of its own for a reader of a shared one, with a copy of the value.
template <typename T>
auto copy_of(const shared_future<T>& from) -> future<T> {
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

/// A future of all values, as a std::tuple: nothing is a std::monostate there, a reference a std::reference_wrapper. If
/// all of them are futures of nothing, so is the result.
/// It is ready once all of them are. If some fail, it then fails like the first of those by position, whatever the
/// timing. Continuations run on the executor of the first one that has one. Cost: one block of memory for jobs.
/// Threads: any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(future<T>... all) -> future<typename detail::all_values_as_tuple<T...>::result> {
  using rule = detail::all_values_as_tuple<T...>;
  return detail::gather<detail::all_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// The same for any number of futures of one type, with the values as a std::vector, in order. Without any it is ready
/// at once. Errors: std::bad_alloc.
template <future_range R>
auto when_all(R&& range) -> future<typename detail::all_values_as_vector<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_values_as_vector<value>>>(all);
}

/// The same for shared futures, which stay as they are: the values are copies.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(const shared_future<T>&... all) -> future<typename detail::all_values_as_tuple<T...>::result> {
  return when_all(detail::copy_of(all)...);
}

template <detail::shared_future_range R>
auto when_all(R&& range) -> future<typename detail::all_values_as_vector<detail::element_value<R>>::result> {
  std::vector<future<detail::element_value<R>>> all;
  for (const auto& each : range) all.push_back(detail::copy_of(each));
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

/// The same for any number of futures of one type, as a std::vector, in order. Errors: std::bad_alloc.
template <future_range R>
auto when_all_settled(R&& range) -> future<std::vector<ended<detail::element_value<R>>>> {
  using value = detail::element_value<R>;
  auto all = detail::to_vector(std::forward<R>(range));
  return detail::gather<detail::all_state<detail::range_inputs<value>, detail::all_endings_as_vector<value>>>(all);
}

}  // namespace braid
