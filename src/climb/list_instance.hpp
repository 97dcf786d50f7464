// SPDX-License-Identifier: Apache-2.0
// climb/list_instance.hpp: instances of lists given by offsets and of their content, generated or real columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "core/lists.hpp"

namespace upsweep {

/// Lists and their content.
template <class T, class Bound>
struct ListColumns {
  Elements<Bound> offsets;
  std::int64_t lists = 0;
  Elements<T> content;
  std::int64_t elements = 0;
  std::string input;  ///< the name of the input
};

/// The common base of instances that read lists and write elements of the content's type.
template <class T, class Bound>
class ListInstance : public Instance {
 public:
  /// Real columns are verified once. Generated floats are verified as fractions and then as whole numbers.
  [[nodiscard]] int fills() const override { return content_.is_generated() && std::is_floating_point_v<T> ? 2 : 1; }
  void fill(int which) override {
    if (!content_.is_generated()) return;
    is_exact_ = which == fills() - 1;
    if (is_exact_) {
      fill_whole(content_.data(), group.n);
    } else {
      fill_fractions(content_.data(), group.n);
    }
  }
  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{content_.data(), group.n * std::int64_t{sizeof(T)}, false},
            {offsets_.data(), (lists_ + 1) * std::int64_t{sizeof(Bound)}, false},
            {out_.data(), out_.size() * std::int64_t{sizeof(T)}, true}};
  }
  std::string_view run(const gpu::Policy&, Arrays, std::int64_t) override {
    throw Error(Code::unsupported, "no rung of this ladder runs on a GPU");
  }
  [[nodiscard]] bool is_checkable() const override { return std::is_integral_v<T> && sizeof(T) >= 4; }

 protected:
  /// `outputs` is the number of results: one for each list or each element.
  ListInstance(std::string_view problem, ListColumns<T, Bound> columns, std::int64_t ListColumns<T, Bound>::* outputs)
      : offsets_(std::move(columns.offsets)),
        lists_(columns.lists),
        content_(std::move(columns.content)),
        out_(columns.*outputs) {
    group.title = std::string(problem) + " of " + grouped(columns.elements) + " " + std::string(name(type_of<T>())) +
                  " in " + grouped(lists_) + " lists";
    group.input = columns.input;
    group.type = type_of<T>();
    group.n = columns.elements;
    group.bytes = static_cast<double>((columns.elements + out_.size()) * std::int64_t{sizeof(T)} +
                                      (lists_ + 1) * std::int64_t{sizeof(Bound)});
  }

  /// The lists of these arrays within the first n elements of the content.
  [[nodiscard]] Lists lists_within(Arrays at, std::int64_t n) const {
    return Lists::by_offsets(static_cast<const Bound*>(at[1]), count_within(offsets_.data(), lists_, n));
  }
  [[nodiscard]] std::int64_t start(std::int64_t list) const { return static_cast<std::int64_t>(offsets_.data()[list]); }

  Elements<Bound> offsets_;
  std::int64_t lists_;
  Elements<T> content_;
  cpu::Pages<T> out_;
  bool is_exact_ = true;  ///< whether folds of generated floats are exact, in any order
};

/// Visits an instance of the two columns OFFSETS and CONTENT. Throws for offsets that are not lists of that content.
template <template <class, class> class Made>
void visit_list_columns(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& offsets = input[0];
  const Column& content = input[1];
  if (!is_list_bound(offsets.type)) {
    throw Error(Code::unsupported_type,
                offsets.name + " is " + std::string(name(offsets.type)) + ": offsets are int32, uint32 or int64");
  }
  const std::int64_t lists = detail::lists_of_offsets(offsets.count);
  visit_list_bound(offsets.type, [&]<class Bound>(std::type_identity<Bound>) {
    const auto given = Lists::by_offsets(static_cast<const Bound*>(offsets.data.get()), lists);
    for (std::int64_t i = 0; i < lists; ++i) {  // the inlined loop and the reference do not check them
      if (check_list(given, i, content.count) != Code::ok) throw_bad_list(given, i, content.count);
    }
    visit_type(content.type, [&]<class T>(std::type_identity<T>) {
      Made<T, Bound> instance(
          {Elements<Bound>(offsets), lists, Elements<T>(content), content.count, offsets.name + " " + content.name});
      visit(instance);
    });
  });
}

/// Visits an instance of every requested type and size, or the instance of the given columns. `Made` is a template of
/// instances that are constructed from ListColumns. Visits a GPU only if the ladder has a rung for it.
template <template <class, class> class Made>
void visit_lists(const ClimbRequest& request, Backend backend, const Problem::Visit& visit) {
  const auto& rungs = ladder(request.problem);
  if (std::none_of(rungs.begin(), rungs.end(), [&](const RungInfo& rung) { return rung.backend() == backend; })) return;
  if (!request.input.empty()) return visit_list_columns<Made>(request.input, visit);
  const ProblemInfo& info = problem(request.problem);
  const ListPattern pattern = list_pattern(request);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      const std::vector<std::int64_t> offsets = generated_offsets(pattern, n);
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        Made<T, std::int64_t> instance(
            {as_bounds<std::int64_t>(offsets), std::ssize(offsets) - 1, Elements<T>(n), n, pattern_name(pattern)});
        visit(instance);
      });
    }
  }
}

/// The offsets in a column of int64, shifted to begin at 0. Throws for a column without lists, and for offsets that
/// decrease.
inline std::vector<std::int64_t> offsets_of_column(const Column& column) {
  const auto* const values = static_cast<const std::int64_t*>(column.data.get());
  if (column.count < 2) throw Error(Code::empty, column.name + ": has no lists to climb on");
  const auto decrease = std::adjacent_find(values, values + column.count, std::greater<>());
  if (decrease != values + column.count) {
    throw Error(Code::stop_before_start,
                column.name + ": offsets decrease after row " + std::to_string(decrease - values), decrease - values);
  }
  std::vector<std::int64_t> offsets(values, values + column.count);
  for (std::int64_t& offset : offsets) offset -= values[0];
  return offsets;
}

inline constexpr InputInfo kListColumns[] = {{.name = "OFFSETS"}, {.name = "CONTENT"}};
inline constexpr Type kUsualListTypes[] = {Type::float64};
inline constexpr std::int64_t kUsualListSizes[] = {3'000, 3'000'000, 30'000'000};
inline constexpr SettingInfo kListSettings[] = {kListSetting};

/// A problem of lists and their content.
inline ProblemInfo list_problem(std::string_view name, std::vector<RungInfo> rungs) {
  return {.name = name,
          .rungs = std::move(rungs),
          .inputs = kListColumns,
          .types = kNumberTypes,
          .usual_types = kUsualListTypes,
          .usual_sizes = kUsualListSizes,
          .settings = kListSettings};
}

}  // namespace upsweep
