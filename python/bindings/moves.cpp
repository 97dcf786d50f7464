// SPDX-License-Identifier: Apache-2.0
// bindings/moves.cpp: calls that move elements or compute positions: selections, takes, packs, combinations, runs.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/combinations.hpp"
#include "upsweep/error.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/select.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

Indices indices_of(nb::handle object) {
  const dynamic::ConstArray array = input(object, "indices");
  Indices indices;
  indices.data = array.data;
  indices.length = array.length;
  indices.type = array.type;
  return indices;
}

std::int64_t longest(const std::vector<ContentColumn>& columns) {
  std::int64_t length = 0;
  for (const ContentColumn& column : columns) length = std::max({length, column.length, column.capacity});
  return length;
}

/// Returns a pointer to the offsets, one more than there are lists; null for None.
std::int64_t* offsets_for(nb::handle object, std::int64_t lists) {
  if (object.is_none()) return nullptr;
  auto* const offsets = output_of<std::int64_t>(object, "offsets");
  if (output(object, "offsets").length != lists + 1) {
    throw Error(Code::unequal_lengths,
                "offsets: " + std::to_string(lists + 1) + " are needed, one more than there are lists");
  }
  return offsets;
}

/// Calls f(pointer) with the array's elements, as a pointer of their type.
template <class F>
auto visit_elements(const dynamic::ConstArray& array, F&& f) {
  return visit_type(array.type, [&]<class T>(std::type_identity<T>) { return f(static_cast<const T*>(array.data)); });
}
// ------------------------------------------------------------------------------------------------ selections and takes

std::int64_t run_select(const CallPlace& place, detail::SelectCall& call) {
  place.run(call.mask.length, [&](const auto& policy) { detail::run_select(policy, call); });
  return call.kept;
}

/// Returns a function that sets the columns' outputs with `make_outputs`, a Python function from a length to a list of
/// arrays. With None the outputs exist already.
detail::AllocateOutputs allocator_of(std::vector<ContentColumn>& columns, nb::handle make_outputs) {
  if (make_outputs.is_none()) return {};
  return [&columns, make_outputs](std::int64_t length) {
    const nb::gil_scoped_acquire held;
    set_outputs(columns, nb::cast<nb::list>(make_outputs(length)));
  };
}

/// `lists`: None for plain compaction. Without columns the selected elements are only counted.
std::int64_t select(const CallPlace& place, nb::handle lists, nb::handle lists_valid, nb::handle mask,
                    nb::handle offsets, const nb::list& pairs, nb::handle make_outputs) {
  auto columns = columns_of(pairs);
  detail::SelectCall call{
      .mask = mask_of(mask, "mask"), .columns = columns, .allocate_outputs = allocator_of(columns, make_outputs)};
  if (!lists.is_none()) {
    call.has_lists = true;
    call.lists = lists_of(lists, lists_valid);
    call.out_offsets = offsets_for(offsets, call.lists.count);
  }
  return run_select(place, call);
}

std::int64_t run_take(const CallPlace& place, detail::TakeCall& call) {
  place.run(call.indices.length, [&](const auto& policy) { detail::run_take(policy, call); });
  return call.taken;
}

std::int64_t partition(const CallPlace& place, const Mask& kept, const std::vector<ContentColumn>& columns) {
  return place.run(kept.length, [&](const auto& policy) {
    return upsweep::partition(policy, kept, std::span<const SelectColumn>(columns));
  });
}

std::int64_t take_lists(const CallPlace& place, nb::handle lists, std::int64_t content, nb::handle index_lists,
                        nb::handle indices, nb::handle offsets, const nb::list& pairs, nb::handle make_outputs) {
  const Lists of = lists_of(lists, nb::none());
  const Lists at = lists_of(index_lists, nb::none());
  auto columns = columns_of(pairs);
  auto call = detail::take_call(of, content, at, indices_of(indices), offsets_for(offsets, at.count));
  call.columns = columns;
  call.allocate_outputs = allocator_of(columns, make_outputs);
  return run_take(place, call);
}

