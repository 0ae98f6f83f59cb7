// rankd/store/vector_file.cpp: checks a file of vectors, and finds vectors by their ids.
#include <rankd/store/vector_file.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/detail/vector_layout.hpp>

#include <braid/base/config.hpp>
#include <braid/io/backend.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using detail::vector_header;
using detail::vector_layout;
using detail::vector_part;

constexpr std::string_view build_again = "build the file again: rankd vectors build";

auto corrupt(std::string message, const fs::path& file) -> std::unexpected<braid::diagnostics> {
  return refused("vectors_corrupt", "the vector file is damaged: " + std::move(message), std::string(build_again),
                 file);
}

auto unreadable(int error_number, const fs::path& file) -> std::unexpected<braid::diagnostics> {
  const std::string text = std::error_code(error_number, std::generic_category()).message();
  return refused("vectors_missing", "the vector file cannot be read: " + text,
                 "build it with rankd vectors build, or correct the path in its endpoint", file);
}

struct opened_file {
  braid::descriptor descriptor;
  std::uint64_t bytes = 0;
};

/// Opens a file without blocking: if the path is a pipe, the call does not wait for a writer.
auto open_to_read(const fs::path& file) -> braid::checked<opened_file> {
  opened_file out{braid::descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0};
  struct stat about{};
  if (!out.descriptor || ::fstat(out.descriptor.number(), &about) != 0) return unreadable(errno, file);
  if (!S_ISREG(about.st_mode)) return unreadable(S_ISDIR(about.st_mode) ? EISDIR : EINVAL, file);
  out.bytes = static_cast<std::uint64_t>(about.st_size);
  return out;
}

auto make_checksum(vector_header header) -> std::uint32_t {
  header.checksum = 0;
  return crc32c(std::as_bytes(std::span(&header, 1)));
}

/// Returns whether the size of the text part is possible: it must be large enough for the table with the end of each
/// text, and not larger than the maximum size of so many texts.
auto has_room_for_texts(const vector_header& header) noexcept -> bool {
  return header.text_bytes >= header.count * sizeof(std::uint64_t) &&
         header.text_bytes <= header.count * detail::max_text_bytes;
}

auto has_possible_graph(const vector_header& header) noexcept -> bool {
  return header.block == 1 && header.lists == 0 && header.count >= 1 && header.slots < header.count + vector_block &&
         header.m >= min_m && header.m <= max_m && header.ef_construction >= 1 &&
         header.ef_construction <= max_ef_construction &&
         header.metric <= static_cast<std::uint32_t>(vector_metric::l2);
}

/// Checks only the header; the other parts are checked once the file is mapped.
auto check_header(const vector_header& header, std::uint64_t bytes, const fs::path& file) -> braid::checked<void> {
  if (std::string_view(header.magic.data(), header.magic.size()) != detail::vector_magic)
    return refused("vectors_foreign", "this is not a file of vectors", std::string(build_again), file);
  if (header.version > detail::version_of_graphs)
    return refused("vectors_newer", "the file of vectors has a format that this version does not know",
                   "use the version of rankd that made it, or make it again", file);
  if (make_checksum(header) != header.checksum) return corrupt("the checksum of its header does not match", file);
  const bool is_possible = header.version >= detail::version_of_numbers &&
                           (header.has_graph() ? has_possible_graph(header) : header.block == vector_block) &&
                           header.dimensions >= 1 && header.dimensions <= max_dimensions &&
                           header.slots <= detail::max_vectors && header.slots % vector_block == 0 &&
                           header.count <= header.slots && header.lists <= detail::max_lists &&
                           (header.has_texts() ? has_room_for_texts(header) : header.text_bytes == 0);
  if (!is_possible) return corrupt("the header contains impossible numbers", file);
  if (const std::uint64_t wanted = vector_layout(header).bytes; wanted != bytes)
    return corrupt("it has " + std::to_string(bytes) + " bytes, but its header says " + std::to_string(wanted), file);
  return {};
}

/// Returns whether all numbers are finite. Infinities and NaNs are exactly the numbers with all bits of the exponent
/// set.
auto are_finite(std::span<const float> numbers) noexcept -> bool {
  constexpr std::uint32_t exponent = 0x7F80'0000;
  std::uint32_t wrong = 0;
  for (const float each : numbers) wrong |= (std::bit_cast<std::uint32_t>(each) & exponent) == exponent ? 1U : 0U;
  return wrong == 0;
}

