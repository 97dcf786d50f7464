// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/instance.cpp: declares the problem to the climber: indices into lists or an array, verification.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "climb/generated_lists.hpp"
#include "problems/dense/take/reference.hpp"
#include "problems/dense/take/rung.hpp"
#include "upsweep/select.hpp"

namespace upsweep::impl::take {
namespace {

enum class Order : std::uint8_t { random, ascending };
constexpr std::string_view kOrders[] = {"random", "ascending"};

/// Generates one index per element of each list; elements may repeat. Half of the random indices count from the end.
void fill_indices(const std::vector<std::int64_t>& offsets, Order order, std::int64_t* indices) {
  std::mt19937_64 random(47);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t length = offsets[i + 1] - offsets[i];
    std::int64_t* const own = indices + offsets[i];
    for (std::int64_t k = 0; k < length; ++k) {
      const std::uint64_t bits = random();
      own[k] = static_cast<std::int64_t>((bits >> 1) % static_cast<std::uint64_t>(length));
      if (order == Order::random && bits % 2 != 0) own[k] -= length;
    }
    if (order == Order::ascending) std::sort(own, own + length);
  }
}

/// Lists by offsets, and indices for each list; without lists the indices are into all elements.
template <class T>
struct Given {
  bool has_lists = false;
  std::vector<std::int64_t> offsets;        ///< of the content
  std::vector<std::int64_t> index_offsets;  ///< of the indices
  Elements<std::int64_t> indices;
  Elements<T> content;
  std::string input;

  [[nodiscard]] std::int64_t lists() const { return std::ssize(offsets) - 1; }
};

template <class T>
class TakeInstance final : public Instance {
 public:
  explicit TakeInstance(Given<T> given)
      : given_(std::move(given)),
        taken_(given_.index_offsets.back()),
        offsets_(as_bounds<std::int64_t>(given_.offsets)),
        out_offsets_(given_.has_lists ? given_.lists() + 1 : 0),
        out_(taken_) {
    group.title = "take of " + grouped(taken_) + " " + std::string(name(type_of<T>()));
    group.title += given_.has_lists ? " from " + grouped(given_.lists()) + " lists" : " from " + grouped(content());
    group.input = given_.input;
    group.type = type_of<T>();
    group.n = taken_ == 0 ? given_.lists() : taken_;
    const std::int64_t bounds = given_.has_lists ? 16 * (given_.lists() + 1) : 0;
    group.bytes = static_cast<double>(taken_ * (8 + 2 * std::int64_t{sizeof(T)}) + bounds);
    group.facts = {{"lists", given_.has_lists ? given_.lists() : 0}};
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{offsets_.data(), (given_.lists() + 1) * 8, false},
            {given_.indices.data(), taken_ * 8, false},
            {given_.content.data(), content() * std::int64_t{sizeof(T)}, false},
            {out_offsets_.data(), out_offsets_.size() * 8, given_.has_lists},
            {out_.data(), taken_ * std::int64_t{sizeof(T)}, true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const SelectColumn column = column_of(at);
    detail::TakeCall call = call_of(at, n, column);
    const std::string_view rung = detail::run_take(policy, call);
    status_ = {.first_bad = kNoIndex, .taken = call.taken, .code = Code::ok};  // a failed call would have thrown
    return rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    const SelectColumn column = column_of(at);
    detail::TakeCall call = call_of(at, n, column);
    call.status = static_cast<gpu::TakeStatus*>(at[5]);
    return detail::run_take(policy, call);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return given_.has_lists ? gpu::take_workspace(policy, given_.lists(), taken_) : gpu::take_workspace(policy);
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok || status_.taken != taken_) return "reports " + grouped(status_.taken) + " as taken";
    for (std::int64_t i = 0; i < out_offsets_.size(); ++i) {
      if (out_offsets_[i] != given_.index_offsets[static_cast<std::size_t>(i)]) return "offset " + wrong_at(i);
    }
    return wrong_at(first_wrong(given_.offsets.data(), given_.index_offsets.data(), given_.lists(),
                                given_.indices.data(), given_.content.data(), out_.data()));
  }
  bool run_inlined() override {
    const std::int64_t* const indices = given_.indices.data();
    const T* const content = given_.content.data();
    for (std::size_t i = 0; i + 1 < given_.offsets.size(); ++i) {
      const std::int64_t start = given_.offsets[i];
      const std::int64_t stop = given_.offsets[i + 1];
      for (std::int64_t k = given_.index_offsets[i]; k < given_.index_offsets[i + 1]; ++k) {
        out_[k] = content[(indices[k] < 0 ? stop : start) + indices[k]];
      }
      if (given_.has_lists) out_offsets_[static_cast<std::int64_t>(i) + 1] = given_.index_offsets[i + 1];
    }
    return true;
  }

