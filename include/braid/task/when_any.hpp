// braid/task/when_any.hpp: several futures as one that is ready with the first value.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/inputs.hpp>
#include <braid/task/future.hpp>
#include <braid/task/promise.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

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
  explicit any_state(executor_id where, From&... from)
      : future_state<result>(nullptr, where), inputs_(from...), holds_(inputs_.all().size() + 2) {}

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
  // And `won`, once an input with a value has come. One word, because after the last but one the object may be gone.
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

/// The last input to settle, when none has won, is the producer; the references to the result hold the object then.
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

/// A future of the first value, in a std::variant with one alternative for each future, several of one type included;
/// its index is that of the future. Nothing is a std::monostate there, a reference a std::reference_wrapper.
/// Of several that are ready already the first by position counts. The others run on, and what they give is dropped. If
/// all fail, it fails like the first by position. Continuations run on the executor of the first that has one. Threads:
/// any. Blocks: never. Errors: std::bad_alloc.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_any(future<T>... all) -> future<any_result<std::variant<detail::held<T>...>>> {
  using rule = detail::first_as_variant<T...>;
  return detail::gather<detail::any_state<detail::tuple_inputs<T...>, rule>>(all...);
}

/// The same for any number of futures of one type. Errors: in the future: errc::invalid_argument when there is none.
template <future_range R>
auto when_any(R&& range) -> future<typename detail::first_of_range<detail::element_value<R>>::result> {
  using value = detail::element_value<R>;
  using rule = detail::first_of_range<value>;
  auto all = detail::to_vector(std::forward<R>(range));
  if (all.empty()) return failed_future<typename rule::result>(detail::failure_of(errc::invalid_argument));
  return detail::gather<detail::any_state<detail::range_inputs<value>, rule>>(all);
}

}  // namespace braid
