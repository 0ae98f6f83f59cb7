// python/native/module.cpp: the extension module: rankd's rankers for Python, without policy.
#include <rankd/embed/arrow_requests.hpp>
#include <rankd/embed/arrow_rows.hpp>
#include <rankd/embed/ranker.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace rankd::python {
namespace {

/// Raises rankd.RankdError. Requires the GIL.
[[noreturn]] void raise(const braid::diagnostics& problems, const std::string& request_id = {}) {
  nb::list all;
  for (const braid::diagnostic& each : problems) {
    nb::dict item;
    const std::pair<const char*, const std::string*> members[] = {{"code", &each.code}, {"pointer", &each.pointer},
                                                                  {"node", &each.node}, {"message", &each.message},
                                                                  {"hint", &each.hint}, {"source", &each.source}};
    for (const auto& [name, text] : members) item[name] = nb::str(text->data(), text->size());
    all.append(item);
  }
  const nb::object type = nb::module_::import_("rankd._errors").attr("RankdError");
  const nb::object error = type(all, request_id);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

/// Returns the error of a plan that ran as a diagnostic.
auto diagnostics_of(const rank_error& error) -> braid::diagnostics {
  return braid::diagnostics({.code = error.code,
                             .pointer = error.pointer,
                             .message = error.message,
                             .hint = {},
                             .node = error.node,
                             .source = {}});
}

/// Wraps a struct of the Arrow C data interface in a capsule that releases it unless its receiver has moved it.
template <typename Struct>
auto capsule(std::unique_ptr<Struct> value, const char* name) -> nb::object {
  PyObject* const made = PyCapsule_New(value.get(), name, [](PyObject* self) {
    const char* const own = PyCapsule_GetName(self);
    auto* const kept = static_cast<Struct*>(PyCapsule_GetPointer(self, own));
    if (kept->release != nullptr) kept->release(kept);
    delete kept;
  });
  if (made == nullptr) throw nb::python_error();
  static_cast<void>(value.release());
  return nb::steal(made);
}

auto schema_capsule(const arrow_column& from) -> nb::object {
  auto out = std::make_unique<ArrowSchema>();
  export_schema(from, *out);
  return capsule(std::move(out), "arrow_schema");
}

auto array_capsule(std::shared_ptr<const arrow_column> from) -> nb::object {
  auto out = std::make_unique<ArrowArray>();
  export_array(std::move(from), *out);
  return capsule(std::move(out), "arrow_array");
}

auto stream_capsule(std::shared_ptr<const arrow_column> from) -> nb::object {
  auto out = std::make_unique<ArrowArrayStream>();
  export_stream(std::move(from), *out);
  return capsule(std::move(out), "arrow_array_stream");
}

/// Returns the text of a str or of bytes. Requires the GIL.
auto text_of(PyObject* from) -> std::string {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_Check(from)) {
    if (PyBytes_AsStringAndSize(from, &data, &size) != 0) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
  }
  const char* const text = PyUnicode_AsUTF8AndSize(from, &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

/// One answer, whose rows are copied into the layout of Arrow when they are first asked for.
class answer {
 public:
  explicit answer(rank_answer from) : from_(std::move(from)) {}

  [[nodiscard]] auto json() const -> std::string { return to_json(from_); }
  [[nodiscard]] auto schema() -> nb::object { return schema_capsule(*rows()); }
  [[nodiscard]] auto array() -> nb::object { return array_capsule(rows()); }
  [[nodiscard]] auto stream() -> nb::object { return stream_capsule(rows()); }
  [[nodiscard]] auto size() const -> std::size_t { return from_.result->rows.size(); }

 private:
  auto rows() -> std::shared_ptr<const arrow_column> {
    if (rows_ == nullptr)
      rows_ = std::make_shared<const arrow_column>(arrow_columns(from_.result->rows, from_.result->fields));
    return rows_;
  }

  rank_answer from_;
  std::shared_ptr<const arrow_column> rows_;
};

/// The answers to many requests as a table with the columns line, code and answer, which grows by one batch at a time.
class answers {
 public:
  answers() {
    ends_.resize(sizeof(std::int64_t));
    code_ends_.resize(sizeof(std::int64_t));
  }

  /// Adds the number of the line of a request that will be answered.
  void expect(std::int64_t line) { append(numbers_, line); }

  /// Adds answers, in the order of the requests.
  void add(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      ++count_;
      texts_ += line;
      append(ends_, static_cast<std::int64_t>(texts_.size()));
      codes_ += code_of(line);
      append(code_ends_, static_cast<std::int64_t>(codes_.size()));
      text.remove_prefix(line.size() + 1);
    }
  }

  void finish() {
    const auto column = [this](std::string name, std::string format, std::vector<std::string> buffers) {
      return arrow_column{.name = std::move(name),
                          .format = std::move(format),
                          .has = arrow_column::nulls::none,
                          .length = count_,
                          .buffers = std::move(buffers)};
    };
    arrow_column all{
        .name = {}, .format = "+s", .has = arrow_column::nulls::none, .length = count_, .buffers = {std::string()}};
    all.children.push_back(column("line", "l", {std::string(), std::move(numbers_)}));
    all.children.push_back(column("code", "U", {std::string(), std::move(code_ends_), std::move(codes_)}));
    all.children.push_back(column("answer", "U", {std::string(), std::move(ends_), std::move(texts_)}));
    table_ = std::make_shared<const arrow_column>(std::move(all));
  }

  [[nodiscard]] auto size() const -> std::int64_t { return count_; }
  [[nodiscard]] auto line(std::int64_t at) const -> std::string_view { return text(2, at); }
  [[nodiscard]] auto code(std::int64_t at) const -> std::string_view { return text(1, at); }
  [[nodiscard]] auto schema() const -> nb::object { return schema_capsule(*table_); }
  [[nodiscard]] auto stream() const -> nb::object { return stream_capsule(table_); }

 private:
  static void append(std::string& out, std::int64_t value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  /// An error begins with its code, in which nothing is escaped.
  static auto code_of(std::string_view line) -> std::string_view {
    constexpr std::string_view start = R"({"error":{"code":")";
    if (!line.starts_with(start)) return "ok";
    line.remove_prefix(start.size());
    return line.substr(0, line.find('"'));
  }

  [[nodiscard]] auto text(std::size_t column, std::int64_t at) const -> std::string_view {
    if (at < 0 || at >= count_) throw nb::index_error("there is no such answer");
    const auto& buffers = table_->children[column].buffers;
    const auto* const ends = reinterpret_cast<const std::int64_t*>(buffers[1].data());
    return std::string_view(buffers[2])
        .substr(static_cast<std::size_t>(ends[at]), static_cast<std::size_t>(ends[at + 1] - ends[at]));
  }

  std::int64_t count_ = 0;
  std::string numbers_;
  std::string texts_;
  std::string ends_;
  std::string codes_;
  std::string code_ends_;
  std::shared_ptr<const arrow_column> table_;
};

/// Requests from an iterator of str and bytes. Requires the GIL for all calls but `next`, which takes it.
class iterated_requests {
 public:
  explicit iterated_requests(nb::object from) : from_(std::move(from)) {}

  auto next() -> braid::checked<std::vector<batch_line>> {
    const nb::gil_scoped_acquire held;
    std::vector<batch_line> lines;
    while (lines.size() < batch_runner::max_lines) {
      PyObject* const item = PyIter_Next(from_.ptr());
      if (item == nullptr) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        break;
      }
      const nb::object owned = nb::steal(item);
      lines.push_back({.number = ++count_, .text = text_of(item), .unreadable = {}});
    }
    return lines;
  }

 private:
  nb::object from_;
  std::uint64_t count_ = 0;
};

/// Requests from a stream of Arrow, which is read without the GIL.
class streamed_requests {
 public:
  /// Moves the stream out of its capsule.
  explicit streamed_requests(const nb::object& from) {
    auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(from.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw nb::python_error();
    stream_ = std::exchange(*stream, ArrowArrayStream{});
    check(stream_.get_schema(&stream_, &type_));
    if (auto right = check_request_type(type_); !right) {
      problems_ = std::move(right.error());
    }
  }
  streamed_requests(const streamed_requests&) = delete;
  auto operator=(const streamed_requests&) -> streamed_requests& = delete;
  ~streamed_requests() {
    if (rows_.release != nullptr) rows_.release(&rows_);
    if (type_.release != nullptr) type_.release(&type_);
    if (stream_.release != nullptr) stream_.release(&stream_);
  }

  auto next() -> braid::checked<std::vector<batch_line>> {
    if (!problems_.empty()) return std::unexpected(problems_);
    std::vector<batch_line> lines;
    while (lines.size() < batch_runner::max_lines) {
      while (!at_end_ && at_ == rows_.length) read();
      if (at_end_) break;
      const std::int64_t line = request_line(type_, rows_, at_).value_or(++count_);
      lines.push_back(
          {.number = static_cast<std::uint64_t>(line), .text = request_text(type_, rows_, at_++), .unreadable = {}});
    }
    return lines;
  }

 private:
  void read() {
    if (rows_.release != nullptr) rows_.release(&rows_);
    rows_ = {};
    check(stream_.get_next(&stream_, &rows_));
    at_ = 0;
    at_end_ = rows_.release == nullptr;
  }

  void check(int status) {
    if (status == 0) return;
    const char* const why = stream_.get_last_error(&stream_);
    throw std::runtime_error(why != nullptr ? why : "the stream of requests cannot be read");
  }

  ArrowArrayStream stream_{};
  ArrowSchema type_{};
  ArrowArray rows_{};
  std::int64_t at_ = 0;
  std::int64_t count_ = 0;
  bool at_end_ = false;
  braid::diagnostics problems_;
};

/// A ranker that can be closed while others use it.
class shared_ranker {
 public:
  shared_ranker(const std::string& project, std::string plan, std::string environment, unsigned threads,
                std::string store) {
    auto made = [&] {
      const nb::gil_scoped_release released;
      return ranker::open({.project = project,
                           .plan = std::move(plan),
                           .choice = {.environment = std::move(environment), .store = std::move(store)},
                           .workers = threads});
    }();
    if (!made) raise(made.error());
    ranker_ = std::move(*made);
  }

