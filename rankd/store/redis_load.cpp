// rankd/store/redis_load.cpp: checks the files in a first pass, and sends their records in a second pass.
#include <rankd/store/redis_load.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/store/detail/load_mark.hpp>
#include <rankd/store/detail/redis_failure.hpp>
#include <rankd/store/line_reader.hpp>
#include <rankd/store/record.hpp>
#include <rankd/store/record_parser.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t progress_step = std::uint64_t{1} << 20U;
constexpr auto patience = std::chrono::seconds(60);       ///< with a server that is writing to its disk, say
constexpr auto first_patience = std::chrono::seconds(5);  ///< with a server that has not answered yet
constexpr std::size_t max_words = 1'000;                  ///< maximum words of a command, so that commands stay short

auto unreadable(const fs::path& file, std::error_code error) -> braid::diagnostics {
  return make_diagnostic("data_unreadable", "the file cannot be read: " + error.message(), {}, file);
}

/// Reads records from the lines of several files, beginning at a given position.
class record_source {
 public:
  record_source(std::span<const fs::path> files, std::uint32_t file, line_position start, vector_lengths vectors = {})
      : files_(files), file_(file), line_(start), parser_(std::move(vectors)) {}

  /// Returns the next record, or nothing after the last file. May be called again after diagnostics about a line.
  auto next() -> braid::checked<std::optional<parsed_record>>;

  /// Returns the file that contains the position after the record that was returned last.
  [[nodiscard]] auto file() const noexcept -> std::uint32_t { return file_; }
  [[nodiscard]] auto line() const noexcept -> line_position { return line_; }

 private:
  auto open() -> braid::checked<void>;
  void end_file() {
    reader_.reset();
    ++file_;
    line_ = {};
  }

  std::span<const fs::path> files_;
  std::uint32_t file_;
  line_position line_;
  std::optional<line_reader> reader_;
  record_parser parser_;
};

auto record_source::open() -> braid::checked<void> {
  auto opened = line_reader::open(files_[file_], line_);
  if (opened) {
    reader_.emplace(std::move(*opened));
    return {};
  }
  braid::diagnostics why = unreadable(files_[file_], opened.error());
  end_file();
  return std::unexpected(std::move(why));
}

auto record_source::next() -> braid::checked<std::optional<parsed_record>> {
  while (file_ < files_.size()) {
    if (!reader_)
      if (auto opened = open(); !opened) return std::unexpected(std::move(opened.error()));
    const auto line = reader_->next();
    if (!line || !*line) {
      const std::uint32_t ended = file_;
      end_file();
      if (!line) return std::unexpected(unreadable(files_[ended], line.error()));
      continue;
    }
    auto parsed = parser_.parse(**line, file_);
    line_ = reader_->position();
    if (!parsed) {
      parsed.error().set_source(files_[file_].string());
      return std::unexpected(std::move(parsed.error()));
    }
    if (*parsed) return *parsed;
  }
  return std::nullopt;
}

/// Checks all files together. Called before any record is sent.
class data_check {
 public:
  data_check(std::span<const fs::path> files, const redis_load_options& options)
      : files_(files), vectors_(&options.vectors), seen_(&options.seen) {}

  auto run(const std::function<void(std::uint64_t)>& done_bytes) -> braid::checked<void>;
  [[nodiscard]] auto total_bytes() const noexcept -> std::uint64_t { return total_; }
  /// Returns the number of bytes in all files before a position.
  [[nodiscard]] auto bytes_before(std::uint32_t file, line_position line) const -> std::uint64_t {
    return (file == 0 ? 0 : ends_[file - 1]) + line.bytes;
  }

 private:
  void measure();
  void look_at(const parsed_record& record);

  std::span<const fs::path> files_;
  const vector_lengths* vectors_;
  const record_viewer* seen_;
  std::vector<std::uint64_t> ends_;
  std::uint64_t total_ = 0;
  std::unordered_map<std::string, record_origin> keys_;
  braid::diagnostics diagnostics_;
};

void data_check::measure() {
  for (const fs::path& file : files_) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(file, error);
    if (error) diagnostics_.append(unreadable(file, error));
    total_ += error ? 0 : size;
    ends_.push_back(total_);
  }
}

void data_check::look_at(const parsed_record& record) {
  const record_origin here = record.origin;
  if (*seen_ && !record.deletes()) (*seen_)(record.key, *record_view::parse(record.bytes));
  const auto report = [&](std::string_view code, std::string_view message, std::string_view hint) {
    braid::diagnostics problem(line_diagnostic(here.line, code, "", message, hint));
    problem.set_source(files_[here.file].string());
    diagnostics_.append(std::move(problem));
  };
  if (record.key == redis_load_key)
    return report("reserved_key", "the key `" + std::string(record.key) + "` is reserved for the progress of loads",
                  "");
  const auto [known, is_new] = keys_.emplace(record.key, here);
  if (is_new) return;
  std::string message =
      "the key `" + std::string(record.key) + "` is already in line " + std::to_string(known->second.line);
  if (known->second.file != here.file) message += " of " + files_[known->second.file].string();
  report("duplicate_key", message, "each key may occur only once in a load; combine the two lines");
}

