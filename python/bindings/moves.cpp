// SPDX-License-Identifier: Apache-2.0
// bindings/moves.cpp: what moves elements, or says where they lie: selections, takes, packs, positions, combinations, runs.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/combinations.hpp"
#include "upsweep/error.hpp"
#include "upsweep/list_positions.hpp"
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

/// A pointer to the offsets, of which `lists` need one more than there are lists; null for None.
std::int64_t* offsets_for(nb::handle object, std::int64_t lists) {
  if (object.is_none()) return nullptr;
  auto* const offsets = output_of<std::int64_t>(object, "offsets");
  if (output(object, "offsets").length != lists + 1) {
    throw Error(Code::unequal_lengths,
                "offsets: " + std::to_string(lists + 1) + " are needed, one more than there are lists");
  }
  return offsets;
}

/// f(pointer) with the array's elements as their own type.
template <class F>
auto visit_elements(const dynamic::ConstArray& array, F&& f) {
  return visit_type(array.type, [&]<class T>(std::type_identity<T>) { return f(static_cast<const T*>(array.data)); });
}
// ------------------------------------------------------------------------------------------------- selections and takes

std::int64_t run_select(const Place& place, detail::SelectCall& call) {
  place.run(call.mask.length, [&](const auto& policy) { detail::run_select(policy, call); });
  return call.kept;
}

/// `lists`: None for plain compaction. Without columns what is kept is counted.
std::int64_t select(const Place& place, nb::handle lists, nb::handle lists_valid, nb::handle mask, nb::handle offsets,
                    const nb::list& pairs) {
  const auto columns = columns_of(pairs);
  detail::SelectCall call{.mask = mask_of(mask, "mask"), .columns = columns};
  if (!lists.is_none()) {
    call.has_lists = true;
    call.lists = lists_of(lists, lists_valid);
    call.out_offsets = offsets_for(offsets, call.lists.count);
  }
  return run_select(place, call);
}

std::int64_t partition(const Place& place, const Mask& kept, const std::vector<ContentColumn>& columns) {
  return place.run(kept.length, [&](const auto& policy) {
    return upsweep::partition(policy, kept, std::span<const SelectColumn>(columns));
  });
}

void take(const Place& place, const Indices& at, const std::vector<ContentColumn>& columns) {
  place.run(at.length, [&](const auto& policy) { upsweep::take(policy, at, std::span<const SelectColumn>(columns)); });
}

std::int64_t take_lists(const Place& place, nb::handle lists, std::int64_t content, nb::handle index_lists,
                        nb::handle indices, nb::handle offsets, const nb::list& pairs) {
  const Lists of = lists_of(lists, nb::none());
  const Lists at = lists_of(index_lists, nb::none());
  const Indices positions = indices_of(indices);
  const auto columns = columns_of(pairs);
  auto* const out_offsets = offsets_for(offsets, at.count);
  return place.run(positions.length, [&](const auto& policy) {
    return upsweep::take(policy, of, content, at, positions, out_offsets, std::span<const SelectColumn>(columns));
  });
}

/// The same, but where in the content they lie.
std::int64_t take_positions(const Place& place, nb::handle lists, std::int64_t content, nb::handle index_lists,
                            nb::handle indices, nb::handle offsets, nb::handle out) {
  const Lists of = lists_of(lists, nb::none());
  const Lists at = lists_of(index_lists, nb::none());
  const Indices positions = indices_of(indices);
  auto* const out_offsets = offsets_for(offsets, at.count);
  auto* const to = output_of<std::int64_t>(out, "out");
  const std::int64_t room = output(out, "out").length;
  return place.run(positions.length, [&](const auto& policy) {
    return upsweep::take_positions(policy, of, content, at, positions, out_offsets, to, room);
  });
}

// ------------------------------------------------------------------------------------------------------------------ packs

/// Returns how many elements the lists have.
std::int64_t pack_offsets(const Place& place, nb::handle lists, nb::handle lists_valid, std::int64_t content,
                          nb::handle offsets) {
  const Lists of = lists_of(lists, lists_valid);
  auto* const out = offsets_for(offsets, of.count);
  return place.run(of.count, [&](const auto& policy) { return upsweep::pack_offsets(policy, of, content, out).total; });
}