/// Writes the positions of the taken elements in the content, not the elements.
std::int64_t take_positions(const CallPlace& place, nb::handle lists, std::int64_t content, nb::handle index_lists,
                            nb::handle indices, nb::handle offsets, nb::handle out) {
  const Lists of = lists_of(lists, nb::none());
  const Lists at = lists_of(index_lists, nb::none());
  const Indices positions = indices_of(indices);
  auto* const out_offsets = offsets_for(offsets, at.count);
  auto* const to = output_of<std::int64_t>(out, "out");
  const std::int64_t capacity = output(out, "out").length;
  return place.run(positions.length, [&](const auto& policy) {
    return upsweep::take_positions(policy, of, content, at, positions, out_offsets, to, capacity);
  });
}

// --------------------------------------------------------------------------------------------------------------- packs

/// Returns the total number of elements of the lists.
std::int64_t pack_offsets(const CallPlace& place, nb::handle lists, nb::handle lists_valid, std::int64_t content,
                          nb::handle offsets) {
  const Lists of = lists_of(lists, lists_valid);
  auto* const out = offsets_for(offsets, of.count);
  return place.run(of.count, [&](const auto& policy) { return upsweep::pack_offsets(policy, of, content, out).total; });
}

void pack_content(const CallPlace& place, const Lists& of, const std::int64_t* at,
                  const std::vector<ContentColumn>& columns) {
  place.run(of.count + longest(columns),
            [&](const auto& policy) { upsweep::pack_content(policy, of, at, std::span<const PackColumn>(columns)); });
}

// ----------------------------------------------------------------------------------------------------------- positions

std::int64_t lengths_to_offsets(const CallPlace& place, const dynamic::ConstArray& lengths, const Mask& valid,
                                std::int64_t* out) {
  return visit_bounds(lengths, [&](const auto* each) {
    return place.run(lengths.length, [&](const auto& policy) {
      return upsweep::lengths_to_offsets(policy, each, lengths.length, out, valid);
    });
  });
}

void parents_to_offsets(const CallPlace& place, const dynamic::ConstArray& parents, std::int64_t lists,
                        std::int64_t* out) {
  visit_bounds(parents, [&](const auto* each) {
    place.run(parents.length,
              [&](const auto& policy) { upsweep::parents_to_offsets(policy, each, parents.length, lists, out); });
  });
}

std::int64_t offsets_to_parents(const CallPlace& place, const Lists& lists, const dynamic::Array& out) {
  return place.run(lists.count + out.length, [&](const auto& policy) {
    return upsweep::offsets_to_parents(policy, lists, static_cast<std::int64_t*>(out.data), out.length);
  });
}

std::int64_t local_index(const CallPlace& place, const Lists& lists, const dynamic::Array& out) {
  return place.run(lists.count + out.length, [&](const auto& policy) {
    return upsweep::local_index(policy, lists, static_cast<std::int64_t*>(out.data), out.length);
  });
}

/// Runs kRun with Python arrays.
template <std::int64_t (*kRun)(const CallPlace&, const Lists&, const dynamic::Array&)>
std::int64_t positions_of_arrays(const CallPlace& place, nb::handle lists, nb::handle out) {
  output_of<std::int64_t>(out, "out");
  return kRun(place, lists_of(lists, nb::none()), output(out, "out"));
}

std::int64_t broadcast(const CallPlace& place, const Lists& of, const Elements& from, const Elements& to) {
  if (from.size != to.size || !to.is_writable) throw nb::type_error("out: an array of the values' type is needed");
  if (from.length != of.count) {
    throw Error(Code::unequal_lengths, "values: one for each of the " + std::to_string(of.count) +
                                           " lists is needed, not " + std::to_string(from.length));
  }
  return place.run(of.count + to.length, [&](const auto& policy) {
    return upsweep::broadcast(policy, of, from.data, from.size, to.data, to.length);
  });
}