auto data_check::run(const std::function<void(std::uint64_t)>& done_bytes) -> braid::checked<void> {
  measure();
  if (!diagnostics_.empty()) return std::unexpected(diagnostics_);
  record_source source(files_, 0, {}, *vectors_);
  std::uint64_t reported = 0;
  while (diagnostics_.size() < max_load_diagnostics) {
    auto record = source.next();
    if (record && !*record) break;
    if (record)
      look_at(**record);
    else
      diagnostics_.append(std::move(record.error()));
    const std::uint64_t done = bytes_before(source.file(), source.line());
    if (done - reported < progress_step) continue;
    reported = done;
    done_bytes(done);
  }
  if (diagnostics_.size() >= max_load_diagnostics)
    diagnostics_.append(make_diagnostic("too_many_diagnostics", "the rest of the data was not read", {},
                                        files_[std::min<std::size_t>(source.file(), files_.size() - 1)]));
  if (!diagnostics_.empty()) return std::unexpected(diagnostics_);
  keys_ = {};
  return {};
}

/// Appends the command arguments for one element of a value. Numeric arguments refer to texts in `digits`.
void append_element(const record_view& view, std::size_t index, std::vector<std::string>& digits,
                    std::vector<std::string_view>& words) {
  switch (view.kind()) {
    case record_kind::hash:
      words.push_back(view.field_at(index).name);
      words.push_back(view.field_at(index).value);
      break;
    case record_kind::sorted_set: {
      std::string& score = digits.emplace_back();
      append_json_number(score, view.score_at(index));
      words.push_back(score);
      words.push_back(view.text_at(index));
      break;
    }
    case record_kind::id_list: words.push_back(digits.emplace_back(std::to_string(view.id_at(index)))); break;
    default: words.push_back(view.text_at(index)); break;
  }
}

/// Adds commands that create a value under a key. Requires that the key does not exist.
void add_value(braid::redis_batch& batch, std::string_view key, const record_view& view) {
  std::vector<std::string> digits;  // never reallocated: it has room for a whole command
  digits.reserve(max_words);
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < view.count();) {
    digits.clear();
    words.assign({find_record_form(view.kind()).command, key});
    for (; at < view.count() && words.size() < max_words; ++at) append_element(view, at, digits, words);
    batch.add_words(words);
  }
}

/// Adds the command for a line that requests the deletion of a key or of its fields.
void add_deletion(braid::redis_batch& batch, const parsed_record& record) {
  std::vector<std::string_view> words{record.fields.empty() ? "DEL" : "HDEL", record.key};
  words.insert(words.end(), record.fields.begin(), record.fields.end());
  batch.add_words(words);
}

/// Adds the commands that set a key to exactly the value of a record.
void add_record(braid::redis_batch& batch, const parsed_record& record) {
  if (record.deletes()) return add_deletion(batch, record);
  batch.add("DEL", record.key);
  add_value(batch, record.key, *record_view::parse(record.bytes));
}

/// Returns a temporary key in the same slot of the cluster, under which a new value is built. Returns nothing if the
/// key contains a brace that would end the hash tag.
auto find_draft(std::string_view key) -> std::optional<std::string> {
  const std::string_view hashed = braid::detail::redis_hashed_part(key);
  if (hashed.contains('}')) return std::nullopt;
  return "rankd:new:{" + std::string(hashed) + "}" + std::string(key);
}

/// Adds the commands that replace a value in a cluster, which has no transactions. The change is atomic if there is a
/// temporary key for the new value.
void add_record_alone(braid::redis_batch& batch, const parsed_record& record) {
  if (record.deletes()) return add_deletion(batch, record);
  const record_view view = *record_view::parse(record.bytes);
  const auto draft = find_draft(record.key);
  if (!draft || view.count() == 0) return add_record(batch, record);
  batch.add("DEL", std::string_view(*draft));
  add_value(batch, *draft, view);
  batch.add("RENAME", std::string_view(*draft), record.key);
}

/// Sends records to Redis after all files were checked.
class sender {
 public:
  sender(const redis_address& server, std::span<const fs::path> files, const redis_load_options& options,
         const data_check& checked)
      : server_(&server), files_(files), options_(&options), checked_(&checked) {
    mark_.made_from = detail::load_sources(files, load_mode::merge, std::nullopt);
  }

