// sim/world_hash.hpp: computes a hash of a run of a world. Two runs with the same seed must have the same hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sim {

/// A hash of a sequence of numbers and texts. The hash depends on their order.
class world_hash {
 public:
  [[nodiscard]] auto value() const -> std::uint64_t { return value_; }

  void add(std::uint64_t number) {
    const std::uint64_t mixed = (value_ ^ number) * 0x9e3779b97f4a7c15U;
    value_ = mixed ^ (mixed >> 29U);
  }

  void add(std::string_view bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(bytes.size() - at, sizeof(word)));
      add(word);
    }
  }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace sim
