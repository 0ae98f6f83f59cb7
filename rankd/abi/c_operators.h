// rankd/abi/c_operators.h: the interface between rankd and a library of operators. It is in C, so rankd and the library
// may use different compilers.
//
// A library is a shared object with the function `rankd_operators` below. rankd loads it at startup and keeps it loaded
// until the process ends. For operators in C++, use rankd/abi/operators.hpp, which implements this interface; most
// libraries need nothing else.
//
// Threads: `bind`, `run` and `release` are called from any thread. `run` is called for the same state from several
// threads at once. Pointers passed to a function are valid until it returns, unless a comment says otherwise.
// Errors: a function that fails calls `fail` and returns a number other than 0. No exception may leave a function.
// Lifetime: the data that `rankd_operators` returns is never changed or freed.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface, which increases with each change of this file. rankd accepts libraries of this
/// version and of version 1, and refuses all others. Members added in version 2 are at the ends of structs and marked
/// as such.
#define RANKD_OPERATOR_ABI 2U

/// A text in UTF-8, without a zero byte at the end.
typedef struct rankd_text {
  const char* data;
  uint64_t size;
} rankd_text;

/// Kinds of options.
enum {
  RANKD_OPTION_INT = 0,
  RANKD_OPTION_FLOAT = 1,
  RANKD_OPTION_BOOL = 2,
  RANKD_OPTION_TEXT = 3,
  RANKD_OPTION_CHOICE = 4,      ///< one of `choices`
  RANKD_OPTION_READ_KEY = 5,    ///< a column that is read
  RANKD_OPTION_READ_KEYS = 6,   ///< several of them
  RANKD_OPTION_WRITE_KEY = 7,   ///< a column that is written
  RANKD_OPTION_WRITE_KEYS = 8,  ///< several of them
  RANKD_OPTION_INPUT = 9,       ///< the rows of another node; since 2
};

/// Types of columns. For an option that names keys, add the types that the option accepts.
enum {
  RANKD_TYPE_INT = 1,
  RANKD_TYPE_FLOAT = 2,
  RANKD_TYPE_TEXT = 4,
  RANKD_TYPE_BOOL = 8,
};

/// The effect of an operator on its input rows. An operator with any effect may write columns. The first four effects
/// apply to the rows of the first input. The rows of other inputs are only read.
enum {
  RANKD_KEEPS_ROWS = 0,    ///< the same rows in the same order
  RANKD_FILTERS_ROWS = 1,  ///< some of them, in the same order
  RANKD_ORDERS_ROWS = 2,   ///< all of them, in another order
  RANKD_SELECTS_ROWS = 3,  ///< some of them, in any order
  RANKD_MAKES_ROWS = 4,    ///< rows of its own, with the columns that it writes; since 2
  RANKD_MERGES_ROWS = 5,   ///< rows of any inputs, with the columns of all, and rows of its own; since 2
};

/// The value of `rankd_origin::input` for a row that is not taken from an input.
#define RANKD_NO_INPUT 0xFFFFFFFFU

/// One option of an operator. Plans can set its value.
typedef struct rankd_option {
  const char* name;  ///< lower-case letters, digits and `_`, a letter in front; not `trace`
  uint32_t kind;
  uint32_t types;     ///< of keys
  uint32_t required;  ///< 1: every plan gives it
  uint32_t bindable;  ///< 1: of an int or a float; a param of the request may give the value
  int64_t int_min;    ///< of an int, both ends included
  int64_t int_max;
  double float_min;  ///< of a float, both ends included
  double float_max;
  uint32_t min_items;  ///< of several keys
  uint32_t choice_count;
  const char* const* choices;
} rankd_option;

/// The value of an option in one node. A field that the kind of option does not use is zero.
typedef struct rankd_value {
  uint32_t given;        ///< 0: the plan does not give it; of an input that is all there is
  uint32_t per_request;  ///< 1: each request gives the value; `bind` sees none
  int64_t integer;       ///< an int; of a bool 0 or 1; of a choice its position
  double number;
  rankd_text text;
  uint32_t first_column;  ///< of keys: the position of the first one among `reads` or `writes`
  uint32_t column_count;
} rankd_value;

/// The name and type of a column, without values.
typedef struct rankd_key {
  rankd_text name;
  uint32_t type;
  uint32_t nullable;
} rankd_key;

