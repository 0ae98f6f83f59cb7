// rankd/store/read_recorder.cpp: stores that write down what passes through them.
#include <rankd/store/read_recorder.hpp>

#include <rankd/store/detail/recorded_batch.hpp>

#include <algorithm>

namespace rankd {

/// One store of the request.
class read_recorder::client final : public store {
 public:
  client(read_recorder& into, std::size_t endpoint, store& behind) noexcept
      : into_(&into), endpoint_(endpoint), behind_(&behind) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>> override {
    auto asking = behind_->hget(keys, field, arena);
    store_result<field_batch> got = co_await std::move(asking);
    keep_batch(detail::store_call::hget, keys, field, 0, got);
    co_return got;
  }

  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> override {
    auto asking = behind_->hgetall(keys, arena);
    store_result<hash_batch> got = co_await std::move(asking);
    keep_batch(detail::store_call::hgetall, keys, {}, 0, got);
    co_return got;
  }

  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<store_result<id_batch>> override {
    auto asking = behind_->lrange_ids(keys, first, arena);
    store_result<id_batch> got = co_await std::move(asking);
    keep_batch(detail::store_call::lrange_ids, keys, {}, first, got);
    co_return got;
  }

  auto read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> override {
    auto asking = behind_->read(what, arena);
    store_result<item_batch> got = co_await std::move(asking);
    if (into_->is_open_) {
      const std::size_t begin = into_->bytes_.size();
      packed_writer out(into_->bytes_);
      out.number(endpoint_);
      detail::put_head(out, scratch_, what);
      detail::put_keys(out, what);
      keep_answer(got, begin);
    }
    co_return got;
  }

  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override { return behind_->explain(why); }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return behind_->scrub(max_bytes); }
  [[nodiscard]] auto damage() const -> std::string override { return behind_->damage(); }

 private:
  template <typename Batch>
  void keep_batch(detail::store_call call, key_batch keys, std::string_view field, std::uint32_t first,
                  const store_result<Batch>& got) {
    if (!into_->is_open_) return;
    const std::size_t begin = into_->bytes_.size();
    packed_writer out(into_->bytes_);
    out.number(endpoint_);
    detail::put_head(out, scratch_, call, keys.prefix, field, first);
    detail::put_keys(out, keys.ids);
    keep_answer(got, begin);
  }

  template <typename Batch>
  void keep_answer(const store_result<Batch>& got, std::size_t begin) {
    packed_writer out(into_->bytes_);
    out.number(got ? 1 : 0);
    if (got) {
      detail::put_answer(out, *got);
    } else {
      const store_failure why = behind_->explain(got.error());
      out.text(why.code);
      out.text(why.message);
    }
    into_->keep(begin);
  }

  read_recorder* into_;
  std::size_t endpoint_;
  store* behind_;
  std::string scratch_;
};

read_recorder::read_recorder(const std::vector<store*>& behind, std::size_t usual_bytes) {
  bytes_.reserve(std::min(usual_bytes, max_kept));
  clients_.reserve(behind.size());
  pointers_.reserve(behind.size());
  for (std::size_t at = 0; at < behind.size(); ++at) {
    clients_.push_back(behind[at] == nullptr ? nullptr : std::make_unique<client>(*this, at, *behind[at]));
    pointers_.push_back(clients_.back().get());
  }
}

read_recorder::~read_recorder() = default;

/// The batch that begins there is complete. One that is there already, or is too much, goes again.
void read_recorder::keep(std::size_t begin) {
  const piece made{.begin = begin, .end = bytes_.size()};
  const std::string_view all = bytes_;
  const std::string_view now = all.substr(begin);
  const bool is_known = std::ranges::any_of(
      pieces_, [&](const piece& each) { return all.substr(each.begin, each.end - each.begin) == now; });
  is_cut_ = is_cut_ || bytes_.size() > max_kept;
  if (is_known || is_cut_)
    bytes_.resize(begin);
  else
    pieces_.push_back(made);
}

auto read_recorder::take() -> std::string {
  is_open_ = false;
  return std::move(bytes_);
}

}  // namespace rankd