auto read_header(std::span<const std::byte> bytes) -> vector_header {
  vector_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

auto digest_text(const vector_header& header) -> std::string {
  return sha256_hex({reinterpret_cast<const char*>(&header), sizeof(header)});
}

auto too_short(const fs::path& file) {
  return refused("vectors_foreign", "this is not a vector file: it is too short", std::string(build_again), file);
}

}  // namespace

auto vector_file::open(const fs::path& file) -> braid::checked<std::shared_ptr<const vector_file>> {
  auto opened = open_to_read(file);
  if (!opened) return std::unexpected(std::move(opened.error()));
  if (opened->bytes < sizeof(vector_header)) return too_short(file);
  void* const place = ::mmap(nullptr, opened->bytes, PROT_READ, MAP_SHARED, opened->descriptor.number(), 0);
  if (place == MAP_FAILED) return unreadable(errno, file);
  const std::span bytes(static_cast<const std::byte*>(place), opened->bytes);
  std::shared_ptr<vector_file> made(new vector_file(bytes));
  made->is_mapped_ = true;
  if (braid::diagnostics problems = made->complete(file); !problems.empty())
    return std::unexpected(std::move(problems));
  return made;
}

auto vector_file::parse(std::span<const std::byte> bytes, const fs::path& name)
    -> braid::checked<std::shared_ptr<const vector_file>> {
  if (bytes.size() < sizeof(vector_header)) return too_short(name);
  std::shared_ptr<vector_file> made(new vector_file(bytes));
  if (braid::diagnostics problems = made->complete(name); !problems.empty())
    return std::unexpected(std::move(problems));
  return made;
}

auto vector_file::make_digest(const fs::path& file) -> braid::checked<std::string> {
  const auto opened = open_to_read(file);
  if (!opened) return std::unexpected(opened.error());
  vector_header header;
  const ssize_t got = ::pread(opened->descriptor.number(), &header, sizeof(header), 0);
  if (got < 0) return unreadable(errno, file);
  if (static_cast<std::size_t>(got) < sizeof(header)) return too_short(file);
  if (auto fine = check_header(header, opened->bytes, file); !fine) return std::unexpected(std::move(fine.error()));
  return digest_text(header);
}