  static auto run(sender& self, braid::loop& loop) -> braid::task<braid::checked<load_report>>;

 private:
  template <typename Redis>
  static auto resume(sender& self, Redis& redis) -> braid::task<braid::checked<void>>;
  template <typename Redis>
  static auto send(sender& self, Redis& redis) -> braid::task<braid::checked<load_report>>;
  template <typename Redis, typename Options>
  static auto run_with(sender& self, braid::loop& loop, Options curious, Options patient)
      -> braid::task<braid::checked<load_report>>;
  static auto commit(sender& self, braid::redis_connection& redis) -> braid::task<braid::checked<void>>;
  static auto commit(sender& self, braid::redis_cluster& redis) -> braid::task<braid::checked<void>>;
  auto fill(record_source& source) -> braid::checked<bool>;
  void end_piece(bool is_last);
  [[nodiscard]] auto refused(std::string_view code, const std::string& reason) const
      -> std::unexpected<braid::diagnostics>;
  template <typename Redis>
  [[nodiscard]] auto failed(std::error_code error, const Redis& redis) const -> std::unexpected<braid::diagnostics>;
  [[nodiscard]] auto bytes_done() const -> std::uint64_t { return checked_->bytes_before(mark_.file, mark_.line); }

  [[nodiscard]] auto first_error(std::span<const braid::resp_value> replies) const -> braid::checked<void>;

  const redis_address* server_;
  std::span<const fs::path> files_;
  const redis_load_options* options_;
  const data_check* checked_;
  detail::load_mark mark_;  ///< after the last record that was put into a batch
  braid::redis_batch batch_;
  bool is_last_ = false;    ///< the batch
  bool has_begun_ = false;  ///< the server has reported the progress of the load
  load_report report_;
};

auto sender::refused(std::string_view code, const std::string& reason) const -> std::unexpected<braid::diagnostics> {
  const std::string hint = has_begun_ ? "the next load of the same files continues from here"
                                      : "nothing was written: check that the server is reachable, that user and "
                                        "password are correct, and that the user may write";
  return rankd::refused(std::string(code), "the load failed: " + reason, hint, find_place(*server_));
}

template <typename Redis>
auto sender::failed(std::error_code error, const Redis& redis) const -> std::unexpected<braid::diagnostics> {
  const std::string_view text = redis.refusal_of(error);
  return refused(detail::redis_failure_code(error), text.empty() ? error.message() : detail::server_message(text));
}

/// If a load of the same files was interrupted, continues after the position that the interrupted load has reached.
template <typename Redis>
auto sender::resume(sender& self, Redis& redis) -> braid::task<braid::checked<void>> {
  braid::arena memory;
  const std::array<std::string_view, 2> words{"GET", redis_load_key};
  const auto reply = co_await redis.command(words, memory);
  if (!reply) co_return self.failed(reply.error(), redis);
  if (auto fine = self.first_error(std::span(&*reply, 1)); !fine) co_return fine;
  self.has_begun_ = true;
  const bool is_text = reply->type() == braid::resp_type::bulk_string;
  auto mark = is_text ? detail::parse_load_mark(reply->text()) : std::nullopt;
  if (!mark || mark->made_from != self.mark_.made_from || mark->file > self.files_.size()) co_return {};
  self.mark_ = std::move(*mark);
  self.report_.resumed_at = self.bytes_done();
  co_return {};
}

/// Adds records to a batch until the batch is large enough. Returns false if there are no more records.
auto sender::fill(record_source& source) -> braid::checked<bool> {
  batch_.clear();
  if (!server_->is_cluster()) batch_.add("MULTI");
  while (batch_.bytes().size() < options_->piece_bytes) {
    const auto record = source.next();
    if (!record) return refused("data_changed", "the files have changed while they were loaded");
    if (!*record) return false;
    server_->is_cluster() ? add_record_alone(batch_, **record) : add_record(batch_, **record);
    if (!(*record)->deletes()) ++mark_.records;
    mark_.file = source.file();
    mark_.line = source.line();
  }
  return true;
}

void sender::end_piece(bool is_last) {
  is_last_ = is_last;
  if (server_->is_cluster()) return;
  if (is_last)
    batch_.add("DEL", redis_load_key);
  else
    batch_.add("SET", redis_load_key, std::string_view(detail::to_text(mark_)));
  batch_.add("EXEC");
}

auto sender::commit(sender& self, braid::redis_connection& redis) -> braid::task<braid::checked<void>> {
  braid::arena memory;
  const auto replies = co_await redis.run(self.batch_, memory);
  if (!replies) co_return self.failed(replies.error(), redis);
  if (auto fine = self.first_error(*replies); !fine) co_return fine;
  const braid::resp_value& done = replies->back();
  if (done.type() != braid::resp_type::array) co_return self.failed(braid::redis_errc::unexpected_reply, redis);
  co_return self.first_error(done.items());
}