  /// Python may destroy it anywhere: threads end without the GIL.
  ~shared_ranker() { close(); }
  shared_ranker(const shared_ranker&) = delete;
  auto operator=(const shared_ranker&) -> shared_ranker& = delete;

  void close() {
    std::shared_ptr<ranker> last = std::move(ranker_);
    const nb::gil_scoped_release released;
    last.reset();
  }

  [[nodiscard]] auto is_closed() const -> bool { return ranker_ == nullptr; }

  auto rank(const nb::object& text, const std::string& plan) -> answer {
    return one(text, [&](ranker& with, std::string_view request) { return with.rank(request, {.plan = plan}); });
  }

  auto explain(const nb::object& text, const std::vector<std::string>& ids, const std::string& plan) -> answer {
    return one(text,
               [&](ranker& with, std::string_view request) { return with.explain(request, ids, {.plan = plan}); });
  }

  auto rank_iterator(const nb::object& requests, const std::string& plan, unsigned threads, bool allow_degraded)
      -> std::unique_ptr<answers> {
    return many(iterated_requests(requests), plan, threads, allow_degraded);
  }

  auto rank_stream(const nb::object& requests, const std::string& plan, unsigned threads, bool allow_degraded)
      -> std::unique_ptr<answers> {
    return many(streamed_requests(requests), plan, threads, allow_degraded);
  }

