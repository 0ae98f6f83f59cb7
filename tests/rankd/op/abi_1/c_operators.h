// tests/rankd/op/abi_1/c_operators.h: version 1 of rankd/abi/c_operators.h, as libraries were built with it. It is not
// changed any more.
//
// A library is a shared object with the function `rankd_operators` below. rankd loads it when it starts and keeps it
// until it ends. rankd/abi/operators.hpp writes all of this for operators in C++; most libraries need nothing else.
//
// Threads: `bind`, `run` and `release` are called from any thread. `run` of one state is called from several
// threads at once. Pointers that a call hands over are valid until it returns, unless it says otherwise.
// Errors: a function that cannot go on calls `fail` and returns a number other than 0. No exception may leave it.
// Lifetime: what `rankd_operators` gives is never changed or freed.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Grows with each change of what stands here. rankd refuses a library of any other number.
#define RANKD_OPERATOR_ABI 1U

/// Bytes in UTF-8, without a zero at the end.
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
};

/// Types of columns; an option that names keys has the sum of those that it takes.
enum {
  RANKD_TYPE_INT = 1,
  RANKD_TYPE_FLOAT = 2,
  RANKD_TYPE_TEXT = 4,
  RANKD_TYPE_BOOL = 8,
};

/// What an operator does with the rows that it takes. Any of them may write columns.
enum {
  RANKD_KEEPS_ROWS = 0,    ///< the same rows in the same order
  RANKD_FILTERS_ROWS = 1,  ///< some of them, in the same order
  RANKD_ORDERS_ROWS = 2,   ///< all of them, in another order
  RANKD_SELECTS_ROWS = 3,  ///< some of them, in any order
};

/// One option of an operator, as plans give it.
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

/// The value of an option in one node. Of a kind that has no use for a field the field is zero.
typedef struct rankd_value {
  uint32_t given;        ///< 0: the plan does not give it
  uint32_t per_request;  ///< 1: each request gives the value; `bind` sees none
  int64_t integer;       ///< an int; of a bool 0 or 1; of a choice its position
  double number;
  rankd_text text;
  uint32_t first_column;  ///< of keys: the position of the first one among `reads` or `writes`
  uint32_t column_count;
} rankd_value;

/// A column, before there are values.
typedef struct rankd_key {
  rankd_text name;
  uint32_t type;
  uint32_t nullable;
} rankd_key;

/// What a node is bound with.
typedef struct rankd_binding {
  const rankd_value* options;  ///< one for each option of the operator, in its order
  const rankd_key* reads;      ///< those of all options, one behind the other
  const rankd_key* writes;
  uint32_t option_count;
  uint32_t read_count;
  uint32_t write_count;
  uint32_t id_type;  ///< RANKD_TYPE_INT or RANKD_TYPE_TEXT
  void* host;
  /// Says what is wrong with the option of that position; with `option_count`, with the node.
  void (*fail)(void* host, uint32_t option, rankd_text sentence);
} rankd_binding;

/// The values of a column, one for each row that comes in, in the order of the rows.
typedef struct rankd_column {
  /// int64_t, double, rankd_text, or uint8_t that is 0 or 1. Under a null stands a value that means nothing.
  const void* values;
  const uint64_t* valid;  ///< a bit for each row, the lowest of a word first; clear for null. Null: no row is null.
  uint32_t type;
} rankd_column;

/// A column to write. All its rows are null, and its values zero, until a bit of `valid` is set.
typedef struct rankd_written {
  void* values;  ///< as of rankd_column; texts must live until `run` returns
  uint64_t* valid;
  uint32_t type;
} rankd_written;

/// What a node has to work with for one request.
typedef struct rankd_run {
  uint64_t rows;
  rankd_column id;
  const rankd_column* reads;
  const rankd_written* writes;
  const rankd_value* options;  ///< with the values of this request
  /// Room for as many numbers of rows as come in, from 0 on; null where the operator keeps all rows.
  uint32_t* order;
  /// Set to how many of `order` count. An operator that does not keep all rows must set it.
  uint64_t* kept;
  void* host;
  /// Memory that lives as long as the request, aligned to 16 bytes. Null where the budget of the plan has no room.
  void* (*allocate)(void* host, uint64_t bytes);
  /// Says why the node fails.
  void (*fail)(void* host, rankd_text sentence);
  /// Other than 0 once the answer is not wanted any more. What runs for long asks now and then, and returns.
  int32_t (*stopped)(void* host);
} rankd_run;

/// An operator. It takes the rows of one node.
typedef struct rankd_operator {
  const char* name;  ///< `namespace::name`, each of lower-case letters, digits and `_`; not of namespace `core`
  const char* doc;   ///< one sentence
  uint32_t effect;
  uint32_t option_count;
  const rankd_option* options;
  double row_cost_ns;  ///< a guess of what a row takes, by which rankd decides where the node runs
  /// Checks the options once, when a plan is loaded, and gives what `run` needs of them.
  int32_t (*bind)(const rankd_binding* with, void** state);
  int32_t (*run)(const void* state, const rankd_run* with);
  /// Frees what `bind` gave; null where that is nothing.
  void (*release)(void* state);
} rankd_operator;

/// Everything that a library offers.
typedef struct rankd_operator_library {
  uint32_t abi;  ///< RANKD_OPERATOR_ABI, in this place for all time
  uint32_t operator_count;
  const rankd_operator* operators;
  const char* problem;  ///< null, or a sentence: why it offers nothing
} rankd_operator_library;

/// The one symbol that a library has.
const rankd_operator_library* rankd_operators(void);

#ifdef __cplusplus
}
#endif
