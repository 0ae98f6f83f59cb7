// rankd/store/generation_pins.cpp: creates a new list of pinned stores after a store has switched to another
// generation.
#include <rankd/store/generation_pins.hpp>

#include <rankd/store/followed_store.hpp>

#include <utility>

namespace rankd {
namespace {

/// A list of stores that keeps the stores' current generations alive.
struct held_list {
  std::vector<std::shared_ptr<store>> held;
  std::vector<store*> all;
};

}  // namespace

generation_pins::generation_pins(std::vector<store*> stores)
    : stores_(std::make_shared<const std::vector<store*>>(std::move(stores))) {
  for (store* each : *stores_)
    if (followed_store* const followed = each == nullptr ? nullptr : each->followed()) followed_.push_back(followed);
  now_.list = stores_;
  if (!followed_.empty()) pin();
}

auto generation_pins::now() -> const pinned_stores& {
  if (version() != now_.version) [[unlikely]]
    pin();
  return now_;
}

/// Returns the sum of the stores' versions, or 0 if no store has generations.
auto generation_pins::version() const noexcept -> std::uint64_t {
  std::uint64_t sum = 0;
  for (const followed_store* each : followed_) sum += each->version();
  return sum;
}

/// Reads the version before the stores are pinned. If a store switches in between, the new generation is pinned under
/// the old version, and the next request pins that generation again.
void generation_pins::pin() {
  const std::uint64_t seen = version();
  auto made = std::make_shared<held_list>();
  made->all = *stores_;
  for (store*& each : made->all) {
    auto pinned = each == nullptr ? nullptr : each->pinned();
    if (pinned == nullptr) continue;
    each = pinned.get();
    made->held.push_back(std::move(pinned));
  }
  now_ = {.list = store_list(made, &made->all), .version = seen};
}

}  // namespace rankd
