// tests/thread/thread_view_test.cpp: views reach the thread behind every kind of handle, and own nothing.
#include <braid/thread/thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/held_thread.hpp>
#include <tests/support/privileges.hpp>

#include <concepts>
#include <latch>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <pthread.h>

using braid::cpu_set;
using braid::scheduling;
using braid::thread_info;
using braid::thread_view;
using braid::testing::eventually;
using braid::testing::held_thread;
using braid::testing::settings_can_change;

namespace {

template <typename View>
concept joins = requires(View& view) { view.join(); };
template <typename View>
concept stops = requires(View& view) { view.request_stop(); };

static_assert(joins<thread_view<std::thread>> && !stops<thread_view<std::thread>>);
static_assert(joins<thread_view<std::jthread>> && stops<thread_view<std::jthread>>);
static_assert(joins<thread_view<::pthread_t>> && !stops<thread_view<::pthread_t>>);
static_assert(joins<thread_view<braid::thread>> && stops<thread_view<braid::thread>>);
static_assert(!joins<thread_view<thread_info>> && !stops<thread_view<thread_info>>);
static_assert(std::is_trivially_copyable_v<thread_view<std::thread>>);
static_assert(sizeof(thread_view<std::thread>) == sizeof(void*));
static_assert(sizeof(thread_view<::pthread_t>) == sizeof(::pthread_t));

void wait_for_stop(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::yield();
}

/// Every operation, on a thread that somebody else holds.
template <typename View>
void controls(const View& view, const thread_info& expected) {
  CHECK(view.info() == expected);
  CHECK(view.is_alive());
  CHECK(view.set_name("through a view"));
  CHECK(view.name() == "through a view");
  CHECK(expected.name() == "through a view");
  const auto cpus = view.affinity();
  REQUIRE(cpus);
  CHECK(view.set_affinity(cpu_set{*cpus->first()}));
  CHECK(expected.affinity() == cpu_set{*cpus->first()});
  CHECK(view.set_nice(19));
  CHECK(view.nice() == braid::nice_value(19));
  CHECK(view.set_scheduling(scheduling::batch{19}));
  CHECK(view.scheduling() == scheduling(scheduling::batch{19}));
  CHECK(view.set_priority(5).error() == std::errc::invalid_argument);
  CHECK(view.priority().error() == std::errc::invalid_argument);
  CHECK(expected.scheduling() == scheduling(scheduling::batch{19}));
}

auto name_through(thread_view<std::thread> view) -> braid::result<std::string> { return view.name(); }

}  // namespace

TEST_CASE("a view of a std::thread controls it, and gives the object back") {
  if (!settings_can_change()) return;
  held_thread held;
  const thread_view view(held.native());
  controls(view, held.info());
  CHECK(&view.get() == &held.native());
  CHECK(name_through(held.native()) == "through a view");
}

TEST_CASE("views of a pthread_t and of a thread_info control the thread") {
  if (!settings_can_change()) return;
  held_thread held;
  controls(thread_view(held.native().native_handle()), held.info());
  controls(thread_view(held.info()), held.info());
  CHECK(thread_view(held.native().native_handle()).get() == held.native().native_handle());
  CHECK(thread_view(held.info()).get() == held.info());
}

TEST_CASE("views of a std::jthread and a braid::thread stop and join it") {
  if (!settings_can_change()) return;
  std::jthread standard(wait_for_stop);
  const thread_view first(standard);
  controls(first, *braid::info_of(standard));
  CHECK(first.request_stop());
  CHECK_FALSE(first.request_stop());
  CHECK(first.join());
  CHECK_FALSE(standard.joinable());

  auto ours = braid::thread::create({}, wait_for_stop);
  REQUIRE(ours);
  const thread_view second(*ours);
  controls(second, *ours->info());
  CHECK(second.request_stop());
  CHECK(second.join());
  CHECK_FALSE(ours->joinable());
}

TEST_CASE("a view joins the thread that it looks at") {
  std::thread standard([] {});
  CHECK(thread_view(standard).join());
  CHECK_FALSE(standard.joinable());

  ::pthread_t native{};
  REQUIRE(::pthread_create(&native, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0);
  CHECK(thread_view(native).join());
}

TEST_CASE("a view of an object without a thread is no such process, and has nothing to join") {
  std::thread nothing;
  const thread_view view(nothing);
  CHECK_FALSE(view.is_alive());
  CHECK(view.info().error() == std::errc::no_such_process);
  CHECK(view.name().error() == std::errc::no_such_process);
  CHECK(view.set_name("x").error() == std::errc::no_such_process);
  CHECK(view.join().error() == std::errc::invalid_argument);
  std::jthread none;
  CHECK(thread_view(none).set_nice(19).error() == std::errc::no_such_process);
  CHECK(thread_view(none).join().error() == std::errc::invalid_argument);
}

TEST_CASE("a thread that has ended and was not joined is no such process, and not the caller") {
  std::thread ended([] {});
  const thread_view view(ended);
  CHECK(eventually([&view] { return !view.is_alive(); }));
  const std::string own_name = braid::this_thread::name();
  CHECK(view.set_name("somebody else").error() == std::errc::no_such_process);
  CHECK(view.nice().error() == std::errc::no_such_process);
  CHECK(braid::this_thread::name() == own_name);
  CHECK(view.join());
}

TEST_CASE("a thread that would join itself is told so") {
  std::thread self;
  std::latch assigned{1};
  braid::result<void> standard;
  braid::result<void> native;
  self = std::thread([&] {
    assigned.wait();
    standard = thread_view(self).join();
    native = thread_view(::pthread_self()).join();
  });
  assigned.count_down();
  self.join();
  CHECK(standard.error() == std::errc::resource_deadlock_would_occur);
  CHECK(native.error() == std::errc::resource_deadlock_would_occur);
}

TEST_CASE("the main thread has a handle as well") {
  CHECK(braid::info_of(::pthread_self()) == braid::this_thread::info());
}