/// `offsets` are the positions of the lists in `out`.
std::int64_t broadcast_to_offsets(const CallPlace& place, nb::handle lists, nb::handle offsets, std::int64_t content,
                                  nb::handle out) {
  const Lists of = lists_of(lists, nb::none());
  const auto* const at = offsets_for(offsets, of.count);
  auto* const to = output_of<std::int64_t>(out, "out");
  const std::int64_t capacity = output(out, "out").length;
  return place.run(of.count + capacity, [&](const auto& policy) {
    return upsweep::broadcast_to_offsets(policy, of, at, content, to, capacity);
  });
}

void flatten(const CallPlace& place, const Lists& outer, const Lists& inner, std::int64_t* out) {
  place.run(outer.count, [&](const auto& policy) { upsweep::flatten(policy, outer, inner, out); });
}

// -------------------------------------------------------------------------------------------------------- combinations

std::vector<std::int64_t*> positions_of(const nb::list& arrays, std::int64_t& capacity) {
  std::vector<std::int64_t*> pointers;
  for (const nb::handle array : arrays) {
    pointers.push_back(output_of<std::int64_t>(array, "out"));
    capacity = output(array, "out").length;
  }
  return pointers;
}

/// Without `out` computes only their number and offsets. `work`: the approximate number of elements read and written.
std::int64_t combinations(const CallPlace& place, std::int64_t work, const Lists& of, std::int64_t content,
                          std::int64_t n, bool replacement, std::int64_t* offsets,
                          const std::vector<std::int64_t*>& out, std::int64_t capacity) {
  return place.run(work, [&](const auto& policy) {
    if (out.empty()) return upsweep::combinations_offsets(policy, of, content, n, replacement, offsets).total;
    return upsweep::combinations(policy, of, content, n, replacement, offsets, out.data(), capacity).total;
  });
}

std::int64_t cartesian(const CallPlace& place, std::int64_t work, const std::vector<CartesianInput>& of,
                       std::int64_t* offsets, const std::vector<std::int64_t*>& out, std::int64_t capacity) {
  return place.run(work, [&](const auto& policy) {
    if (out.empty()) return upsweep::cartesian_offsets(policy, of, offsets).total;
    return upsweep::cartesian(policy, of, offsets, out.data(), capacity).total;
  });
}

/// `inputs`: pairs (lists, elements of the content).
std::int64_t cartesian_of_arrays(const CallPlace& place, const nb::list& inputs, nb::handle offsets,
                                 const nb::list& out) {
  std::vector<CartesianInput> of;
  std::int64_t work = 0;
  for (const nb::handle item : inputs) {
    const auto pair = nb::borrow<nb::tuple>(item);
    of.push_back({lists_of(pair[0], nb::none()), nb::cast<std::int64_t>(pair[1])});
    work += of.back().lists.count;
  }
  auto* const to = offsets_for(offsets, of.empty() ? 0 : of.front().lists.count);
  std::int64_t capacity = 0;
  const auto pointers = positions_of(out, capacity);
  return cartesian(place, work + capacity, of, to, pointers, capacity);
}

// -------------------------------------------------------------------------------------------------- runs of equal keys

template <class T>
std::int64_t count_runs(const Policy& policy, const T* keys, std::int64_t n) {
  return upsweep::count_key_runs(policy, std::span(keys, static_cast<std::size_t>(n)));
}
template <class T>
std::int64_t count_runs(const gpu::Policy& policy, const T* keys, std::int64_t n) {
  return upsweep::count_key_runs(policy, keys, n);
}
template <class T>
std::int64_t write_runs(const Policy& policy, const T* keys, std::int64_t n, std::int64_t* offsets,
                        std::int64_t capacity) {
  return upsweep::key_offsets(policy, std::span(keys, static_cast<std::size_t>(n)),
                              std::span(offsets, static_cast<std::size_t>(capacity)));
}
template <class T>
std::int64_t write_runs(const gpu::Policy& policy, const T* keys, std::int64_t n, std::int64_t* offsets,
                        std::int64_t capacity) {
  return upsweep::key_offsets(policy, keys, n, offsets, capacity);
}

