// braid/coro/generator.hpp: generators: sequences computed by coroutines, synchronous (`generator`) or asynchronous
// (`async_generator`).
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/task/detail/job_memory.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <version>

#if defined(__cpp_lib_generator)
#include <generator>
#endif

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace braid {

#if defined(__cpp_lib_generator) && !defined(BRAID_OWN_GENERATOR)

using std::generator;
using std::ranges::elements_of;

#else

template <typename Ref, typename Value>
class generator;

/// `co_yield elements_of(range)` yields each element of another generator or range.
template <std::ranges::range R>
struct elements_of {
  R range;
};
template <typename R>
elements_of(R&&) -> elements_of<R&&>;

namespace detail {

/// The promise base that all generators with one reference type share, so that they can be nested. The outermost
/// generator, the root, stores which coroutine runs, and the address of the yielded value.
template <typename Yielded>
class generator_promise {
 public:
  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_job(frame, size); }

  [[nodiscard]] auto initial_suspend() const noexcept -> std::suspend_always { return {}; }
  [[nodiscard]] auto final_suspend() noexcept -> std::suspend_always {
    if (outer_ != nullptr) root_->innermost_ = outer_;
    return {};
  }

  auto yield_value(Yielded value) noexcept -> std::suspend_always {
    root_->value_ = std::addressof(value);
    return {};
  }

  /// Yields a copy of an lvalue from a generator of rvalues. The copy lives until the coroutine continues.
  auto yield_value(const std::remove_reference_t<Yielded>& value)
    requires std::is_rvalue_reference_v<Yielded> &&
             std::constructible_from<std::remove_cvref_t<Yielded>, const std::remove_reference_t<Yielded>&>
  {
    return copy_awaiter(*root_, value);
  }

  template <typename Ref, typename Value>
    requires std::same_as<typename generator<Ref, Value>::yielded, Yielded>
  auto yield_value(elements_of<generator<Ref, Value>&&> inner) noexcept {
    return nested_awaiter<generator<Ref, Value>>(*this, std::move(inner.range));
  }

  template <std::ranges::input_range R>
    requires std::convertible_to<std::ranges::range_reference_t<R>, Yielded>
  auto yield_value(elements_of<R> inner) {
    using nested = generator<Yielded, std::ranges::range_value_t<R>>;
    auto each = [](std::ranges::iterator_t<R> next, std::ranges::sentinel_t<R> end) -> nested {
      for (; next != end; ++next) co_yield static_cast<Yielded>(*next);
    };
    return nested_awaiter<nested>(*this, each(std::ranges::begin(inner.range), std::ranges::end(inner.range)));
  }

  void return_void() const noexcept {}
  void unhandled_exception() {
    if (goes_on_no_more_) destructor_threw();
    if (outer_ == nullptr) throw;
    error_ = std::current_exception();
  }
  void await_transform() = delete;

  /// Runs the coroutine to the next element, or to its end. Requires that this generator is the root and has not ended.
  void advance() {
    value_ = nullptr;
    while (value_ == nullptr && !self_.done()) innermost_->self_.resume();
  }

  [[nodiscard]] auto value() const noexcept -> std::add_pointer_t<Yielded> { return value_; }

  /// Marks that the frame is about to be destroyed, so that an exception of a destructor is detected.
  void goes_on_no_more() noexcept { goes_on_no_more_ = true; }

 protected:
  explicit generator_promise(std::coroutine_handle<> self) noexcept : self_(self) {}

 private:
  class [[nodiscard, gnu::warn_unused]] copy_awaiter {
   public:
    using object = std::remove_cvref_t<Yielded>;
    copy_awaiter(generator_promise& root, const object& value) : copy_(value), root_(&root) {}
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    void await_suspend(std::coroutine_handle<> /*self*/) noexcept { root_->value_ = std::addressof(copy_); }
    void await_resume() const noexcept {}

   private:
    object copy_;
    generator_promise* root_;
  };

  template <typename Inner>
  class [[nodiscard, gnu::warn_unused]] nested_awaiter {
   public:
    nested_awaiter(generator_promise& outer, Inner inner) noexcept : inner_(std::move(inner)), outer_(&outer) {}
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    void await_suspend(std::coroutine_handle<> /*self*/) noexcept {
      generator_promise& nested = inner_.promise();
      nested.root_ = outer_->root_;
      nested.outer_ = outer_;
      outer_->root_->innermost_ = &nested;
    }
    void await_resume() {
      if (auto error = std::exchange(inner_.promise().error_, nullptr)) std::rethrow_exception(error);
    }

   private:
    Inner inner_;
    generator_promise* outer_;
  };

  std::coroutine_handle<> self_;
  generator_promise* root_ = this;
  generator_promise* outer_ = nullptr;
  generator_promise* innermost_ = this;          // the innermost generator; used in the root
  std::add_pointer_t<Yielded> value_ = nullptr;  // the yielded value; used in the root
  std::exception_ptr error_;                     // the exception of a nested generator
  bool goes_on_no_more_ = false;
};

}  // namespace detail