/// The data for binding a node.
typedef struct rankd_binding {
  const rankd_value* options;  ///< one for each option of the operator, in its order
  const rankd_key* reads;      ///< those of all options, one behind the other
  const rankd_key* writes;
  uint32_t option_count;
  uint32_t read_count;
  uint32_t write_count;
  uint32_t id_type;  ///< RANKD_TYPE_INT or RANKD_TYPE_TEXT
  void* host;
  /// Reports an error in the option at position `option`, or in the node as a whole if the position is `option_count`.
  void (*fail)(void* host, uint32_t option, rankd_text sentence);
} rankd_binding;

/// The values of an input column, one for each row, in the order of the rows.
typedef struct rankd_column {
  /// An array of int64_t, double, rankd_text, or uint8_t that is 0 or 1. The value under a null is unspecified.
  const void* values;
  const uint64_t* valid;  ///< a bit for each row, the lowest of a word first; clear for null. Null: no row is null.
  uint32_t type;
} rankd_column;

/// A column to write. All its rows are null, and its values zero, until the library sets bits of `valid`.
typedef struct rankd_written {
  void* values;  ///< as of rankd_column; texts must live until `run` returns
  uint64_t* valid;
  uint32_t type;
} rankd_written;

/// The rows of one input.
typedef struct rankd_input {
  uint64_t rows;
  rankd_column id;
  const rankd_column* reads;  ///< all that the operator reads: null in every row where the input has no such column
} rankd_input;

/// The input that an output row is taken from, and the row's position in this input.
typedef struct rankd_origin {
  uint32_t input;  ///< RANKD_NO_INPUT until it is set: a row of the operator's own, which needs an id
  uint32_t row;
} rankd_origin;

/// Memory for the output rows, in their order.
typedef struct rankd_made {
  rankd_written id;             ///< must be set for each row of the operator's own
  const rankd_written* writes;  ///< in the order of rankd_binding::writes
  rankd_origin* from;           ///< null where the operator does not merge rows
} rankd_made;

/// The data and functions that a node can use for one request.
typedef struct rankd_run {
  /// The rows, ids and columns of the first input. Without an input, there are no rows.
  uint64_t rows;
  rankd_column id;
  const rankd_column* reads;
  const rankd_written* writes;  ///< null where the operator makes or merges rows: `make` gives them
  const rankd_value* options;   ///< with the values of this request
  /// Memory for the positions of the rows to keep, one for each input row. Null if the operator keeps, makes or merges
  /// rows.
  uint32_t* order;
  /// The number of valid entries of `order`. An operator that filters, orders or selects rows must set it.
  uint64_t* kept;
  void* host;
  /// Allocates memory that lives as long as the request, aligned to 16 bytes. Returns null if the budget of the plan
  /// does not allow it.
  void* (*allocate)(void* host, uint64_t bytes);
  /// Reports why the node fails.
  void (*fail)(void* host, rankd_text sentence);
  /// Returns a number other than 0 if the answer is no longer needed. A long computation should call this function
  /// regularly and then return.
  int32_t (*stopped)(void* host);

  // Since version 2:
  // First the rows that the operator is called on, if any. Then, in the order of the options, the rows of each option
  // that is an input. An input that the plan omits has no rows.
  const rankd_input* inputs;
  /// Allocates the given number of output rows. An operator that makes or merges rows must call this function once.
  /// Returns null if the number is not allowed: `run` must then return, and the node fails.
  const rankd_made* (*make)(void* host, uint64_t rows);
} rankd_run;

/// An operator of a library: its name, its options and its functions.
typedef struct rankd_operator {
  const char* name;  ///< `namespace::name`, each of lower-case letters, digits and `_`; not of namespace `core`
  const char* doc;   ///< one sentence
  uint32_t effect;
  uint32_t option_count;
  const rankd_option* options;
  double row_cost_ns;  ///< a guess of what a row takes, by which rankd decides where the node runs
  /// Checks the options once, when a plan is loaded, and returns the state that `run` needs.
  int32_t (*bind)(const rankd_binding* with, void** state);
  int32_t (*run)(const void* state, const rankd_run* with);
  /// Frees the state that `bind` returned. Null if nothing must be freed.
  void (*release)(void* state);

  // Since version 2:
  uint32_t inputs;     ///< 1: plans call it on the rows of a node; 0: on none, of an operator that makes rows
  double run_cost_ns;  ///< a guess of what a run takes beside its rows
} rankd_operator;

/// The operators that a library offers.
typedef struct rankd_operator_library {
  uint32_t abi;  ///< RANKD_OPERATOR_ABI, in this place for all time
  uint32_t operator_count;
  const rankd_operator* operators;
  const char* problem;  ///< null, or a sentence: why it offers nothing
} rankd_operator_library;

/// Returns the operators of the library. This is the only symbol that a library must export.
const rankd_operator_library* rankd_operators(void);

#ifdef __cplusplus
}
#endif