/// Returns the place without its rung, which belongs to the call on the runs: finding runs has no ladder.
CallPlace without_rung(CallPlace place) {
  place.rung.clear();
  return place;
}

// --------------------------------------------------------------------------------------------------------- plain cases

/// The contents of a call, starting at one of its arguments, and an array for each result.
class PlainContents {
 public:
  /// Returns false if one is not plain.
  bool take(PlainCall& call, std::size_t from) {
    if (!call.outputs(call.given().size() - from, outputs_)) return false;
    Elements elements;
    for (PyObject* const content : call.given().subspan(from)) {
      contents_.push_back(call.moved(content, elements));
      if (!contents_.back().is_valid()) return false;
      columns_.emplace_back(elements.data, elements.length, nullptr, 0, elements.size);
    }
    return true;
  }
  /// Allocates `length` elements for each content; returns false if that is not plain.
  bool allocate(PlainCall& call, std::int64_t length) {
    Elements to;
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      results_.push_back(call.first_of(outputs_[i], contents_[i], length, to));
      if (!results_.back().is_valid()) return false;
      columns_[i].out = to.data;
      columns_[i].capacity = length;
    }
    return true;
  }
  /// Returns a function that allocates outputs during a call on `elements` elements. The call may have released the
  /// interpreter's lock.
  detail::AllocateOutputs allocator_of(PlainCall& call, std::int64_t elements) {
    if (call.place().keeps_lock(elements)) {
      return [this, &call](std::int64_t length) {
        if (!allocate(call, length)) throw NotPlain();
      };
    }
    return [this, &call](std::int64_t length) {
      const nb::gil_scoped_acquire held;
      if (!allocate(call, length)) throw NotPlain();
    };
  }
  [[nodiscard]] const std::vector<ContentColumn>& columns() const { return columns_; }
  [[nodiscard]] std::int64_t length() const { return columns_.front().length; }
  /// Returns a tuple of `first`, if valid, and the contents. A single content without `first` is returned itself.
  [[nodiscard]] nb::object given_back(const nb::object& first = {}) const {
    if (!first.is_valid() && results_.size() == 1) return results_.front();
    const std::size_t before = first.is_valid() ? 1 : 0;
    PyObject* const made = PyTuple_New(static_cast<Py_ssize_t>(before + results_.size()));
    if (made == nullptr) throw nb::python_error();
    if (before == 1) PyTuple_SetItem(made, 0, first.inc_ref().ptr());
    for (std::size_t i = 0; i < results_.size(); ++i) {
      PyTuple_SetItem(made, static_cast<Py_ssize_t>(before + i), results_[i].inc_ref().ptr());
    }
    return nb::steal(made);
  }

 private:
  std::vector<nb::handle> outputs_;
  std::vector<nb::object> contents_;
  std::vector<ContentColumn> columns_;
  std::vector<nb::object> results_;
};

/// More elements than any content has, for content of unknown length: lists may then end anywhere.
constexpr std::int64_t kUnknownLength = std::int64_t{1} << 62;
/// For choices of more elements the Python code creates the arrays.
constexpr Py_ssize_t kMostPlaces = 16;

std::int64_t* int64s(const Elements& elements) { return static_cast<std::int64_t*>(elements.data); }

/// Returns new offsets for that number of lists.
nb::object new_offsets(std::int64_t lists, std::int64_t*& at) {
  nb::object offsets = new_array(lists + 1, Type::int64);
  at = int64s(elements_of_new(offsets));
  return offsets;
}

Indices as_indices(const Elements& elements) {
  Indices indices;
  indices.data = elements.data;
  indices.length = elements.length;
  indices.type = elements.type;
  return indices;
}