 private:
  [[nodiscard]] std::int64_t content() const { return given_.offsets.back(); }
  [[nodiscard]] SelectColumn column_of(Arrays at) const {
    return {static_cast<const T*>(at[2]), content(), static_cast<T*>(at[4]), taken_};
  }
  /// Returns the call on the first n indices, or on the lists within them. Generated indices have the lists of the
  /// content.
  [[nodiscard]] detail::TakeCall call_of(Arrays at, std::int64_t n, const SelectColumn& column) const {
    const auto* const indices = static_cast<const std::int64_t*>(at[1]);
    const std::span<const SelectColumn> columns(&column, 1);
    if (!given_.has_lists) return {.indices = Indices(indices, n), .columns = columns};
    const std::vector<std::int64_t>& offsets = given_.offsets;
    const std::int64_t lists =
        n == group.n ? given_.lists() : std::upper_bound(offsets.begin(), offsets.end(), n) - offsets.begin() - 1;
    const Lists within = Lists::by_offsets(static_cast<const std::int64_t*>(at[0]), lists);
    return {.has_lists = true,
            .lists = within,
            .index_lists = within,
            .indices = Indices(indices, taken_),
            .content = content(),
            .out_offsets = static_cast<std::int64_t*>(at[3]),
            .columns = columns};
  }

  Given<T> given_;
  std::int64_t taken_;
  Elements<std::int64_t> offsets_;
  cpu::Pages<std::int64_t> out_offsets_;
  cpu::Pages<T> out_;
  gpu::TakeStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "INDICES", .type = Type::int64, .whole = true}, {.name = "CONTENT"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr SettingInfo kSettings[] = {
    kListSetting,
    {.name = "indices", .help = "order of the generated indices of a list (default: random)", .choices = kOrders}};

/// Visits the instance of two columns: an array and indices into it.
void visit_input(const std::vector<Column>& input, const Problem::Visit& visit) {
  const Column& indices = input[0];
  const Column& content = input[1];
  if (indices.count == 0) throw Error(Code::empty, indices.name + ": has no indices to climb on");
  const auto* const values = static_cast<const std::int64_t*>(indices.data.get());
  const std::int64_t* const end = values + indices.count;
  const auto* const bad = std::find_if(values, end, [&](std::int64_t index) { return !is_in(index, content.count); });
  if (bad != end) {
    throw Error(Code::index_out_of_range,
                indices.name + ": row " + std::to_string(bad - values) + " has " + std::to_string(*bad) +
                    ", which names no row of " + content.name,
                bad - values);
  }
  visit_type(content.type, [&]<class T>(std::type_identity<T>) {
    TakeInstance<T> instance({.has_lists = false,
                              .offsets = {0, content.count},
                              .index_offsets = {0, indices.count},
                              .indices = Elements<std::int64_t>(indices),
                              .content = Elements<T>(content),
                              .input = indices.name + " " + content.name});
    visit(instance);
  });
}

/// Visits an instance with lists, and one with an array of the same length.
template <class T>
void visit_generated(ListPattern pattern, std::int64_t n, Order order, const Problem::Visit& visit) {
  const std::string how = std::string(kOrders[static_cast<int>(order)]) + " indices";
  for (const bool has_lists : {true, false}) {
    const std::vector<std::int64_t> of_lists = generated_offsets(pattern, n);
    const std::int64_t elements = of_lists.back();
    if (!has_lists && elements == 0) continue;
    const std::vector<std::int64_t> offsets = has_lists ? of_lists : std::vector<std::int64_t>{0, elements};
    Elements<std::int64_t> indices(elements);
    fill_indices(offsets, order, indices.data());
    Elements<T> content(elements);
    fill_whole(content.data(), elements);
    TakeInstance<T> instance({.has_lists = has_lists,
                              .offsets = offsets,
                              .index_offsets = offsets,
                              .indices = std::move(indices),
                              .content = std::move(content),
                              .input = (has_lists ? pattern_name(pattern) : "without lists") + ", " + how});
    visit(instance);
  }
}

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) return visit_input(request.input, visit);
  const auto order = static_cast<Order>(setting(request, "indices").value_or(Setting{}).value);
  const ProblemInfo& info = problem(request.problem);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      visit_type(type,
                 [&]<class T>(std::type_identity<T>) { visit_generated<T>(list_pattern(request), n, order, visit); });
    }
  }
}

}  // namespace

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "take",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kListStudies};

}  // namespace upsweep::impl::take
