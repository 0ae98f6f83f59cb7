// tests/refused/unused.cpp: waits that nothing awaits, though their result has a name.
// flags: -Werror=unused-variable -Werror=unused-result -Werror=missing-field-initializers
// errors: exactly
#include <braid/braid.hpp>

namespace {

using namespace braid;

// says: unused variable
[[maybe_unused]] auto locked(async_mutex& mutex) -> task<void> {
  auto held = mutex.lock();
  co_return;
}

// says: unused variable
[[maybe_unused]] auto slept() -> task<void> {
  auto nap = sleep_for(std::chrono::seconds(1));
  co_return;
}

// says: unused variable
[[maybe_unused]] auto received(channel<int>& numbers) -> task<void> {
  auto number = numbers.receive();
  co_return;
}

// says: unused variable
[[maybe_unused]] auto readable_at(loop& on) -> task<void> {
  auto ready = readable(on, 0);
  co_return;
}

// says: unused variable
[[maybe_unused]] void redis_command(redis_connection& store, arena& memory) { auto value = store.get("key", memory); }

// says: unused variable
[[maybe_unused]] void redis_batch_of(redis_connection& store, const redis_batch& batch, arena& memory) {
  auto replies = store.run(batch, memory);
}

[[maybe_unused]] auto computed() -> fork_task<void> { co_return; }

// says: unused variable
[[maybe_unused]] auto forked() -> fork_task<void> {
  auto both = fork_join(computed(), computed());
  co_return;
}

// --- fine ---

[[maybe_unused]] const metric named{.name = "braid_example"};  // other members have defaults

[[maybe_unused]] auto awaited(async_mutex& mutex, channel<int>& numbers) -> task<void> {
  const auto held = co_await mutex.lock();
  auto number = numbers.receive();
  static_cast<void>(co_await std::move(number));
}

}  // namespace