  auto plans() -> std::string {
    return without_gil([](ranker& with) { return with.plans(); }, [](const plan_list& all) { return to_json(all); });
  }

  auto validate(const std::vector<std::string>& names) -> std::string {
    return without_gil([&names](ranker& with) { return with.validate(names); },
                       [](const std::vector<plan_verdict>& all) { return to_json(all); });
  }

  void reload() {
    const auto done = [this] {
      const auto with = open();
      const nb::gil_scoped_release released;
      return with->reload();
    }();
    if (!done) raise(done.error());
  }

  [[nodiscard]] auto project() -> std::string { return open()->project()->where.root.string(); }

 private:
  auto open() -> std::shared_ptr<ranker> {
    if (ranker_ == nullptr) raise(make_diagnostic("closed", "this Ranker is closed", "open another one"));
    return ranker_;
  }

  template <typename Call>
  auto one(const nb::object& text, Call call) -> answer {
    auto with = open();
    const std::string request = text_of(text.ptr());
    rank_answer got = [&] {
      const nb::gil_scoped_release released;
      rank_answer made = call(*with, request);
      with.reset();  // may be the last owner, if the ranker was closed meanwhile
      return made;
    }();
    if (!got.result) raise(got.problems, got.request_id);
    if (got.result->error) raise(diagnostics_of(*got.result->error), got.result->request_id);
    return answer(std::move(got));
  }