void pack_content(const Place& place, const Lists& of, const std::int64_t* at,
                  const std::vector<ContentColumn>& columns) {
  place.run(of.count + longest(columns),
            [&](const auto& policy) { upsweep::pack_content(policy, of, at, std::span<const PackColumn>(columns)); });
}

// -------------------------------------------------------------------------------------------------------------- positions

std::int64_t lengths_to_offsets(const Place& place, nb::handle lengths, nb::handle valid, nb::handle offsets) {
  const dynamic::ConstArray from = input(lengths, "lengths");
  const Mask mask = mask_of(valid, "valid");
  auto* const out = offsets_for(offsets, from.length);
  return visit_bounds(from, [&](const auto* each) {
    return place.run(from.length, [&](const auto& policy) {
      return upsweep::lengths_to_offsets(policy, each, from.length, out, mask);
    });
  });
}

void parents_to_offsets(const Place& place, nb::handle parents, std::int64_t lists, nb::handle offsets) {
  const dynamic::ConstArray from = input(parents, "parents");
  auto* const out = offsets_for(offsets, lists);
  visit_bounds(from, [&](const auto* each) {
    place.run(from.length,
              [&](const auto& policy) { upsweep::parents_to_offsets(policy, each, from.length, lists, out); });
  });
}

std::int64_t offsets_to_parents(const Place& place, nb::handle lists, nb::handle parents) {
  const Lists of = lists_of(lists, nb::none());
  auto* const out = output_of<std::int64_t>(parents, "out");
  const std::int64_t room = output(parents, "out").length;
  return place.run(of.count + room,
                   [&](const auto& policy) { return upsweep::offsets_to_parents(policy, of, out, room); });
}

std::int64_t local_index(const Place& place, nb::handle lists, nb::handle index) {
  const Lists of = lists_of(lists, nb::none());
  auto* const out = output_of<std::int64_t>(index, "out");
  const std::int64_t room = output(index, "out").length;
  return place.run(of.count + room, [&](const auto& policy) { return upsweep::local_index(policy, of, out, room); });
}

std::int64_t broadcast(const Place& place, nb::handle lists, nb::handle values, nb::handle out) {
  const Lists of = lists_of(lists, nb::none());
  const Elements from = elements_of(values, "values");
  const Elements to = elements_of(out, "out");
  if (from.size != to.size || !to.is_writable) throw nb::type_error("out: an array of the values' type is needed");
  if (from.length != of.count) {
    throw Error(Code::unequal_lengths, "values: one for each of the " + std::to_string(of.count) +
                                           " lists is needed, not " + std::to_string(from.length));
  }
  return place.run(of.count + to.length, [&](const auto& policy) {
    return upsweep::broadcast(policy, of, from.data, from.size, to.data, to.length);
  });
}

/// `offsets` say how the lists lie in `out`.
std::int64_t broadcast_to_offsets(const Place& place, nb::handle lists, nb::handle offsets, std::int64_t content,
                                  nb::handle out) {
  const Lists of = lists_of(lists, nb::none());
  const auto* const at = offsets_for(offsets, of.count);
  auto* const to = output_of<std::int64_t>(out, "out");
  const std::int64_t room = output(out, "out").length;
  return place.run(of.count + room, [&](const auto& policy) {
    return upsweep::broadcast_to_offsets(policy, of, at, content, to, room);
  });
}

void flatten(const Place& place, nb::handle outer, nb::handle inner, nb::handle offsets) {
  const Lists of = lists_of(outer, nb::none());
  const Lists in = lists_of(inner, nb::none());
  auto* const out = offsets_for(offsets, of.count);
  place.run(of.count, [&](const auto& policy) { upsweep::flatten(policy, of, in, out); });
}

// ----------------------------------------------------------------------------------------------------------- combinations

std::vector<std::int64_t*> positions_of(const nb::list& arrays, std::int64_t& room) {
  std::vector<std::int64_t*> pointers;
  for (const nb::handle array : arrays) {
    pointers.push_back(output_of<std::int64_t>(array, "out"));
    room = output(array, "out").length;
  }
  return pointers;
}