vector_file::~vector_file() {
  if (is_mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

auto vector_file::complete(const fs::path& name) -> braid::diagnostics {
  vector_header header = read_header(bytes_);
  if (auto fine = check_header(header, bytes_.size(), name); !fine) return std::move(fine.error());
  const vector_layout layout(header);
  const auto part = [&](vector_part kind) {
    const detail::vector_span where = layout.of(kind);
    return bytes_.subspan(where.begin, where.bytes);
  };
  for (std::size_t at = 0; at < detail::vector_parts; ++at)
    if (crc32c(part(static_cast<vector_part>(at))) != header.checksum_of(at))
      return corrupt("part " + std::to_string(at + 1) + " does not match its checksum", name).error();

  const auto items = [&]<typename T>(vector_part kind, const T* /*type*/) {
    const std::span<const std::byte> bytes = part(kind);
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  };
  lists_ = items(vector_part::lists, static_cast<const list_entry*>(nullptr));
  const auto centroids = items(vector_part::centroids, static_cast<const float*>(nullptr));
  centroids_ = centroids.data();
  ids_ = items(vector_part::ids, static_cast<const std::int64_t*>(nullptr));
  squares_ = items(vector_part::squares, static_cast<const double*>(nullptr));
  const auto values = items(vector_part::values, static_cast<const float*>(nullptr));
  values_ = values.data();
  links_ = items(vector_part::links, static_cast<const std::uint32_t*>(nullptr));
  if (header.has_texts()) {
    text_ends_ = items(vector_part::texts, static_cast<const std::uint64_t*>(nullptr)).first(header.count);
    texts_ = reinterpret_cast<const char*>(text_ends_.data() + text_ends_.size());
  }

  // Checks the values as well, because another program may have written infinite values with matching checksums. `rankd
  // vectors build` refuses such values.
  if (!are_finite(values) || !are_finite(centroids))
    return corrupt("the file contains a number that is infinite or NaN", name).error();
  if (!std::ranges::all_of(squares_, [](double each) { return std::isfinite(each) && each >= 0; }))
    return corrupt("the length of a vector is not a finite number", name).error();

  if (std::string wrong = check_lists(); !wrong.empty()) return corrupt(std::move(wrong), name).error();
  if (std::string wrong = check_texts(); !wrong.empty()) return corrupt(std::move(wrong), name).error();
  if (std::string wrong = order_slots(); !wrong.empty()) return corrupt(std::move(wrong), name).error();
  if (std::string wrong = check_links(); !wrong.empty()) return corrupt(std::move(wrong), name).error();
  for (std::uint32_t list = 0; list < header.lists; ++list) {
    double square = 0;
    for (std::uint32_t at = 0; at < header.dimensions; ++at) {
      const double number = centroids_[detail::place_in_blocks(list, at, header.dimensions)];
      square += number * number;
    }
    centroid_squares_.push_back(square);
  }
  centroid_squares_.resize((centroid_squares_.size() + vector_block - 1) / vector_block * vector_block);
  return {};
}

/// Returns what is wrong with the lists and their ids, or an empty text if they are valid.
auto vector_file::check_lists() const -> std::string {
  const vector_header header = read_header(bytes_);
  std::uint64_t slots = 0;
  std::uint64_t count = 0;
  for (const list_entry& each : lists_) {
    if (each.first != slots || each.count > header.slots - slots) return "its lists do not match its header";
    if (!has_rows() && std::ranges::adjacent_find(ids_.subspan(slots, each.count), std::greater_equal()) !=
                           ids_.subspan(slots, each.count).end())
      return "the ids of a list do not ascend";
    slots += (each.count + vector_block - 1) / vector_block * vector_block;
    count += each.count;
  }
  return slots != header.slots || count != header.count ? "the lists do not match the header" : "";
}

/// Returns what is wrong with the texts of ids, or an empty text if they are valid. Requires that `check_lists` found
/// no error.
auto vector_file::check_texts() const -> std::string {
  const vector_header header = read_header(bytes_);
  if (!header.has_texts()) return "";
  const std::uint64_t all = header.text_bytes - text_ends_.size_bytes();
  std::uint64_t before = 0;
  for (std::size_t at = 0; at < text_ends_.size(); ++at) {
    const std::uint64_t end = text_ends_[at];
    if (end < before || end > all) return "the texts of the ids do not match the header";
    if (!is_text_id({texts_ + before, end - before}))
      return "the text of an id is not " + std::string(id_sentence(value_type::string));
    before = end;
    if (at > 0 && text(static_cast<std::int64_t>(at) - 1) >= text(static_cast<std::int64_t>(at)))
      return "the texts of the ids are not in ascending order";
  }
  if (before != all) return "the texts of the ids do not match the header";
  std::vector<bool> seen(text_ends_.size());
  for (const list_entry& list : lists_)
    for (const std::int64_t id : ids_.subspan(list.first, list.count)) {
      if (id < 0 || static_cast<std::uint64_t>(id) >= seen.size() || seen[static_cast<std::size_t>(id)])
        return "an id has no text, or shares its text with another id";
      seen[static_cast<std::size_t>(id)] = true;
    }
  return "";
}

/// Returns what is wrong with the links of the graph, or an empty text if they are valid or there is no graph.
auto vector_file::check_links() const -> std::string {
  if (!has_rows()) return "";
  const detail::graph_layers layers(size(), graph()->m);
  for (std::size_t layer = 0; layer <= layers.top(); ++layer)
    for (std::uint64_t node = 0; node < layers.size(layer); ++node) {
      const auto links = links_.subspan(layers.first_link(layer, node), layers.max_links(layer));
      const auto end = std::ranges::find(links, detail::no_link);
      if (!std::all_of(links.begin(), end, [&](std::uint32_t to) { return to < layers.size(layer) && to != node; }))
        return "a link of its graph does not lead to another vector of the layer";
      if (!std::all_of(end, links.end(), [](std::uint32_t to) { return to == detail::no_link; }))
        return "the links of a vector in its graph have a gap";
    }
  return "";
}

/// Sorts the slots of a file by their ids, unless the file stores them in this order. Files with several lists or a
/// graph do not store the slots in this order. Returns what is wrong with the ids, or an empty text if they are valid.
auto vector_file::order_slots() -> std::string {
  if (lists_.size() < 2 && !has_rows()) return "";
  for (const list_entry& list : lists_)
    for (std::uint64_t at = 0; at < list.count; ++at)
      slots_by_id_.push_back(static_cast<std::uint32_t>(list.first + at));
  const auto id = [this](std::uint32_t slot) { return ids_[slot]; };
  std::ranges::sort(slots_by_id_, {}, id);
  const bool repeats = std::ranges::adjacent_find(slots_by_id_, {}, id) != slots_by_id_.end();
  return repeats ? "an id belongs to two vectors" : "";
}

auto vector_file::find_slot(std::int64_t id) const noexcept -> std::optional<std::uint64_t> {
  std::uint64_t begin = 0;
  std::uint64_t end = size();
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (ids_[slot_of(middle)] < id)
      begin = middle + 1;
    else
      end = middle;
  }
  if (begin == size() || ids_[slot_of(begin)] != id) return std::nullopt;
  return slot_of(begin);
}

auto vector_file::find_slot(std::string_view id) const noexcept -> std::optional<std::uint64_t> {
  std::size_t begin = 0;
  std::size_t end = text_ends_.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (text(static_cast<std::int64_t>(middle)) < id)
      begin = middle + 1;
    else
      end = middle;
  }
  if (begin == text_ends_.size() || text(static_cast<std::int64_t>(begin)) != id) return std::nullopt;
  return slot_of(begin);
}