/// A sequence of `Ref`s that is computed while it is read. It replaces std::generator, and its template parameter
/// `Value` has the same meaning as in std::generator. It is an input range that can be read once. A generator may yield
/// all elements of another generator by `co_yield elements_of(…)`. The cost does not depend on the depth of the
/// nesting, and the stack does not grow. `begin` and `++` rethrow exceptions of the coroutine.
/// Threads: one at a time. Cost: one frame from the thread's free lists.
template <typename Ref, typename Value = void>
class [[nodiscard]] BRAID_COROUTINE_TYPE generator : public std::ranges::view_interface<generator<Ref, Value>> {
  using value = std::conditional_t<std::is_void_v<Value>, std::remove_cvref_t<Ref>, Value>;
  using reference = std::conditional_t<std::is_void_v<Value>, Ref&&, Ref>;

 public:
  using yielded = std::conditional_t<std::is_reference_v<reference>, reference, const reference&>;

  class promise_type : public detail::generator_promise<yielded> {
   public:
    promise_type() noexcept
        : detail::generator_promise<yielded>(std::coroutine_handle<promise_type>::from_promise(*this)) {}
    auto get_return_object() noexcept -> generator { return generator(this); }
  };

  class iterator;

  generator(generator&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  auto operator=(generator other) noexcept -> generator& {
    std::swap(promise_, other.promise_);
    return *this;
  }
  ~generator() {
    if (promise_ == nullptr) return;
    promise_->goes_on_no_more();
    handle().destroy();
  }

  /// Runs the coroutine to the first element. Call it once.
  [[nodiscard]] auto begin() -> iterator {
    promise().advance();
    return iterator(*promise_);
  }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  template <typename>
  friend class detail::generator_promise;

  explicit generator(promise_type* promise) noexcept : promise_(promise) {}
  [[nodiscard]] auto handle() const noexcept { return std::coroutine_handle<promise_type>::from_promise(*promise_); }
  [[nodiscard]] auto promise() const noexcept -> promise_type& {
    BRAID_EXPECTS(promise_ != nullptr, "this generator was moved from");
    return *promise_;
  }

  promise_type* promise_;
};

template <typename Ref, typename Value>
class generator<Ref, Value>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = value;
  using difference_type = std::ptrdiff_t;

  iterator(iterator&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  auto operator=(iterator&& other) noexcept -> iterator& {
    promise_ = std::exchange(other.promise_, nullptr);
    return *this;
  }

  [[nodiscard]] auto operator*() const noexcept(std::is_nothrow_copy_constructible_v<reference>) -> reference {
    return static_cast<reference>(*promise_->value());
  }
  auto operator++() -> iterator& {
    promise_->advance();
    return *this;
  }
  void operator++(int) { ++*this; }

  [[nodiscard]] friend auto operator==(const iterator& position, std::default_sentinel_t /*end*/) noexcept -> bool {
    return std::coroutine_handle<promise_type>::from_promise(*position.promise_).done();
  }

 private:
  friend class generator;
  explicit iterator(promise_type& promise) noexcept : promise_(&promise) {}

  promise_type* promise_;
};

#endif

template <typename T>
class async_generator;

namespace detail {

template <typename T>
class async_generator_promise final : public promise_base {
 public:
  using element = std::remove_reference_t<T>;