/// Sends the values first, and then the progress. If the load is interrupted in between, the next load sends these
/// values again.
auto sender::commit(sender& self, braid::redis_cluster& redis) -> braid::task<braid::checked<void>> {
  braid::arena memory;
  if (!self.batch_.empty()) {
    auto sending = redis.run(self.batch_, memory);
    const auto replies = co_await std::move(sending);
    if (!replies) co_return self.failed(replies.error(), redis);
    if (auto fine = self.first_error(*replies); !fine) co_return fine;
  }
  const std::string mark = detail::to_text(self.mark_);
  std::vector<std::string_view> words{"SET", redis_load_key, mark};
  if (self.is_last_) words = {"DEL", redis_load_key};
  auto marking = redis.command(words, memory);
  const auto marked = co_await std::move(marking);
  if (!marked) co_return self.failed(marked.error(), redis);
  co_return self.first_error(std::span(&*marked, 1));
}

auto sender::first_error(std::span<const braid::resp_value> replies) const -> braid::checked<void> {
  for (const braid::resp_value& each : replies) {
    if (!each.is_error()) continue;
    const std::error_code why = braid::detail::parse_redis_error(each.text());
    return refused(detail::redis_failure_code(why), detail::server_message(each.text()));
  }
  return {};
}

template <typename Redis>
auto sender::send(sender& self, Redis& redis) -> braid::task<braid::checked<load_report>> {
  record_source source(self.files_, self.mark_.file, self.mark_.line);
  for (bool more = true; more;) {
    const auto filled = self.fill(source);
    if (!filled) co_return std::unexpected(filled.error());
    more = *filled;
    const bool same = more || detail::load_sources(self.files_, load_mode::merge, std::nullopt) == self.mark_.made_from;
    if (!same) co_return self.refused("data_changed", "the files have changed while they were loaded");
    self.end_piece(!more);
    auto committing = commit(self, redis);
    if (auto done = co_await std::move(committing); !done) co_return std::unexpected(std::move(done.error()));
    if (self.options_->progress)
      self.options_->progress(
          {load_stage::switching, self.checked_->total_bytes() + self.bytes_done(), 2 * self.checked_->total_bytes()});
  }
  self.report_.records = self.mark_.records;
  co_return self.report_;
}

/// Reads the progress with a short timeout, because a reachable server answers soon. Then sends the data with a long
/// timeout.
template <typename Redis, typename Options>
auto sender::run_with(sender& self, braid::loop& loop, Options curious, Options patient)
    -> braid::task<braid::checked<load_report>> {
  {
    Redis first(loop, std::move(curious));
    auto beginning = resume(self, first);
    if (auto begun = co_await std::move(beginning); !begun) co_return std::unexpected(std::move(begun.error()));
  }
  Redis redis(loop, std::move(patient));
  auto sending = send(self, redis);
  co_return co_await std::move(sending);
}

auto sender::run(sender& self, braid::loop& loop) -> braid::task<braid::checked<load_report>> {
  redis_address patient = *self.server_;
  patient.request_timeout = patience;
  patient.silence = patience;
  redis_address curious = patient;
  curious.request_timeout = first_patience;
  if (patient.is_cluster())
    return run_with<braid::redis_cluster>(self, loop, curious.as_cluster(), patient.as_cluster());
  return run_with<braid::redis_connection, braid::redis_options>(self, loop, curious, patient);
}

auto run_and_stop(sender& work, braid::loop& loop, braid::outcome<braid::checked<load_report>>& ended)
    -> braid::task<void> {
  auto running = sender::run(work, loop);
  ended = co_await braid::as_outcome(std::move(running));
  loop.stop();
}

}  // namespace

auto load_redis(const redis_address& server, std::span<const fs::path> files, const redis_load_options& options)
    -> braid::checked<load_report> {
  data_check checked(files, options);
  const auto reading = [&](std::uint64_t done) {
    if (options.progress) options.progress({load_stage::reading, done, 2 * checked.total_bytes()});
  };
  if (auto fine = checked.run(reading); !fine) return std::unexpected(std::move(fine.error()));
  if (options.refused)
    if (auto problems = options.refused(); !problems.empty()) return std::unexpected(std::move(problems));

  const auto on = braid::loop::create();
  if (!on) return refused("no_runtime", "no event loop can be started: " + on.error().message());
  sender work(server, files, options, checked);
  braid::outcome<braid::checked<load_report>> ended;
  (*on)->run([&] { (*on)->spawn(run_and_stop(work, **on, ended)); });
  return ended.take();
}

}  // namespace rankd