auto vector_filter::none(const vector_file& file) -> vector_filter {
  return {file, std::vector<std::uint16_t>(file.slots() / vector_block), 0};
}

auto vector_filter::all(const vector_file& file) -> vector_filter {
  vector_filter made(file, std::vector<std::uint16_t>(file.slots() / vector_block, 0xffff), file.size());
  for (const vector_file::list_entry& list : file.lists_)
    if (const std::uint64_t rest = list.count % vector_block; rest != 0)
      made.blocks_[(list.first + list.count) / vector_block] = static_cast<std::uint16_t>((1U << rest) - 1);
  return made;
}

void vector_filter::set(std::optional<std::uint64_t> slot, std::uint16_t allowed) {
  if (!slot) return;
  std::uint16_t& block = blocks_[*slot / vector_block];
  const std::uint64_t place = *slot % vector_block;
  if ((block >> place & 1U) == allowed) return;
  block = static_cast<std::uint16_t>(block ^ 1U << place);
  size_ = allowed != 0 ? size_ + 1 : size_ - 1;
}

void vector_filter::allow(std::int64_t id) { set(file_->find_slot(id), 1); }
void vector_filter::allow(std::string_view id) { set(file_->find_slot(id), 1); }
void vector_filter::refuse(std::int64_t id) { set(file_->find_slot(id), 0); }
void vector_filter::refuse(std::string_view id) { set(file_->find_slot(id), 0); }

auto vector_file::id_type() const noexcept -> value_type {
  return texts_ == nullptr ? value_type::integer : value_type::string;
}

auto vector_file::text(std::int64_t id) const noexcept -> std::string_view {
  const auto at = static_cast<std::size_t>(id);
  const std::uint64_t begin = at == 0 ? 0 : text_ends_[at - 1];
  return {texts_ + begin, text_ends_[at] - begin};
}

auto vector_file::dimensions() const noexcept -> std::uint32_t { return read_header(bytes_).dimensions; }
auto vector_file::size() const noexcept -> std::uint64_t { return read_header(bytes_).count; }
auto vector_file::lists() const noexcept -> std::uint32_t { return read_header(bytes_).lists; }
auto vector_file::seed() const noexcept -> std::uint64_t { return read_header(bytes_).seed; }
auto vector_file::graph() const noexcept -> std::optional<vector_graph> {
  const vector_header header = read_header(bytes_);
  if (!header.has_graph()) return std::nullopt;
  return vector_graph{.m = header.m,
                      .ef_construction = header.ef_construction,
                      .metric = static_cast<vector_metric>(header.metric),
                      .seed = header.seed};
}
auto vector_file::digest() const -> std::string { return digest_text(read_header(bytes_)); }

void vector_file::for_each(const std::function<void(std::int64_t, std::string_view)>& visit) const {
  for (const list_entry& list : lists_)
    for (std::uint64_t slot = list.first; slot < list.first + list.count; ++slot) visit(ids_[slot], read_slot(slot));
}

auto vector_file::read_slot(std::uint64_t slot) const -> std::string {
  std::string bytes;
  const std::uint32_t size = dimensions();
  const std::uint32_t block = read_header(bytes_).block;
  bytes.reserve(size * sizeof(float));
  for (std::uint32_t at = 0; at < size; ++at)
    static_cast<void>(append_vector_item(bytes, values_[detail::place_in_blocks(slot, at, size, block)]));
  return bytes;
}

}  // namespace rankd
