// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/instance.cpp: declares the problem to the climber: lists, a mask, a column, verification.
#include <algorithm>
#include <utility>

#include "climb/generated.hpp"
#include "climb/generated_lists.hpp"
#include "climb/generated_masks.hpp"
#include "problems/dense/select/reference.hpp"
#include "problems/dense/select/rung.hpp"
#include "upsweep/select.hpp"

namespace upsweep::impl::select {
namespace {

struct ListsAndMask {
  ListsAndMask(Elements<std::int64_t> bounds, std::int64_t bound_count, Elements<std::uint8_t> booleans, std::int64_t n)
      : offsets(std::move(bounds)), lists(bound_count - 1), mask(std::move(booleans)), elements(n) {}

  Elements<std::int64_t> offsets;
  std::int64_t lists;
  Elements<std::uint8_t> mask;
  std::int64_t elements;
};

enum class Shape : std::uint8_t { lists, array };

template <class T>
class SelectInstance final : public Instance {
 public:
  SelectInstance(const ListsAndMask& given, const Elements<T>& content, Shape shape, const std::string& input)
      : given_(given), content_(content), shape_(shape) {
    all_[1] = given.elements;
    const std::int64_t* const offsets = this->offsets();
    const std::int64_t lists = this->lists();
    for (std::int64_t j = offsets[0]; j < offsets[lists]; ++j) kept_ += given.mask.data()[j] != 0 ? 1 : 0;
    out_ = cpu::Pages<T>(kept_);
    out_offsets_ = cpu::Pages<std::int64_t>(lists + 1);
    group.title = "select of " + grouped(given.elements) + " " + std::string(name(type_of<T>()));
    group.title += shape == Shape::lists ? " in " + grouped(lists) + " lists: " : ": ";
    group.title += grouped(kept_) + " kept";
    group.input = input;
    group.type = type_of<T>();
    group.n = std::max(given.elements, lists);
    const std::int64_t column = (offsets[lists] - offsets[0] + kept_) * std::int64_t{sizeof(T)};
    const std::int64_t bounds = shape == Shape::lists ? 16 * (lists + 1) : 0;
    group.bytes = static_cast<double>(offsets[lists] - offsets[0] + column + bounds);
    group.facts = {{"lists", lists}, {"kept", kept_}};
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    const std::int64_t lists = this->lists();
    const std::int64_t bounds = (lists + 1) * std::int64_t{sizeof(std::int64_t)};
    return {{const_cast<std::int64_t*>(offsets()), bounds, false},
            {const_cast<std::uint8_t*>(given_.mask.data()), given_.elements, false},
            {const_cast<T*>(content_.data()), given_.elements * std::int64_t{sizeof(T)}, false},
            {out_offsets_.data(), bounds, shape_ == Shape::lists},
            {out_.data(), kept_ * std::int64_t{sizeof(T)}, true},
            {&status_, sizeof status_, true}};
  }

  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    status_ = {.first_bad = kNoIndex, .kept = kept_, .code = Code::ok};  // a failed call would have thrown
    const Given given = given_within(at, n);
    const std::span<const SelectColumn> columns(&given.column, 1);
    if (shape_ == Shape::array) {
      out_offsets_[1] = kept_;
      return upsweep::select(policy, given.mask, columns).rung;
    }
    return upsweep::select(policy, given.lists, given.mask, static_cast<std::int64_t*>(at[3]), columns).rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    const Given given = given_within(at, n);
    const std::span<const SelectColumn> columns(&given.column, 1);
    auto* const status = static_cast<gpu::SelectStatus*>(at[5]);
    if (shape_ == Shape::array) {
      out_offsets_[1] = kept_;
      return select_async(policy, given.mask, columns, status);
    }
    return select_async(policy, given.lists, given.mask, static_cast<std::int64_t*>(at[3]), columns, status);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    void* const at[] = {const_cast<std::int64_t*>(given_.offsets.data()), const_cast<std::uint8_t*>(given_.mask.data()),
                        const_cast<T*>(content_.data()), nullptr, const_cast<T*>(out_.data())};
    const Given given = given_within(at, group.n);
    const std::span<const SelectColumn> columns(&given.column, 1);
    if (shape_ == Shape::array) return gpu::select_workspace(policy, given.mask, columns);
    return gpu::select_workspace(policy, given.lists, given.mask, columns);
  }

  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok || status_.kept != kept_) return "reports " + grouped(status_.kept) + " as kept";
    return wrong_at(
        first_wrong(offsets(), lists(), given_.mask.data(), content_.data(), out_offsets_.data(), out_.data()));
  }

  bool run_inlined() override {
    const std::int64_t* const offsets = this->offsets();
    const std::uint8_t* const mask = given_.mask.data();
    const T* const content = content_.data();
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < lists(); ++i) {
      for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
        if (mask[j] != 0) out_[kept++] = content[j];
      }
      out_offsets_[i + 1] = kept;
    }
    return true;
  }

 private:
  struct Given {
    Lists lists;
    Mask mask;
    SelectColumn column;
  };

  /// Returns the first n elements of these arrays.
  [[nodiscard]] Given given_within(Arrays at, std::int64_t n) const {
    const std::int64_t elements = std::min(n, given_.elements);
    return {.lists = Lists::by_offsets(static_cast<const std::int64_t*>(at[0]), lists_in(n)),
            .mask = Mask::bytes(at[1], elements),
            .column = SelectColumn(static_cast<const T*>(at[2]), elements, static_cast<T*>(at[4]), kept_)};
  }
  [[nodiscard]] const std::int64_t* offsets() const { return shape_ == Shape::lists ? given_.offsets.data() : all_; }
  [[nodiscard]] std::int64_t lists() const { return shape_ == Shape::lists ? given_.lists : 1; }
  /// Returns the number of lists within the first n elements; n if all lists are empty.
  [[nodiscard]] std::int64_t lists_in(std::int64_t n) const {
    if (n >= group.n) return given_.lists;
    if (given_.elements == 0) return n;
    return count_within(given_.offsets.data(), given_.lists, n);
  }

  const ListsAndMask& given_;
  const Elements<T>& content_;
  Shape shape_;
  std::int64_t all_[2] = {};  // an array is a single long list
  std::int64_t kept_ = 0;
  cpu::Pages<T> out_;
  cpu::Pages<std::int64_t> out_offsets_;
  gpu::SelectStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "OFFSETS", .type = Type::int64, .whole = true},
                                 {.name = "MASK", .type = Type::uint8, .whole = true},
                                 {.name = "CONTENT"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr std::int64_t kSizes[] = {1'000, 1'000'000, 30'000'000};
constexpr SettingInfo kSettings[] = {kListSetting, kKeptSetting};

template <class T>
void visit_shapes(const ListsAndMask& given, const Elements<T>& content, const std::string& input,
                  const Problem::Visit& visit) {
  for (const Shape shape : {Shape::lists, Shape::array}) {
    if (shape == Shape::array && given.elements == 0) continue;
    SelectInstance<T> instance(given, content, shape, shape == Shape::array ? input + ", without lists" : input);
    visit(instance);
  }
}

void visit_input(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& offsets = input[0];
  const Column& mask = input[1];
  const Column& content = input[2];
  require_mask_of(mask, content);
  (void)detail::lists_of_offsets(offsets.count);
  const ListsAndMask given(Elements<std::int64_t>(offsets), offsets.count, Elements<std::uint8_t>(mask), mask.count);
  (void)count_kept(par, Lists::by_offsets(given.offsets.data(), given.lists),
                   Mask::bytes(given.mask.data(), mask.count));  // throws for a bad list
  visit_type(content.type, [&]<class T>(std::type_identity<T>) {
    visit_shapes(given, Elements<T>(content), offsets.name + " " + mask.name + " " + content.name, visit);
  });
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) return visit_input(request.input, visit);
  const std::int64_t share = kept_share(request);
  const ListPattern pattern = list_pattern(request);
  const ProblemInfo& info = problem(request.problem);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      const std::vector<std::int64_t> offsets = generated_offsets(pattern, n);
      ListsAndMask given(as_bounds<std::int64_t>(offsets), std::ssize(offsets), Elements<std::uint8_t>(offsets.back()),
                         offsets.back());
      fill_mask(given.mask.data(), given.elements, share);
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        Elements<T> content(given.elements);
        fill_whole(content.data(), given.elements);
        visit_shapes(given, content, pattern_name(pattern) + ", " + share_name(share), visit);
      });
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "select",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::select
