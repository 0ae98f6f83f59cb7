// rankd/server/shadow/shadow_boards.cpp: keeps a list of candidate plans, which reloads replace as a whole.
#include <rankd/server/shadow/shadow_boards.hpp>

#include <algorithm>
#include <utility>

namespace rankd {

auto shadow_boards::all() const -> std::shared_ptr<const list> {
  const std::scoped_lock lock(lock_);
  return now_;
}

auto shadow_boards::find(std::string_view plan) const -> std::shared_ptr<shadow_board> {
  if (count_.load(braid::relaxed) == 0) return nullptr;
  const std::scoped_lock lock(lock_);
  const auto found = std::ranges::find(*now_, plan, [](const auto& each) -> std::string_view { return each->plan(); });
  return found == now_->end() ? nullptr : *found;
}

auto shadow_boards::replace(const std::vector<shadow_settings>& next) -> bool {
  const auto before = all();  // kept until the lock is released, because boards must not be freed under it
  if (std::ranges::equal(*before, next, {}, [](const auto& each) { return each->settings(); })) return false;
  auto made = std::make_shared<list>();
  for (const shadow_settings& each : next) {
    const auto same = std::ranges::find_if(*before, [&each](const auto& board) {
      return board->plan() == each.plan && board->candidate() == each.candidate;
    });
    made->push_back(same != before->end() ? *same : std::make_shared<shadow_board>(each));
  }
  for (std::size_t at = 0; at < next.size(); ++at) (*made)[at]->change(next[at]);  // nothing can fail from here on
  const std::scoped_lock lock(lock_);
  count_.store(made->size(), braid::relaxed);
  now_ = std::move(made);
  return true;
}

}  // namespace rankd
