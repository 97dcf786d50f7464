// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/instance.cpp: makes the lists of a ladder run, in order and permuted, calls the rungs, and checks
// their results.
#include <algorithm>
#include <random>
#include <utility>

#include "climb/list_instance.hpp"
#include "problems/lists/pack/reference.hpp"
#include "problems/lists/pack/rung.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::impl::pack {
namespace {

/// Lists by starts and stops of int64, in one column of content.
struct Input {
  Elements<std::int64_t> starts;
  Elements<std::int64_t> stops;
  std::int64_t n;         ///< number of lists
  std::int64_t elements;  ///< total number of elements
};

Input in_order(const std::vector<std::int64_t>& offsets) {
  const auto n = std::ssize(offsets) - 1;
  Input input{Elements<std::int64_t>{n}, Elements<std::int64_t>{n}, n, offsets.back()};
  std::copy_n(offsets.begin(), n, input.starts.data());
  std::copy_n(offsets.begin() + 1, n, input.stops.data());
  return input;
}

/// Returns the same lists in random order.
Input permuted(const std::vector<std::int64_t>& offsets) {
  Input input = in_order(offsets);
  std::mt19937_64 random(46);
  for (std::int64_t i = input.n - 1; i > 0; --i) {
    const auto other = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(i + 1));
    std::swap(input.starts.data()[i], input.starts.data()[other]);
    std::swap(input.stops.data()[i], input.stops.data()[other]);
  }
  return input;
}

template <class T>
class PackInstance final : public Instance {
 public:
  /// `size`: the number of elements, or, if all lists are empty, of lists.
  PackInstance(Input input, std::int64_t size, const std::string& what)
      : input_(std::move(input)), content_(input_.elements), offsets_(input_.n + 1), packed_(input_.elements) {
    group.title =
        "pack of " + grouped(input_.n) + " lists, " + grouped(input_.elements) + " " + std::string(name(type_of<T>()));
    group.input = what;
    group.type = type_of<T>();
    group.n = size;
    group.bytes = static_cast<double>(input_.n) * 24.0 + static_cast<double>(input_.elements) * 2.0 * sizeof(T);
    std::mt19937_64 random(47);
    for (std::int64_t i = 0; i < input_.elements; ++i) content_.data()[i] = static_cast<T>(random() >> 40);
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    const std::int64_t lists = input_.n * std::int64_t{sizeof(std::int64_t)};
    const std::int64_t elements = input_.elements * std::int64_t{sizeof(T)};
    return {{input_.starts.data(), lists, false}, {input_.stops.data(), lists, false},
            {content_.data(), elements, false},   {offsets_.data(), lists + std::int64_t{sizeof(std::int64_t)}, true},
            {packed_.data(), elements, true},     {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const PackColumn column = column_of(at);
    const auto ran =
        upsweep::pack(policy, lists_within(at, n), static_cast<std::int64_t*>(at[3]), std::span(&column, 1));
    status_ = {.first_bad = kNoIndex, .total = ran.total, .code = Code::ok};  // an error would have thrown
    return ran.rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    const PackColumn column = column_of(at);
    return pack_async(policy, lists_within(at, n), static_cast<std::int64_t*>(at[3]), std::span(&column, 1),
                      static_cast<gpu::PackStatus*>(at[5]));
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    void* const at[] = {const_cast<std::int64_t*>(input_.starts.data()), const_cast<std::int64_t*>(input_.stops.data()),
                        const_cast<T*>(content_.data()), nullptr, const_cast<T*>(packed_.data())};
    const PackColumn column = column_of(at);
    return gpu::pack_workspace(policy, lists_within(at, group.n), std::span(&column, 1));
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok) return "finds list " + std::to_string(status_.first_bad) + " bad";
    const std::int64_t* const starts = input_.starts.data();
    const std::int64_t* const stops = input_.stops.data();
    const std::int64_t offset = first_wrong_offset(starts, stops, input_.n, offsets_.data());
    if (offset != kNoIndex) return wrong_at(offset);
    return wrong_at(first_wrong_element(starts, stops, input_.n, content_.data(), packed_.data()));
  }
  bool run_inlined() override {
    const std::int64_t* const starts = input_.starts.data();
    const std::int64_t* const stops = input_.stops.data();
    std::int64_t* const offsets = offsets_.data();
    std::int64_t at = 0;
    offsets[0] = 0;
    for (std::int64_t i = 0; i < input_.n; ++i) {
      for (std::int64_t j = starts[i]; j < stops[i]; ++j) packed_[at++] = content_.data()[j];
      offsets[i + 1] = at;
    }
    return true;
  }

 private:
  [[nodiscard]] PackColumn column_of(Arrays at) const {
    return {at[2], input_.elements, at[4], input_.elements, int{sizeof(T)}};
  }
  /// Returns the same fraction of the lists as n is of the elements.
  [[nodiscard]] Lists lists_within(Arrays at, std::int64_t n) const {
    return Lists::by_bounds(static_cast<const std::int64_t*>(at[0]), static_cast<const std::int64_t*>(at[1]),
                            n == group.n ? input_.n : input_.n * n / group.n);
  }

  Input input_;
  Elements<T> content_;
  cpu::Pages<std::int64_t> offsets_;
  cpu::Pages<T> packed_;
  gpu::PackStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "OFFSETS", .type = Type::int64, .whole = true}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr SettingInfo kSettings[] = {kListSetting};

void visit_both(const std::vector<std::int64_t>& offsets, Type type, std::int64_t size, const std::string& what,
                const Problem::Visit& visit) {
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    PackInstance<T> ordered(in_order(offsets), size, what + ", in order");
    visit(ordered);
  });
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    PackInstance<T> shuffled(permuted(offsets), size, what + ", permuted");
    visit(shuffled);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) {
    const auto offsets = offsets_of_column(request.input[0]);
    const std::int64_t size = offsets.back() == 0 ? std::ssize(offsets) - 1 : offsets.back();
    return visit_both(offsets, Type::float64, size, request.input[0].name, visit);
  }
  const ProblemInfo& info = problem(request.problem);
  const ListPattern pattern = list_pattern(request);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t size : sizes_of(request, info)) {
      visit_both(generated_offsets(pattern, size), type, size, pattern_name(pattern), visit);
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "pack",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::pack