nb::object plain_select(PlainCall& call) {
  Mask mask;
  PlainContents contents;
  const std::size_t given = call.given().size();
  if (given < (call.has(Keyword::lists) ? 1 : 2) || !call.mask(call.given()[0], mask)) return {};
  if (!contents.take(call, 1)) return {};
  detail::SelectCall work{.mask = mask};
  nb::object offsets;
  if (call.has(Keyword::lists)) {
    const auto lists = call.lists(call.named(Keyword::lists), given == 1 ? mask.length : contents.length());
    if (!lists) return {};
    offsets = new_offsets(lists->count, work.out_offsets);
    work.has_lists = true;
    work.lists = *lists;
  }
  work.columns = contents.columns();
  work.allocate_outputs = contents.allocator_of(call, mask.length);
  run_select(call.place(), work);
  return contents.given_back(offsets);
}

nb::object plain_partition(PlainCall& call) {
  Mask mask;
  PlainContents contents;
  if (call.given().size() < 2 || !call.mask(call.given()[0], mask) || !contents.take(call, 1)) return {};
  if (!contents.allocate(call, contents.length())) return {};
  return contents.given_back(nb::int_(partition(call.place(), mask, contents.columns())));
}

nb::object plain_take(PlainCall& call) {
  Elements at;
  PlainContents contents;
  if (call.given().size() < 2 || !call.bounds(call.given()[0], at) || !contents.take(call, 1)) return {};
  const bool has_lists = call.has(Keyword::lists);
  if (has_lists != call.has(Keyword::index_lists)) return {};
  if (!has_lists) {
    if (!contents.allocate(call, at.length)) return {};
    take(call.place(), as_indices(at), contents.columns());
    return contents.given_back();
  }
  const auto lists = call.lists(call.named(Keyword::lists), contents.length());
  const auto index_lists = call.lists(call.named(Keyword::index_lists), at.length);
  if (!lists || !index_lists) return {};
  std::int64_t* offsets = nullptr;
  const nb::object before = new_offsets(index_lists->count, offsets);
  auto work = detail::take_call(*lists, contents.length(), *index_lists, as_indices(at), offsets);
  work.columns = contents.columns();
  work.allocate_outputs = contents.allocator_of(call, at.length);
  run_take(call.place(), work);
  return contents.given_back(before);
}

nb::object plain_pack(PlainCall& call) {
  PlainContents contents;
  if (call.given().size() < 2 || !contents.take(call, 1)) return {};
  const auto lists = call.lists(call.given()[0], contents.length());
  if (!lists) return {};
  std::int64_t* at = nullptr;
  const nb::object offsets = new_offsets(lists->count, at);
  const std::int64_t total = call.place().run(lists->count, [&](const auto& policy) {
    return upsweep::pack_offsets(policy, *lists, contents.length(), at).total;
  });
  if (!contents.allocate(call, total)) return {};
  pack_content(call.place(), *lists, at, contents.columns());
  return contents.given_back(offsets);
}

nb::object plain_lengths_to_offsets(PlainCall& call) {
  Elements lengths;
  Elements to;
  if (call.given().size() != 1 || !call.bounds(call.given()[0], lengths)) return {};
  nb::object offsets = call.result({Type::int64}, lengths.length + 1, to);
  if (offsets.is_valid()) lengths_to_offsets(call.place(), as_input(lengths), {}, int64s(to));
  return offsets;
}

/// Reads offsets and returns the number of elements of their lists, or -1 if the argument is not plain.
std::int64_t plain_total(PlainCall& call, nb::handle object, Elements& offsets) {
  if (!call.bounds(object, offsets) || offsets.length == 0) return -1;
  return visit_bounds(as_input(offsets), [&](const auto* each) {
    std::int64_t total = 0;
    const bool is_out_of_range = __builtin_sub_overflow(each[offsets.length - 1], each[0], &total);
    return is_out_of_range || total > kMostElements ? -1 : total;
  });
}

