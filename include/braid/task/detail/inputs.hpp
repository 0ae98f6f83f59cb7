// braid/task/detail/inputs.hpp: futures that are consumed together: a fixed set of several types, or any number of one
// type.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/detail/produced_state.hpp>
#include <braid/task/future.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid::detail {

/// The type in which the value of a future is stored in a tuple, a vector or a variant.
template <typename T>
using held = std::conditional_t<
    std::is_void_v<T>, std::monostate,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

/// The consumer of one of the combined futures. When the future has settled, `settled(input&, cascade&)` of `Owner` is
/// called.
template <typename Owner>
class input final : public continuation {
 public:
  input() noexcept : continuation(nullptr) {}

  template <typename T>
  void take_over(future<T>& from) noexcept {
    const auto own = future_access::consume(from);
    BRAID_EXPECTS(own.state != nullptr, "futures that are combined must have a state");
    core_ = own.state;
    others_ = own.others;
  }

  void attach(Owner& owner, cascade& more) noexcept {
    owner_ = &owner;
    core_->consume_by(*this, others_, more);
  }

  /// Returns whether the future has failed. Requires that the future has settled.
  [[nodiscard]] auto has_failed() const noexcept -> bool { return core_->how() == verdict::failure; }

  /// Returns the state of the future. Requires that this input was constructed from a future<T>, that the future has
  /// settled, and that `release` was not called.
  template <typename T>
  [[nodiscard]] auto state() const noexcept -> future_state<T>& {
    return static_cast<future_state<T>&>(*core_);
  }

  template <typename T>
  auto take() const -> held<T> {
    if constexpr (std::is_void_v<T>)
      return {};
    else
      return state<T>().take();
  }

  /// Drops the future, unless it was dropped already. Threads that wait for the future are not delayed, because they
  /// are woken before consumers are notified.
  void release() noexcept {
    if (core_ != nullptr) std::exchange(core_, nullptr)->drop_reference();
  }

 private:
  void fire(cascade& more) noexcept override { owner_->settled(*this, more); }

  Owner* owner_ = nullptr;
  future_core* core_ = nullptr;
  readers others_ = readers::none;
};

/// Returns the executor of the first future that has an executor.
template <typename... T>
auto first_executor(const future<T>&... all) noexcept -> executor_id {
  executor_id found;
  const auto look = [&found](const future_core* state) {
    if (!found && state != nullptr) found = state->where();
  };
  (look(future_access::find_state(all)), ...);
  return found;
}

template <typename T>
auto first_executor(const std::vector<future<T>>& all) noexcept -> executor_id {
  executor_id found;
  for (auto at = all.begin(); at != all.end() && !found; ++at) found = first_executor(*at);
  return found;
}

/// A fixed number of futures of different types, which are consumed together.
template <typename... T>
struct tuple_inputs {
  template <typename Owner>
  class of {
   public:
    explicit of(future<T>&... from) noexcept {
      auto at = inputs_.begin();
      (at++->take_over(from), ...);
    }

    [[nodiscard]] auto all() noexcept -> std::span<input<Owner>> { return inputs_; }

    /// Calls `fn.template operator()<T>(index, input)` for each input.
    template <typename Fn>
    void visit(Fn&& fn) {
      std::size_t index = 0;
      ((fn.template operator()<T>(index, inputs_[index]), ++index), ...);
    }

   private:
    std::array<input<Owner>, sizeof...(T)> inputs_;
  };
};

/// Any number of futures of one type, which are consumed together.
template <typename T>
struct range_inputs {
  template <typename Owner>
  class of {
   public:
    explicit of(std::vector<future<T>>& from)
        : inputs_(std::make_unique<input<Owner>[]>(from.size())), count_(from.size()) {
      for (std::size_t i = 0; i < count_; ++i) inputs_[i].take_over(from[i]);
    }

    [[nodiscard]] auto all() noexcept -> std::span<input<Owner>> { return {inputs_.get(), count_}; }

    template <typename Fn>
    void visit(Fn&& fn) {
      for (std::size_t i = 0; i < count_; ++i) fn.template operator()<T>(i, inputs_[i]);
    }

   private:
    std::unique_ptr<input<Owner>[]> inputs_;
    std::size_t count_;
  };
};

/// Returns the failure of the first input, by position, that has failed. Returns null if no input has failed.
template <typename Inputs>
auto first_failure(Inputs& inputs) noexcept -> std::exception_ptr {
  std::exception_ptr found;
  inputs.visit([&found]<typename T>(std::size_t /*index*/, auto& one) {
    if (found == nullptr && one.has_failed()) found = one.template state<T>().take_failure();
  });
  return found;
}

}  // namespace braid::detail

namespace braid {

namespace detail {

/// A range whose futures may be consumed: an rvalue container, or a view.
template <typename R>
concept future_range = std::ranges::input_range<R> && detail::is_future<std::ranges::range_value_t<R>> &&
                       (!std::is_lvalue_reference_v<R> || std::ranges::view<std::remove_cvref_t<R>>);

template <typename R>
using element_value = typename std::ranges::range_value_t<R>::value_type;

template <future_range R>
auto to_vector(R&& range) -> std::vector<std::ranges::range_value_t<R>> {
  if constexpr (std::is_same_v<std::remove_cvref_t<R>, std::vector<std::ranges::range_value_t<R>>>) {
    return std::forward<R>(range);
  } else {
    std::vector<std::ranges::range_value_t<R>> all;
    for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
      all.push_back(std::ranges::iter_move(at));
    return all;
  }
}

/// Creates a `Gathering` that consumes the futures, and returns the future of its result.
template <typename Gathering, typename... From>
auto gather(From&... from) -> future<typename Gathering::result> {
  auto& made = make_state<Gathering>(first_executor(from...), from...);
  auto after = future_access::make<typename Gathering::result>(made);
  cascade more;
  made.begin(more);
  more.run();
  return after;
}

}  // namespace detail
}  // namespace braid
