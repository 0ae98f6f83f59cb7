// rankd/store/faulty_store.cpp: batches held against the planted faults.
#include <rankd/store/faulty_store.hpp>

#include <algorithm>
#include <system_error>

namespace rankd {
namespace {

/// The value of an error is one more than its position in `fault_codes`.
class fault_category final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "planted fault"; }
  [[nodiscard]] auto message(int) const -> std::string override { return "a test has planted this fault"; }
};

auto planted_faults() noexcept -> const std::error_category& {
  static const fault_category category;
  return category;
}

auto refusal(const planted_fault& fault) -> std::unexpected<store_error> {
  return std::unexpected(store_error(std::error_code(static_cast<int>(fault.code) + 1, planted_faults())));
}

}  // namespace

auto faulty_store::fault_of(key_batch keys) const -> const planted_fault* {
  const auto hits = [&](const planted_fault& fault) {
    return fault.key_prefix.empty() || std::ranges::any_of(keys.ids, [&](std::int64_t id) {
             return (std::string(keys.prefix) + std::to_string(id)).starts_with(fault.key_prefix);
           });
  };
  const auto found = std::ranges::find_if(faults_, hits);
  return found == faults_.end() ? nullptr : &*found;
}

auto faulty_store::fault_of(std::span<const std::string_view> keys) const -> const planted_fault* {
  const auto hits = [&](const planted_fault& fault) {
    return fault.key_prefix.empty() ||
           std::ranges::any_of(keys, [&](std::string_view key) { return key.starts_with(fault.key_prefix); });
  };
  const auto found = std::ranges::find_if(faults_, hits);
  return found == faults_.end() ? nullptr : &*found;
}

auto faulty_store::hget(key_batch keys, std::string_view field, braid::arena& arena)
    -> braid::task<store_result<field_batch>> {
  if (const planted_fault* fault = fault_of(keys)) co_return refusal(*fault);
  co_return co_await behind_->hget(keys, field, arena);
}

auto faulty_store::hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> {
  if (const planted_fault* fault = fault_of(keys)) co_return refusal(*fault);
  co_return co_await behind_->hgetall(keys, arena);
}

auto faulty_store::lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
    -> braid::task<store_result<id_batch>> {
  if (const planted_fault* fault = fault_of(keys)) co_return refusal(*fault);
  co_return co_await behind_->lrange_ids(keys, first, arena);
}

auto faulty_store::read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> {
  if (const planted_fault* fault = fault_of(what.keys)) co_return refusal(*fault);
  co_return co_await behind_->read(what, arena);
}

auto faulty_store::explain(const store_error& why) const -> store_failure {
  if (why.category() != planted_faults()) return behind_->explain(why);
  return {std::string(fault_codes.at(static_cast<std::size_t>(why.value()) - 1)),
          "endpoint `" + endpoint_id_ + "`: " + why.message()};
}

}  // namespace rankd
