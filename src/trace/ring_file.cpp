// src/trace/ring_file.cpp: creates the file that contains the threads' rings, and stores names and loaded objects in
// it.
#include "ring_file.hpp"

#include "../platform/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace braid::detail {
namespace {

[[noreturn]] void fail_at(const std::string& path, int error) {
  throw std::system_error(error, std::generic_category(), path);
}

template <std::size_t Size>
void copy(std::string_view text, std::array<char, Size>& to) noexcept {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(to.data(), text.data(), length);
  std::memset(to.data() + length, 0, Size - length);
}

template <std::size_t Size>
void keep(std::uint64_t key, std::string_view text, kept_name<Size>& entry) noexcept {
  entry.key.store(0, relaxed);
  copy(text, entry.text);
  entry.key.store(key, release);  // edge ring_file.name: publish, a name that has its key is whole
}

}  // namespace

ring_file::ring_file(std::string path)
    : path_(std::move(path)), file_(create_file(path_.c_str(), file_access::read_and_write, true)) {
  if (file_ < 0) fail_at(path_, errno);
  void* const place = map_file(file_, 0, ring_file_layout::head);
  if (place == nullptr) {
    const int error = errno;
    ::close(file_);
    ::unlink(path_.c_str());
    fail_at(path_, error);
  }
  head_ = static_cast<ring_file_head*>(place);  // a new file is all zeros
  head_->version = ring_file_head::its_version;
  head_->ring_bytes = sizeof(thread_ring);
  head_->process = static_cast<std::uint64_t>(::getpid());
  copy_own_name(head_->process_name.data(), head_->process_name.size());
  head_->magic = ring_file_head::its_magic;
  note_objects();
}

auto ring_file::open_ring() noexcept -> thread_ring* {
  const bool is_new = free_.empty();
  const std::uint64_t number = is_new ? places_ : free_.back();
  void* const place = map_file(file_, ring_file_layout::head + number * ring_file_layout::ring, ring_file_layout::ring);
  if (place == nullptr) return nullptr;
  try {
    if (is_new) free_.reserve(places_ + 1);  // now, so that closing needs no memory
  } catch (const std::bad_alloc&) {
    unmap_file(place, ring_file_layout::ring);
    return nullptr;
  }
  is_new ? static_cast<void>(++places_) : free_.pop_back();
  auto* const made = ::new (place) thread_ring;
  made->place = number;
  copy_own_name(made->name.data(), made->name.size());
  made->is_open.store(1, release);  // edge ring_file.name: publish, a ring that is open is whole
  return made;
}

void ring_file::close_ring(thread_ring& ring) noexcept {
  const std::uint64_t number = ring.place;
  ring.is_open.store(0, relaxed);
  unmap_file(&ring, ring_file_layout::ring);
  free_.push_back(number);
}

void ring_file::add_task(std::uint64_t number, std::string_view name) noexcept {
  if (!name.empty()) keep(number, name, head_->tasks[tasks_++ % head_->tasks.size()]);
}

void ring_file::add_name(std::uint64_t address, std::string_view text) noexcept {
  keep(address, text, head_->names[names_++ % head_->names.size()]);
}

void ring_file::set_line(std::uint64_t first_ticks, std::uint64_t first_ns, double ns_per_tick) noexcept {
  head_->first_ticks = first_ticks;
  head_->first_ns = first_ns;
  head_->ns_per_tick = ns_per_tick;
}

void ring_file::note_objects() {
  const std::uint64_t loads = symbol_table::loads();
  if (loads == loads_) return;
  const std::vector<symbol_table::loaded> all = symbol_table::all_loaded();
  for (std::size_t at = 0; at < std::min(all.size(), head_->objects.size()); ++at) {
    kept_object& to = head_->objects[at];
    to.end.store(0, relaxed);
    to.begin = all[at].begin;
    to.base = all[at].base;
    copy(all[at].path, to.path);
    to.end.store(all[at].end, release);  // edge ring_file.name: publish, an object that has its end is whole
  }
  loads_ = loads;
}

auto ring_file::next_state() const noexcept -> std::size_t { return 1 - head_->commit.load(relaxed) % 2; }

void ring_file::commit(std::uint64_t file_bytes) noexcept {
  const std::size_t next = next_state();
  head_->file_bytes[next] = file_bytes;
  // edge ring_file.commit: publish this state of all rings to a reader of the file
  head_->commit.store(static_cast<std::uint32_t>(next), release);
}

void ring_file::remove() noexcept { ::unlink(path_.c_str()); }

}  // namespace braid::detail