template <std::int64_t (*kRun)(const CallPlace&, const Lists&, const dynamic::Array&)>
nb::object plain_positions(PlainCall& call) {
  Elements offsets;
  Elements to;
  const std::int64_t total = call.given().size() == 1 ? plain_total(call, call.given()[0], offsets) : -1;
  nb::object out = total < 0 ? nb::object() : call.result({Type::int64}, total, to);
  if (out.is_valid()) kRun(call.place(), dynamic::lists_of_offsets(as_input(offsets)), as_output(to));
  return out;
}

nb::object plain_broadcast(PlainCall& call) {
  Elements values;
  Elements offsets;
  Elements to;
  if (call.given().size() != 2) return {};
  const nb::object each = call.moved(call.given()[0], values);
  const std::int64_t total = each.is_valid() ? plain_total(call, call.given()[1], offsets) : -1;
  if (total < 0) return {};
  nb::object out;
  if (!call.has(Keyword::out)) {
    out = call.first_of({}, each, total, to);
  } else if (values.type != Type::custom) {
    out = call.result({values.type, values.is_boolean}, total, to);
  }
  if (out.is_valid()) broadcast(call.place(), dynamic::lists_of_offsets(as_input(offsets)), values, to);
  return out;
}

nb::object plain_parents_to_offsets(PlainCall& call) {
  Elements parents;
  Elements to;
  if (call.given().size() != 2 || !call.bounds(call.given()[0], parents)) return {};
  const Py_ssize_t lists = PyLong_CheckExact(call.given()[1]) ? PyLong_AsSsize_t(call.given()[1]) : -1;
  PyErr_Clear();
  if (lists < 0 || lists > kMostElements) return {};
  nb::object offsets = call.result({Type::int64}, lists + 1, to);
  if (offsets.is_valid()) parents_to_offsets(call.place(), as_input(parents), lists, int64s(to));
  return offsets;
}

nb::object plain_flatten(PlainCall& call) {
  Elements outer;
  Elements inner;
  Elements to;
  if (call.given().size() != 2 || plain_total(call, call.given()[0], outer) < 0 ||
      plain_total(call, call.given()[1], inner) < 0) {
    return {};
  }
  nb::object offsets = call.result({Type::int64}, outer.length, to);
  if (offsets.is_valid()) {
    flatten(call.place(), dynamic::lists_of_offsets(as_input(outer)), dynamic::lists_of_offsets(as_input(inner)),
            int64s(to));
  }
  return offsets;
}

/// The common code of combinations and Cartesian products of lists: computes their offsets, then an array of positions
/// for each place in a choice. `run(offsets, pointers, capacity)` returns the number of choices. Without pointers it
/// writes only the offsets, and without offsets only the positions.
template <class Run>
nb::object plain_choices(PlainCall& call, std::int64_t lists, std::size_t places, const Run& run) {
  std::vector<nb::handle> outputs;
  if (!call.outputs(places + 1, outputs)) return {};
  Elements to;
  std::vector<nb::object> results{call.first_of(outputs[0], {Type::int64}, lists + 1, to)};
  if (!results[0].is_valid()) return {};
  std::int64_t* const offsets = int64s(to);
  std::vector<std::int64_t*> pointers;
  const std::int64_t total = run(offsets, pointers, 0);
  for (std::size_t i = 1; i <= places; ++i) {
    results.push_back(call.first_of(outputs[i], {Type::int64}, total, to));
    if (!results.back().is_valid()) return {};
    pointers.push_back(int64s(to));
  }
  run(nullptr, pointers, total);
  PyObject* const made = PyTuple_New(static_cast<Py_ssize_t>(results.size()));
  if (made == nullptr) throw nb::python_error();
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyTuple_SetItem(made, static_cast<Py_ssize_t>(i), results[i].release().ptr());
  }
  return nb::steal(made);
}

/// Reads lists of a content of unknown length; one size for all lists is then not supported.
std::optional<Lists> plain_lists_of_any(PlainCall& call, nb::handle object) {
  return PyLong_Check(object.ptr()) ? std::nullopt : call.lists(object, kUnknownLength);
}

