// tests/coro/resume_test.cpp: coroutines that jump, as clang compiles them, and that leave what goes on next, as g++
// does, take turns under one resume.
#include <braid/coro/detail/resume.hpp>

#include <doctest/doctest.h>

#include <tests/support/stack_extent.hpp>

#include <coroutine>
#include <cstddef>
#include <string>
#include <utility>

using braid::detail::leave_for_resume;
using braid::detail::resume;

namespace {

/// A coroutine that is resumed by handle, and stays suspended at its end.
class routine {
 public:
  struct promise_type {
    auto get_return_object() noexcept -> routine { return routine(handle::from_promise(*this)); }
    static auto initial_suspend() noexcept -> std::suspend_always { return {}; }
    static auto final_suspend() noexcept -> std::suspend_always { return {}; }
    static void return_void() noexcept {}
    static void unhandled_exception() noexcept {}
  };
  using handle = std::coroutine_handle<promise_type>;

  routine(routine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(routine&&) -> routine& = delete;
  ~routine() {
    if (frame_) frame_.destroy();
  }
  [[nodiscard]] auto get() const noexcept -> std::coroutine_handle<> { return frame_; }

 private:
  explicit routine(handle frame) noexcept : frame_(frame) {}
  handle frame_;
};

/// Goes on with another coroutine as g++ does.
struct leaves {
  std::coroutine_handle<> next;
  [[nodiscard]] static auto await_ready() noexcept -> bool { return false; }
  void await_suspend(std::coroutine_handle<> /*self*/) const noexcept { leave_for_resume(next); }
  static void await_resume() noexcept {}
};

/// The same as this compiler does.
struct transfers {
  std::coroutine_handle<> next;
  [[nodiscard]] static auto await_ready() noexcept -> bool { return false; }
  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> /*self*/) const noexcept -> braid::detail::transfer {
    return braid::detail::transfer_to(next);
  }
  static void await_resume() noexcept {}
};

struct ball {
  std::coroutine_handle<> other[2];
  braid::testing::stack_extent hits;
};

template <typename Gives>
auto player(ball& of, std::size_t side, std::size_t times) -> routine {
  for (std::size_t i = 0; i < times; ++i) {
    of.hits.mark();
    co_await Gives{of.other[1 - side]};
  }
}

}  // namespace

TEST_CASE("coroutines of both kinds give control to each other, and the stack does not grow") {
  constexpr std::size_t times = 50'000;
  ball of;
  const routine jumps = player<transfers>(of, 0, times);
  const routine left = player<leaves>(of, 1, times);
  of.other[0] = jumps.get();
  of.other[1] = left.get();
  resume(jumps.get());
  CHECK(of.hits.marks() == 2 * times);
  CHECK(of.hits.bytes() < 4'096);
}

TEST_CASE("a resume inside of another one leaves alone what the outer one goes on with") {
  std::string order;
  const auto says = [&order](char name) -> routine {
    order += name;
    co_return;
  };
  const routine inner = says('i');
  const routine next = says('n');
  struct resumes_inside {
    std::coroutine_handle<> next, inner;
    [[nodiscard]] static auto await_ready() noexcept -> bool { return false; }
    void await_suspend(std::coroutine_handle<> /*self*/) const noexcept {
      leave_for_resume(next);
      resume(inner);
    }
    static void await_resume() noexcept {}
  };
  const auto body = [&]() -> routine { co_await resumes_inside{next.get(), inner.get()}; };
  const routine outer = body();
  resume(outer.get());
  CHECK(order == "in");
  resume(nullptr);
  CHECK(order == "in");
}
