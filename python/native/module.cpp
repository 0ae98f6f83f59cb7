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

#include <cxxabi.h>
#include <unistd.h>

namespace nb = nanobind;

namespace rankd::python {
namespace {

/// Calls Python, or asks for the GIL. While the interpreter ends, Python before 3.14 ends each other thread that asks
/// for the GIL by `pthread_exit`. That would unwind C++ code without the GIL, which aborts the process. Such a thread
/// waits here for the end of the process instead, as Python 3.14 does it.
template <typename Call>
auto outliving_python(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

/// A scope without the GIL.
class released_gil {
 public:
  released_gil() : state_(PyEval_SaveThread()) {}
  released_gil(const released_gil&) = delete;
  auto operator=(const released_gil&) -> released_gil& = delete;
  ~released_gil() {
    outliving_python([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// A scope with the GIL, in a thread that has released it.
class acquired_gil {
 public:
  acquired_gil() : state_(outliving_python([] { return PyGILState_Ensure(); })) {}
  acquired_gil(const acquired_gil&) = delete;
  auto operator=(const acquired_gil&) -> acquired_gil& = delete;
  ~acquired_gil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// Returns a str of a text for people. Bytes that are not UTF-8 are escaped, as in a file name. Requires the GIL.
auto readable(std::string_view text) -> nb::object {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

/// Raises rankd.RankdError. Requires the GIL.
[[noreturn]] void raise(const braid::diagnostics& problems, const std::string& request_id = {}) {
  nb::list all;
  for (const braid::diagnostic& each : problems) {
    nb::dict item;
    const std::pair<const char*, const std::string*> members[] = {{"code", &each.code}, {"pointer", &each.pointer},
                                                                  {"node", &each.node}, {"message", &each.message},
                                                                  {"hint", &each.hint}, {"source", &each.source}};
    for (const auto& [name, text] : members) item[name] = readable(*text);
    all.append(item);
  }
  const nb::object id = readable(request_id);
  outliving_python([&] {
    const nb::object type = nb::module_::import_("rankd._errors").attr("RankdError");
    const nb::object error = type(all, id);
    PyErr_SetObject(type.ptr(), error.ptr());
  });
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

auto text_of(const nb::bytes& from) -> std::string { return {from.c_str(), from.size()}; }

/// Returns the text of a str or of bytes. Surrogates in a str become bytes that are not UTF-8, which the engine
/// refuses. Requires the GIL.
auto text_of(PyObject* from) -> std::string {
  if (PyBytes_Check(from)) return text_of(nb::borrow<nb::bytes>(from));
  Py_ssize_t size = 0;
  if (const char* const text = PyUnicode_AsUTF8AndSize(from, &size); text != nullptr)
    return {text, static_cast<std::size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  PyObject* const bytes = PyUnicode_AsEncodedString(from, "utf-8", "surrogatepass");
  if (bytes == nullptr) throw nb::python_error();
  return text_of(nb::steal<nb::bytes>(bytes));
}

/// Returns the first diagnostic of a RankdError. Requires the GIL.
auto diagnostic_of(PyObject* error) -> braid::diagnostic {
  const auto member = [error](const char* name) { return text_of(nb::object(nb::borrow(error).attr(name)).ptr()); };
  return {.code = member("code"),
          .pointer = member("pointer"),
          .message = member("message"),
          .hint = member("hint"),
          .node = {},
          .source = {}};
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

/// Requests from an iterator of str and bytes, and of RankdErrors for requests that have no text. Requires the GIL for
/// all calls but `next`, which acquires it.
class iterated_requests {
 public:
  explicit iterated_requests(nb::object from) : from_(std::move(from)) {}

  auto next() -> braid::checked<std::vector<batch_line>> {
    const acquired_gil held;
    std::vector<batch_line> lines;
    while (lines.size() < batch_runner::max_lines) {
      PyObject* const item = outliving_python([this] { return PyIter_Next(from_.ptr()); });
      if (item == nullptr) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        break;
      }
      const nb::object owned = nb::steal(item);
      batch_line& line = lines.emplace_back(batch_line{.number = ++count_, .text = {}, .unreadable = {}});
      if (PyUnicode_Check(item) || PyBytes_Check(item))
        line.text = text_of(item);
      else
        line.unreadable = diagnostic_of(item);
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
    auto right = stream_.release == nullptr                  ? unreadable("it was read before")
                 : stream_.get_schema(&stream_, &type_) != 0 ? unreadable(last_error())
                                                             : check_request_type(type_);
    if (!right) problems_ = std::move(right.error());
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
      while (!at_end_ && at_ == rows_.length)
        if (auto done = read(); !done) return std::unexpected(std::move(done.error()));
      if (at_end_) break;
      const std::int64_t line = request_line(type_, rows_, at_).value_or(++count_);
      lines.push_back(
          {.number = static_cast<std::uint64_t>(line), .text = request_text(type_, rows_, at_++), .unreadable = {}});
    }
    return lines;
  }

 private:
  auto read() -> braid::checked<void> {
    if (rows_.release != nullptr) rows_.release(&rows_);
    rows_ = {};
    at_ = 0;
    if (stream_.get_next(&stream_, &rows_) != 0) return unreadable(last_error());
    at_end_ = rows_.release == nullptr;
    return {};
  }

  auto last_error() -> std::string {
    const char* const reason = stream_.get_last_error(&stream_);
    return reason != nullptr ? reason : "its producer gives no reason";
  }

  static auto unreadable(const std::string& reason) -> braid::checked<void> {
    return refused("requests_unreadable", "the table of requests cannot be read: " + reason);
  }

  ArrowArrayStream stream_{};
  ArrowSchema type_{};
  ArrowArray rows_{};
  std::int64_t at_ = 0;
  std::int64_t count_ = 0;
  bool at_end_ = false;
  braid::diagnostics problems_;
};

/// Runs the handlers of signals that have arrived. Returns true and stores the exception if a handler has raised one,
/// as that of Ctrl-C does.
auto take_signal(std::exception_ptr& raised) -> bool {
  const acquired_gil held;
  if (PyErr_CheckSignals() == 0) return false;
  try {
    throw nb::python_error();
  } catch (...) {
    raised = std::current_exception();
  }
  return true;
}

/// A ranker that can be closed while others use it.
class shared_ranker {
 public:
  shared_ranker(const nb::bytes& project, std::string plan, std::string environment, unsigned threads,
                const nb::bytes& store) {
    ranker_options options{.project = text_of(project),
                           .plan = std::move(plan),
                           .choice = {.environment = std::move(environment), .store = text_of(store)},
                           .workers = threads};
    auto made = [&] {
      const released_gil released;
      return ranker::open(std::move(options));
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
    const released_gil released;
    last.reset();
  }

  [[nodiscard]] auto is_closed() const -> bool { return ranker_ == nullptr; }

  auto rank(const nb::object& text, const std::string& plan) -> answer {
    return one(text, plan,
               [](ranker& with, std::string_view request, const rank_call& call) { return with.rank(request, call); });
  }

  auto explain(const nb::object& text, const std::vector<std::string>& ids, const std::string& plan) -> answer {
    return one(text, plan, [&ids](ranker& with, std::string_view request, const rank_call& call) {
      return with.explain(request, ids, call);
    });
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
      const released_gil released;
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
  auto one(const nb::object& text, const std::string& plan, Call call) -> answer {
    auto with = open();
    const std::string request = text_of(text.ptr());
    std::exception_ptr raised;
    rank_answer got = [&] {
      const released_gil released;
      rank_answer made =
          call(*with, request, {.plan = plan, .is_interrupted = [&raised] { return take_signal(raised); }});
      with.reset();  // may be the last owner, if the ranker was closed meanwhile
      return made;
    }();
    if (raised) std::rethrow_exception(raised);
    if (!got.result) raise(got.problems, got.request_id);
    if (got.result->error) raise(diagnostics_of(*got.result->error), got.result->request_id);
    return answer(std::move(got));
  }

  template <typename Call, typename Write>
  auto without_gil(Call call, Write write) -> std::string {
    const auto with = open();
    const auto made = [&] {
      const released_gil released;
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
  const auto done = [&] {
    const released_gil released;
    many_options how{.plan = plan,
                     .fallbacks = allow_degraded ? time_fallbacks::allowed : time_fallbacks::refused,
                     .is_interrupted = [&raised] { return take_signal(raised); }};
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
  nb::set_leak_warnings(false);  // daemon threads may hold objects when the process ends

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
      .def(nb::init<const nb::bytes&, std::string, std::string, unsigned, const nb::bytes&>())
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
      .def_prop_ro("project", [](shared_ranker& self) {
        const std::string folder = self.project();
        return nb::bytes(folder.data(), folder.size());
      });
}

}  // namespace rankd::python