nb::object plain_combinations(PlainCall& call) {
  const auto replacement = call.flag(Keyword::replacement);
  if (call.given().empty() || call.given().size() > 2 || !replacement) return {};
  PyObject* const given = call.given().size() == 2 ? call.given()[1] : nullptr;
  const Py_ssize_t n = given == nullptr ? 2 : PyLong_CheckExact(given) ? PyLong_AsSsize_t(given) : 0;
  PyErr_Clear();
  const auto lists = plain_lists_of_any(call, call.given()[0]);
  if (n < 1 || n > kMostPlaces || !lists) return {};
  return plain_choices(call, lists->count, static_cast<std::size_t>(n),
                       [&](std::int64_t* offsets, const std::vector<std::int64_t*>& out, std::int64_t capacity) {
                         return combinations(call.place(), lists->count + capacity, *lists, kUnknownLength, n,
                                             *replacement, offsets, out, capacity);
                       });
}

nb::object plain_cartesian(PlainCall& call) {
  std::vector<CartesianInput> of;
  for (PyObject* const given : call.given()) {
    const auto lists = plain_lists_of_any(call, given);
    if (!lists || (!of.empty() && lists->count != of.front().lists.count)) return {};
    of.push_back({*lists, kUnknownLength});
  }
  if (of.empty()) return {};
  const std::int64_t count = of.front().lists.count;
  return plain_choices(call, count, of.size(),
                       [&](std::int64_t* offsets, const std::vector<std::int64_t*>& out, std::int64_t capacity) {
                         return cartesian(call.place(), count + capacity, of, offsets, out, capacity);
                       });
}

}  // namespace

void take(const CallPlace& place, const Indices& at, const std::vector<ContentColumn>& columns) {
  place.run(at.length, [&](const auto& policy) { upsweep::take(policy, at, std::span<const SelectColumn>(columns)); });
}

void write_key_offsets(const CallPlace& place, const dynamic::ConstArray& keys, const dynamic::Array& offsets) {
  auto* const out = static_cast<std::int64_t*>(offsets.data);
  visit_elements(keys, [&](const auto* each) {
    without_rung(place).run(
        keys.length, [&](const auto& policy) { return write_runs(policy, each, keys.length, out, offsets.length); });
  });
}

std::int64_t count_key_runs(const CallPlace& place, const dynamic::ConstArray& keys) {
  return visit_elements(keys, [&](const auto* each) {
    return without_rung(place).run(keys.length,
                                   [&](const auto& policy) { return count_runs(policy, each, keys.length); });
  });
}

