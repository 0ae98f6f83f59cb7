// rankd/store/store.cpp: the embedded store as one that operators can await, and the choice among stores.
#include <rankd/store/store.hpp>

#include <rankd/store/batch_read.hpp>
#include <rankd/store/embedded.hpp>

#include <string>
#include <utility>
#include <variant>

namespace rankd {
namespace {

/// Takes a snapshot for each batch, so that batches on different threads share nothing.
class embedded_client final : public store {
 public:
  explicit embedded_client(embedded_store data) noexcept : data_(std::move(data)) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<braid::result<field_batch>> override {
    const auto snapshot = data_.take_snapshot();
    if (!snapshot) co_return braid::fail(snapshot.error());
    co_return read_fields(*snapshot, keys, field, arena);
  }

  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<braid::result<hash_batch>> override {
    const auto snapshot = data_.take_snapshot();
    if (!snapshot) co_return braid::fail(snapshot.error());
    co_return read_hashes(*snapshot, keys, arena);
  }

  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<braid::result<id_batch>> override {
    const auto snapshot = data_.take_snapshot();
    if (!snapshot) co_return braid::fail(snapshot.error());
    co_return read_ids(*snapshot, keys, first, arena);
  }

 private:
  embedded_store data_;
};

auto unsupported(const endpoint_entry& endpoint, std::string_view message, std::string_view hint)
    -> std::unexpected<braid::diagnostics> {
  return std::unexpected(
      braid::diagnostics({.code = "store_unsupported",
                          .pointer = {},
                          .message = "endpoint `" + endpoint.endpoint_id + "`: " + std::string(message),
                          .hint = std::string(hint),
                          .node = {},
                          .source = {}}));
}

}  // namespace

auto open_store(const endpoint_entry& endpoint, const std::filesystem::path& root)
    -> braid::checked<std::unique_ptr<store>> {
  if (endpoint.kind == endpoint_entry::kind_type::http)
    return unsupported(endpoint, "an http endpoint is not a store", {});
  const auto* embedded = std::get_if<endpoint_entry::embedded_resolver>(&endpoint.resolver);
  if (embedded == nullptr)
    return unsupported(endpoint, "a store on another host is not available in this build",
                       "use a resolver of type embedded");
  auto data = embedded_store::open(root / embedded->path);
  if (!data) return std::unexpected(std::move(data.error()));
  return std::make_unique<embedded_client>(std::move(*data));
}

}  // namespace rankd