  template <typename Call, typename Write>
  auto without_gil(Call call, Write write) -> std::string {
    const auto with = open();
    const auto made = [&] {
      const nb::gil_scoped_release released;
      return call(*with);
    }();
    if (!made) raise(made.error());
    return write(*made);
  }

  template <typename Source>
  auto many(Source source, const std::string& plan, unsigned threads, bool allow_degraded) -> std::unique_ptr<answers>;

  std::shared_ptr<ranker> ranker_;
};

template <typename Source>
auto shared_ranker::many(Source source, const std::string& plan, unsigned threads, bool allow_degraded)
    -> std::unique_ptr<answers> {
  auto out = std::make_unique<answers>();
  std::exception_ptr raised;
  auto with = open();
  // An exception of Python is kept until the threads have ended.
  const auto stopped = [] { return refused("interrupted", "the batch was interrupted"); };
  const line_source lines = [&]() -> braid::checked<std::vector<batch_line>> {
    try {
      auto read = source.next();
      if (read)
        for (const batch_line& each : *read) out->expect(static_cast<std::int64_t>(each.number));
      return read;
    } catch (...) {
      raised = std::current_exception();
      return stopped();
    }
  };
  const auto is_interrupted = [&raised] {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    try {
      throw nb::python_error();
    } catch (...) {
      raised = std::current_exception();
    }
    return true;
  };
  const auto done = [&] {
    const nb::gil_scoped_release released;
    many_options how{.plan = plan,
                     .fallbacks = allow_degraded ? time_fallbacks::allowed : time_fallbacks::refused,
                     .is_interrupted = is_interrupted};
    if (threads != 0) how.workers = threads;
    auto ended = with->rank_many(
        lines,
        [&out](const batch_answers& piece) -> braid::checked<void> {
          out->add(piece.text);
          return {};
        },
        how);
    out->finish();
    with.reset();
    return ended;
  }();
  if (raised) std::rethrow_exception(raised);
  if (!done) raise(done.error());
  return out;
}

auto to_str(std::string_view text) -> nb::str { return nb::str(text.data(), text.size()); }

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native part of rankd; use the package `rankd` instead.";

  nb::class_<answer>(module, "Answer")
      .def_prop_ro("json", [](const answer& self) { return to_str(self.json()); })
      .def("schema", &answer::schema)
      .def("array", &answer::array)
      .def("stream", &answer::stream)
      .def("__len__", &answer::size);

  nb::class_<answers>(module, "Answers")
      .def("__len__", &answers::size)
      .def("line", [](const answers& self, std::int64_t at) { return to_str(self.line(at)); })
      .def("code", [](const answers& self, std::int64_t at) { return to_str(self.code(at)); })
      .def("schema", &answers::schema)
      .def("stream", &answers::stream);

  nb::class_<shared_ranker>(module, "Ranker")
      .def(nb::init<const std::string&, std::string, std::string, unsigned, std::string>())
      .def("rank", &shared_ranker::rank)
      .def("explain", &shared_ranker::explain)
      .def("rank_iterator", &shared_ranker::rank_iterator)
      .def("rank_stream", &shared_ranker::rank_stream)
      .def("plans", [](shared_ranker& self) { return to_str(self.plans()); })
      .def("validate",
           [](shared_ranker& self, const std::vector<std::string>& names) { return to_str(self.validate(names)); })
      .def("reload", &shared_ranker::reload)
      .def("close", &shared_ranker::close)
      .def_prop_ro("closed", &shared_ranker::is_closed)
      .def_prop_ro("project", &shared_ranker::project);
}

}  // namespace rankd::python