void define_moves(nb::module_& module) {
  constexpr unsigned kOut = named(Keyword::out);
  add_plain_cases({{"select", kOut | named(Keyword::lists), &plain_select},
                   {"partition", kOut, &plain_partition},
                   {"take", kOut | named(Keyword::lists, Keyword::index_lists), &plain_take},
                   {"pack", kOut, &plain_pack},
                   {"lengths_to_offsets", kOut, &plain_lengths_to_offsets},
                   {"offsets_to_parents", kOut, &plain_positions<&offsets_to_parents>},
                   {"local_index", kOut, &plain_positions<&local_index>},
                   {"broadcast", kOut, &plain_broadcast},
                   {"parents_to_offsets", kOut, &plain_parents_to_offsets},
                   {"flatten", kOut, &plain_flatten},
                   {"combinations", kOut | named(Keyword::replacement), &plain_combinations},
                   {"cartesian", kOut, &plain_cartesian}});
  module.def("select", &select, nb::arg("place"), nb::arg("lists").none(), nb::arg("lists_valid").none(),
             nb::arg("mask"), nb::arg("offsets").none(), nb::arg("pairs"), nb::arg("make_outputs").none() = nb::none());
  module.def("partition", [](const CallPlace& place, nb::handle mask, const nb::list& pairs) {
    return partition(place, mask_of(mask, "mask"), columns_of(pairs));
  });
  module.def("take", [](const CallPlace& place, nb::handle indices, const nb::list& pairs) {
    take(place, indices_of(indices), columns_of(pairs));
  });
  module.def("take_lists", &take_lists, nb::arg("place"), nb::arg("lists"), nb::arg("content"), nb::arg("index_lists"),
             nb::arg("indices"), nb::arg("offsets"), nb::arg("pairs"), nb::arg("make_outputs"));
  module.def("take_positions", &take_positions);
  module.def("pack_offsets", &pack_offsets, nb::arg("place"), nb::arg("lists"), nb::arg("lists_valid").none(),
             nb::arg("content"), nb::arg("offsets"));
  module.def(
      "pack_content",
      [](const CallPlace& place, nb::handle lists, nb::handle lists_valid, nb::handle offsets, const nb::list& pairs) {
        const Lists of = lists_of(lists, lists_valid);
        pack_content(place, of, offsets_for(offsets, of.count), columns_of(pairs));
      },
      nb::arg("place"), nb::arg("lists"), nb::arg("lists_valid").none(), nb::arg("offsets"), nb::arg("pairs"));
  module.def(
      "lengths_to_offsets",
      [](const CallPlace& place, nb::handle lengths, nb::handle valid, nb::handle offsets) {
        const dynamic::ConstArray from = input(lengths, "lengths");
        return lengths_to_offsets(place, from, mask_of(valid, "valid"), offsets_for(offsets, from.length));
      },
      nb::arg("place"), nb::arg("lengths"), nb::arg("valid").none(), nb::arg("offsets"));
  module.def("parents_to_offsets",
             [](const CallPlace& place, nb::handle parents, std::int64_t lists, nb::handle offsets) {
               parents_to_offsets(place, input(parents, "parents"), lists, offsets_for(offsets, lists));
             });
  module.def("offsets_to_parents", &positions_of_arrays<&offsets_to_parents>);
  module.def("local_index", &positions_of_arrays<&local_index>);
  module.def("broadcast", [](const CallPlace& place, nb::handle lists, nb::handle values, nb::handle out) {
    return broadcast(place, lists_of(lists, nb::none()), elements_of(values, "values"), elements_of(out, "out"));
  });
  module.def("broadcast_to_offsets", &broadcast_to_offsets);
  module.def("flatten", [](const CallPlace& place, nb::handle outer, nb::handle inner, nb::handle offsets) {
    const Lists of = lists_of(outer, nb::none());
    flatten(place, of, lists_of(inner, nb::none()), offsets_for(offsets, of.count));
  });
  module.def(
      "combinations",
      [](const CallPlace& place, nb::handle lists, std::int64_t content, std::int64_t n, Truth replacement,
         nb::handle offsets, const nb::list& out) {
        const Lists of = lists_of(lists, nb::none());
        std::int64_t capacity = 0;
        const auto pointers = positions_of(out, capacity);
        return combinations(place, of.count + capacity, of, content, n, replacement, offsets_for(offsets, of.count),
                            pointers, capacity);
      },
      nb::arg("place"), nb::arg("lists"), nb::arg("content"), nb::arg("n"), nb::arg("replacement"),
      nb::arg("offsets").none(), nb::arg("out"));
  module.def("cartesian", &cartesian_of_arrays, nb::arg("place"), nb::arg("inputs"), nb::arg("offsets").none(),
             nb::arg("out"));
  module.def("count_key_runs",
             [](const CallPlace& place, nb::handle keys) { return count_key_runs(place, input(keys, "keys")); });
  module.def("key_offsets", [](const CallPlace& place, nb::handle keys, nb::handle offsets) {
    output_of<std::int64_t>(offsets, "offsets");
    write_key_offsets(place, input(keys, "keys"), output(offsets, "offsets"));
  });
}

}  // namespace upsweep::python