/// Without `out` their number and offsets alone.
std::int64_t combinations(const Place& place, nb::handle lists, std::int64_t content, std::int64_t n, Truth replacement,
                          nb::handle offsets, const nb::list& out) {
  const Lists of = lists_of(lists, nb::none());
  auto* const to = offsets_for(offsets, of.count);
  std::int64_t room = 0;
  const auto pointers = positions_of(out, room);
  return place.run(of.count + content, [&](const auto& policy) {
    if (pointers.empty()) return upsweep::combinations_offsets(policy, of, content, n, replacement, to).total;
    return upsweep::combinations(policy, of, content, n, replacement, to, pointers.data(), room).total;
  });
}

/// `inputs`: pairs (lists, elements of the content).
std::int64_t cartesian(const Place& place, const nb::list& inputs, nb::handle offsets, const nb::list& out) {
  std::vector<CartesianInput> of;
  std::int64_t work = 0;
  for (const nb::handle item : inputs) {
    const auto pair = nb::borrow<nb::tuple>(item);
    of.push_back({lists_of(pair[0], nb::none()), nb::cast<std::int64_t>(pair[1])});
    work += of.back().lists.count + of.back().content;
  }
  auto* const to = offsets_for(offsets, of.empty() ? 0 : of.front().lists.count);
  std::int64_t room = 0;
  const auto pointers = positions_of(out, room);
  return place.run(work, [&](const auto& policy) {
    if (pointers.empty()) return upsweep::cartesian_offsets(policy, of, to).total;
    return upsweep::cartesian(policy, of, to, pointers.data(), room).total;
  });
}

// -------------------------------------------------------------------------------------------------------- runs of equal keys

template <class T>
std::int64_t count_runs(const Policy& policy, const T* keys, std::int64_t n) {
  return upsweep::count_key_runs(policy, std::span(keys, static_cast<std::size_t>(n)));
}
template <class T>
std::int64_t count_runs(const gpu::Policy& policy, const T* keys, std::int64_t n) {
  return upsweep::count_key_runs(policy, keys, n);
}
template <class T>
std::int64_t write_runs(const Policy& policy, const T* keys, std::int64_t n, std::int64_t* offsets, std::int64_t room) {
  return upsweep::key_offsets(policy, std::span(keys, static_cast<std::size_t>(n)),
                              std::span(offsets, static_cast<std::size_t>(room)));
}
template <class T>
std::int64_t write_runs(const gpu::Policy& policy, const T* keys, std::int64_t n, std::int64_t* offsets,
                        std::int64_t room) {
  return upsweep::key_offsets(policy, keys, n, offsets, room);
}

/// The place without its rung, which is one of what is then done with the runs: finding them has no ladder.
Place without_rung(Place place) {
  place.rung.clear();
  return place;
}

std::int64_t key_offsets(const Place& place, nb::handle keys, nb::handle offsets) {
  const dynamic::ConstArray of = input(keys, "keys");
  auto* const out = output_of<std::int64_t>(offsets, "offsets");
  const std::int64_t room = output(offsets, "offsets").length;
  return visit_elements(of, [&](const auto* each) {
    return without_rung(place).run(of.length,
                                   [&](const auto& policy) { return write_runs(policy, each, of.length, out, room); });
  });
}

// ------------------------------------------------------------------------------------------------------------ plain cases

/// The contents of a call from that argument on, and an array for the result of each.
class PlainContents {
 public:
  /// False where one is not plain.
  bool take(std::span<PyObject* const> given) {
    given_ = given;
    Elements elements;
    for (PyObject* const content : given) {
      if (!plain_elements(content, elements)) return false;
      columns_.emplace_back(elements.data, elements.length, nullptr, 0, elements.size);
    }
    return true;
  }
  /// Makes room for that many elements of each.
  const std::vector<ContentColumn>& with_room(std::int64_t length) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      results_.push_back(new_array_like(given_[i], length));
      columns_[i].out = elements_of_new(results_[i]).data;
      columns_[i].capacity = length;
    }
    return columns_;
  }
  [[nodiscard]] std::int64_t length() const { return columns_.front().length; }
  /// A tuple of what comes before the contents, if anything, and these; one content alone is no tuple.
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
  std::span<PyObject* const> given_;
  std::vector<ContentColumn> columns_;
  std::vector<nb::object> results_;
};

