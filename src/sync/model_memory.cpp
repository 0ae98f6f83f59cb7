// src/sync/model_memory.cpp: implements the rules of the C++ memory model that the explorer supports.
#include <braid/sync/detail/model_memory.hpp>

#include <utility>

namespace braid::detail {
namespace {

auto acquires(std::memory_order order) noexcept -> bool {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

auto releases(std::memory_order order) noexcept -> bool {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

}  // namespace

auto model_memory::find(model_location& place, std::uint64_t initial) -> std::size_t {
  if (place.run != run_) {
    place = {.run = run_, .index = histories_.size()};
    histories_.emplace_back().writes.push_back({.value = initial});
  }
  return place.index;
}

auto model_memory::visible(std::size_t atomic, const model_view& view, std::memory_order order) const -> std::size_t {
  const history& of = histories_[atomic];
  std::size_t oldest = order == std::memory_order_seq_cst ? of.total_order : 0;
  // Finds the newest write that the reader must not miss. If an action of another thread happens before the read, the
  // reader must not miss any write that the other thread had seen before that action. A thread has seen its own writes,
  // so this covers all four coherence rules.
  for (std::size_t thread = 0; thread < model_thread_limit; ++thread) {
    const auto& seen = of.sightings[thread];
    const std::uint32_t until = std::max(view.clock[thread], view.fenced[thread]);
    const auto known = std::upper_bound(seen.begin(), seen.end(), until,
                                        [](std::uint32_t now, const sighting& s) { return now < s.moment; });
    if (known != seen.begin()) oldest = std::max(oldest, std::prev(known)->write);
  }
  return of.writes.size() - oldest;
}

auto model_memory::peek(std::size_t atomic, std::size_t age) const -> std::uint64_t {
  const auto& writes = histories_[atomic].writes;
  return writes[writes.size() - 1 - age].value;
}

auto model_memory::load(std::size_t atomic, std::size_t age, model_view& view, std::memory_order order)
    -> std::uint64_t {
  history& of = histories_[atomic];
  const std::size_t index = of.writes.size() - 1 - age;
  const write& source = of.writes[index];
  view.clock.tick(view.thread);
  if (acquires(order)) {
    view.clock.join(source.published);
    view.fenced.join(source.published_fenced);
  }
  see(of, index, view, order);
  return source.value;
}

void model_memory::store(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order) {
  append(histories_[atomic], {.value = value}, view, order);
}

void model_memory::replace(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order) {
  history& of = histories_[atomic];
  write made = of.writes.back();
  made.value = value;
  append(of, made, view, order);
}

void model_memory::append(history& history, write made, model_view& view, std::memory_order order) {
  view.clock.tick(view.thread);
  if (releases(order)) {
    made.published.join(view.clock);
    made.published_fenced.join(view.fenced);
  }
  history.writes.push_back(made);
  see(history, history.writes.size() - 1, view, order);
}

void model_memory::see(history& history, std::size_t write, const model_view& view, std::memory_order order) {
  auto& seen = history.sightings[view.thread];
  if (seen.empty() || seen.back().write < write) seen.push_back({view.clock[view.thread], write});
  if (order == std::memory_order_seq_cst) history.total_order = std::max(history.total_order, write);
}

void model_memory::light_barrier(model_view& view) {
  before_light_.join(view.clock);
  before_light_.join(view.fenced);
  view.fenced.join(before_heavy_);
}

void model_memory::heavy_barrier(model_view& view) {
  view.fenced.join(before_light_);
  view.fenced.join(before_heavy_);
  before_heavy_.join(view.clock);
  before_heavy_.join(view.fenced);
}

void model_memory::begin(model_plain& plain) const noexcept {
  if (plain.run != run_) plain = {.run = run_, .writer = 0, .written = 0, .reads = {}};
}

auto model_memory::read_plain(model_plain& plain, model_view& view) const -> bool {
  begin(plain);
  plain.reads.set(view.thread, view.clock.tick(view.thread));
  return plain.written <= view.clock[plain.writer];
}

auto model_memory::write_plain(model_plain& plain, model_view& view) const -> bool {
  begin(plain);
  bool ordered = plain.written <= view.clock[plain.writer];
  for (std::size_t thread = 0; thread < model_thread_limit; ++thread)
    ordered = ordered && plain.reads[thread] <= view.clock[thread];
  plain.writer = view.thread;
  plain.written = view.clock.tick(view.thread);
  plain.reads = {};
  return ordered;
}

}  // namespace braid::detail
