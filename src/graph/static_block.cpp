// src/graph/static_block.cpp: constructs the nodes of a static graph in the order of their layout.
#include "static_block.hpp"

#include <new>
#include <utility>

namespace braid::detail {
namespace {

constexpr std::align_val_t alignment{alignof(static_node)};

void call_nothing(void* /*storage*/) {}

}  // namespace

static_block::static_block(const static_layout& layout, std::span<const node_call> calls, std::vector<boxed_call> boxes)
    : given_(calls.size()), count_(layout.order().size()), boxes_(std::move(boxes)) {
  if (count_ == 0) return;
  std::vector<node_index> places(count_);
  for (node_index place = 0; place < count_; ++place) places[layout.order()[place]] = place;
  for (const node_index node : layout.order())
    if (const auto after = layout.successors(node); after.size() > 2)
      for (const node_index target : after) targets_.push_back(places[target]);
  targets_.shrink_to_fit();

  // The constructor can throw up to and including this allocation, but not afterwards.
  memory_ = static_cast<std::byte*>(::operator new((count_ + 1) * sizeof(static_node), alignment));
  std::construct_at(reinterpret_cast<static_run**>(memory_), nullptr);
  nodes_ = reinterpret_cast<static_node*>(memory_ + sizeof(static_node));
  const node_call nothing{.call = &call_nothing};
  std::uint32_t listed = 0;
  for (node_index place = 0; place < count_; ++place) {
    const node_index node = layout.order()[place];
    static_node& made = *std::construct_at(nodes_ + place, place, layout.predecessors(node),
                                           layout.is_given(node) ? calls[node] : nothing);
    const auto after = layout.successors(node);
    if (after.size() > 2) {
      made.first = std::exchange(listed, listed + static_cast<std::uint32_t>(after.size()));
      made.second = static_node::many + static_cast<std::uint32_t>(after.size());
    } else {
      if (!after.empty()) made.first = places[after[0]];
      if (after.size() == 2) made.second = places[after[1]];
    }
  }
}

static_block::~static_block() { ::operator delete(memory_, alignment); }

void static_block::fill() noexcept {
  for (static_node& node : std::span(nodes_, count_)) node.waiting_for.set(node.predecessors);
}

}  // namespace braid::detail