std::int64_t* pointer_to(nb::handle offsets) { return static_cast<std::int64_t*>(elements_of_new(offsets).data); }

nb::object plain_select(const PlainCall& call) {
  Mask mask;
  PlainContents contents;
  if (call.given().size() < 2 || !plain_mask(call.given()[0], mask) || !contents.take(call.given().subspan(1)))
    return {};
  detail::SelectCall work{.mask = mask};
  nb::object offsets;
  if (call.has(Keyword::lists)) {
    const auto lists = plain_lists(call.named(Keyword::lists), contents.length());
    if (!lists) return {};
    offsets = new_array(lists->count + 1, Type::int64);
    work.has_lists = true;
    work.lists = *lists;
    work.out_offsets = pointer_to(offsets);
  }
  work.columns = contents.with_room(run_select(Place::plain(), work));
  run_select(Place::plain(), work);
  return contents.given_back(offsets);
}

nb::object plain_partition(const PlainCall& call) {
  Mask mask;
  PlainContents contents;
  if (call.given().size() < 2 || !plain_mask(call.given()[0], mask) || !contents.take(call.given().subspan(1)))
    return {};
  return contents.given_back(nb::int_(partition(Place::plain(), mask, contents.with_room(contents.length()))));
}

nb::object plain_take(const PlainCall& call) {
  Elements at;
  PlainContents contents;
  if (call.given().size() < 2 || !plain_bounds(call.given()[0], at) || !contents.take(call.given().subspan(1)))
    return {};
  Indices indices;
  indices.data = at.data;
  indices.length = at.length;
  indices.type = at.type;
  take(Place::plain(), indices, contents.with_room(at.length));
  return contents.given_back();
}

nb::object plain_pack(const PlainCall& call) {
  PlainContents contents;
  if (call.given().size() < 2 || !contents.take(call.given().subspan(1))) return {};
  const auto lists = plain_lists(call.given()[0], contents.length());
  if (!lists) return {};
  nb::object offsets = new_array(lists->count + 1, Type::int64);
  std::int64_t* const at = pointer_to(offsets);
  const std::int64_t total = Place::plain().run(lists->count, [&](const auto& policy) {
    return upsweep::pack_offsets(policy, *lists, contents.length(), at).total;
  });
  pack_content(Place::plain(), *lists, at, contents.with_room(total));
  return contents.given_back(offsets);
}

nb::object plain_lengths_to_offsets(const PlainCall& call) {
  Elements lengths;
  if (call.given().size() != 1 || !plain_bounds(call.given()[0], lengths)) return {};
  nb::object offsets = new_array(lengths.length + 1, Type::int64);
  lengths_to_offsets(Place::plain(), call.given()[0], nb::none(), offsets);
  return offsets;
}

/// NumPy counts bytes in an int64: more elements are MemoryError, which is Python's to say.
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

/// How many elements the lists between offsets have; -1 where that is not plain to see.
std::int64_t plain_total(nb::handle object) {
  Elements offsets;
  if (!plain_bounds(object, offsets) || offsets.length == 0) return -1;
  return visit_bounds(as_input(offsets), [&](const auto* each) {
    std::int64_t total = 0;
    const bool is_out_of_range = __builtin_sub_overflow(each[offsets.length - 1], each[0], &total);
    return is_out_of_range || total > kMostElements ? -1 : total;
  });
}

template <std::int64_t (*kRun)(const Place&, nb::handle, nb::handle)>
nb::object plain_positions(const PlainCall& call) {
  const std::int64_t total = call.given().size() == 1 ? plain_total(call.given()[0]) : -1;
  if (total < 0) return {};
  nb::object out = new_array(total, Type::int64);
  kRun(Place::plain(), call.given()[0], out);
  return out;
}

nb::object plain_broadcast(const PlainCall& call) {
  Elements values;
  if (call.given().size() != 2 || !plain_elements(call.given()[0], values)) return {};
  const std::int64_t total = plain_total(call.given()[1]);
  if (total < 0) return {};
  nb::object out = new_array_like(call.given()[0], total);
  broadcast(Place::plain(), call.given()[1], call.given()[0], out);
  return out;
}

