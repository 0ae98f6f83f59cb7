// rankd/store/named_read.cpp: answers reads of values under given keys from an open embedded store.
#include <rankd/store/batch_read.hpp>
#include <rankd/store/detail/named_reader.hpp>
#include <rankd/store/error.hpp>

#include <cstddef>

namespace rankd {

auto read_batch(const embedded_store::snapshot& snapshot, const named_read& question, braid::arena& arena)
    -> braid::result<item_batch> {
  const auto out = arena.filled(question.keys.size(), std::span<const stored_item>());
  detail::named_reader<record_view> reader(question, arena);
  for (std::size_t at = 0; at < out.size(); ++at) {
    const bool asks = question.kind != read_kind::members && question.kind != read_kind::scores;
    if (!asks && question.members[at].empty()) continue;  // no member is requested, so the store is not read
    auto record = snapshot.find(question.keys[at]);
    if (!record) return braid::fail(record.error());
    if (*record && (*record)->count() == 0) record = std::nullopt;  // other stores cannot hold such
    const bool may_differ = question.kind == read_kind::strings;
    if (*record && !may_differ && !detail::suits((*record)->kind(), question.kind))
      return braid::fail(store_errc::wrong_type);
    out[at] = reader.read(*record ? &**record : nullptr, at);
  }
  return item_batch{out, reader.malformed()};
}

}  // namespace rankd