  /// Transfers control to the consumer, which is the coroutine that awaits the next element.
  struct yield_awaiter {
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    template <std::same_as<async_generator_promise> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
      self.promise().runs_ = false;
      return transfer_to(self.promise().continuation());
    }
    void await_resume() const noexcept {}
  };

  async_generator_promise() noexcept
      : promise_base(std::coroutine_handle<async_generator_promise>::from_promise(*this)) {}
  auto get_return_object() noexcept -> async_generator<T>;

  auto yield_value(element& value) noexcept -> yield_awaiter {
    value_ = std::addressof(value);
    return {};
  }
  /// Yields a temporary, which lives in the frame until the coroutine continues.
  auto yield_value(element&& value) noexcept -> yield_awaiter
    requires(!std::is_reference_v<T>)
  {
    value_ = std::addressof(value);
    return {};
  }

  void return_void() noexcept { ended(); }
  void unhandled_exception() noexcept {
    expect_to_go_on();
    error_ = std::current_exception();
    ended();
  }

  void starts() noexcept {
    runs_ = true;
    value_ = nullptr;
  }
  [[nodiscard]] auto runs() const noexcept -> bool { return runs_; }

  /// Returns the element that was yielded, or null at the end. Errors: rethrows an exception of the coroutine, once.
  [[nodiscard]] auto take() -> element* {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return value_;
  }

 private:
  void ended() noexcept {
    runs_ = false;
    value_ = nullptr;
  }

  element* value_ = nullptr;
  std::exception_ptr error_;
  bool runs_ = false;  // an element was requested and not delivered: the generator waits, or was stopped
};

}  // namespace detail

/// An asynchronous generator: a sequence of `T`s that a coroutine computes while the sequence is read. The coroutine
/// may await anything that a task may await. It runs as a child of the task that requests the next element: in the
/// task's scope and on the task's home. A stop of the task also stops the generator. A generator that was stopped stays
/// stopped: a task that uses it again is stopped, too.
///
///   while (const row* next = co_await rows.next()) use(*next);
///
/// Threads: one at a time. Cost: one frame from the thread's free lists, and nothing for each element.
template <typename T>
class [[nodiscard]] BRAID_COROUTINE_TYPE async_generator {
 public:
  using promise_type = detail::async_generator_promise<T>;
  using element = std::remove_reference_t<T>;

  async_generator(async_generator&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(async_generator other) noexcept -> async_generator& {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// Requires that no task waits for the next element.
  ~async_generator() {
    if (!frame_) return;
    frame_.promise().goes_on_no_more();
    frame_.destroy();
  }

  /// Returns the next element, which may be moved from and lives until the next call. At the end it returns null, also
  /// in later calls.
  /// Errors: rethrows exceptions of the coroutine. After an exception, the generator has ended.
  [[nodiscard]] auto next() noexcept { return awaiter(frame_); }

 private:
  friend promise_type;

  class [[nodiscard, gnu::warn_unused]] awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {
      BRAID_EXPECTS(frame_, "this generator was moved from");
    }

    [[nodiscard]] auto await_ready() const noexcept -> bool { return frame_.done(); }
    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> consumer,
                       detail::await_place place = detail::await_place::current()) noexcept -> detail::transfer {
      promise_type& promise = frame_.promise();
      if (promise.runs()) return detail::transfer_to(consumer.promise().stop());
      consumer.promise().suspends_at(place);
      promise.attach(consumer.promise());
      promise.starts();
      return detail::transfer_to(frame_);
    }
    auto await_resume() -> element* { return frame_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> frame_;
  };

  explicit async_generator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <typename T>
auto async_generator_promise<T>::get_return_object() noexcept -> async_generator<T> {
  return async_generator<T>(std::coroutine_handle<async_generator_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace braid