nb::object plain_parents_to_offsets(const PlainCall& call) {
  Elements parents;
  if (call.given().size() != 2 || !plain_bounds(call.given()[0], parents)) return {};
  const Py_ssize_t lists = PyLong_CheckExact(call.given()[1]) ? PyLong_AsSsize_t(call.given()[1]) : -1;
  PyErr_Clear();
  if (lists < 0 || lists > kMostElements) return {};
  nb::object offsets = new_array(lists + 1, Type::int64);
  parents_to_offsets(Place::plain(), call.given()[0], lists, offsets);
  return offsets;
}

nb::object plain_flatten(const PlainCall& call) {
  Elements outer;
  if (call.given().size() != 2 || plain_total(call.given()[0]) < 0 || plain_total(call.given()[1]) < 0) return {};
  plain_bounds(call.given()[0], outer);
  nb::object offsets = new_array(outer.length, Type::int64);
  flatten(Place::plain(), call.given()[0], call.given()[1], offsets);
  return offsets;
}

}  // namespace

std::int64_t count_key_runs(const Place& place, const dynamic::ConstArray& keys) {
  return visit_elements(keys, [&](const auto* each) {
    return without_rung(place).run(keys.length,
                                   [&](const auto& policy) { return count_runs(policy, each, keys.length); });
  });
}

void define_moves(nb::module_& module) {
  add_plain_cases({{"select", named(Keyword::lists), &plain_select},
                   {"partition", 0, &plain_partition},
                   {"take", 0, &plain_take},
                   {"pack", 0, &plain_pack},
                   {"lengths_to_offsets", 0, &plain_lengths_to_offsets},
                   {"offsets_to_parents", 0, &plain_positions<&offsets_to_parents>},
                   {"local_index", 0, &plain_positions<&local_index>},
                   {"broadcast", 0, &plain_broadcast},
                   {"parents_to_offsets", 0, &plain_parents_to_offsets},
                   {"flatten", 0, &plain_flatten}});
  module.def("select", &select, nb::arg("place"), nb::arg("lists").none(), nb::arg("lists_valid").none(),
             nb::arg("mask"), nb::arg("offsets").none(), nb::arg("pairs"));
  module.def("partition", [](const Place& place, nb::handle mask, const nb::list& pairs) {
    return partition(place, mask_of(mask, "mask"), columns_of(pairs));
  });
  module.def("take", [](const Place& place, nb::handle indices, const nb::list& pairs) {
    take(place, indices_of(indices), columns_of(pairs));
  });
  module.def("take_lists", &take_lists);
  module.def("take_positions", &take_positions);
  module.def("pack_offsets", &pack_offsets, nb::arg("place"), nb::arg("lists"), nb::arg("lists_valid").none(),
             nb::arg("content"), nb::arg("offsets"));
  module.def(
      "pack_content",
      [](const Place& place, nb::handle lists, nb::handle lists_valid, nb::handle offsets, const nb::list& pairs) {
        const Lists of = lists_of(lists, lists_valid);
        pack_content(place, of, offsets_for(offsets, of.count), columns_of(pairs));
      },
      nb::arg("place"), nb::arg("lists"), nb::arg("lists_valid").none(), nb::arg("offsets"), nb::arg("pairs"));
  module.def("lengths_to_offsets", &lengths_to_offsets, nb::arg("place"), nb::arg("lengths"), nb::arg("valid").none(),
             nb::arg("offsets"));
  module.def("parents_to_offsets", &parents_to_offsets);
  module.def("offsets_to_parents", &offsets_to_parents);
  module.def("local_index", &local_index);
  module.def("broadcast", &broadcast);
  module.def("broadcast_to_offsets", &broadcast_to_offsets);
  module.def("flatten", &flatten);
  module.def("combinations", &combinations, nb::arg("place"), nb::arg("lists"), nb::arg("content"), nb::arg("n"),
             nb::arg("replacement"), nb::arg("offsets").none(), nb::arg("out"));
  module.def("cartesian", &cartesian, nb::arg("place"), nb::arg("inputs"), nb::arg("offsets").none(), nb::arg("out"));
  module.def("count_key_runs",
             [](const Place& place, nb::handle keys) { return count_key_runs(place, input(keys, "keys")); });
  module.def("key_offsets", &key_offsets);
}

}  // namespace upsweep::python
