// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/instance.cpp: declares the problem to the climber: a mask, a column, calls, verification.
#include <algorithm>

#include "climb/generated.hpp"
#include "climb/generated_masks.hpp"
#include "problems/dense/partition/reference.hpp"
#include "problems/dense/partition/rung.hpp"
#include "upsweep/select.hpp"

namespace upsweep::impl::partition {
namespace {

template <class T>
class PartitionInstance final : public Instance {
 public:
  PartitionInstance(Elements<std::uint8_t> mask, Elements<T> content, std::int64_t n, const std::string& input)
      : mask_(std::move(mask)), content_(std::move(content)), out_(n) {
    if (content_.is_generated()) fill_whole(content_.data(), n);
    kept_ = n - std::count(mask_.data(), mask_.data() + n, 0);
    group.title =
        "partition of " + grouped(n) + " " + std::string(name(type_of<T>())) + ": " + grouped(kept_) + " first";
    group.input = input;
    group.type = type_of<T>();
    group.n = n;
    group.bytes = static_cast<double>(n + 2 * n * std::int64_t{sizeof(T)});
    group.facts = {{"kept", kept_}};
  }

  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{mask_.data(), group.n, false},
            {content_.data(), group.n * std::int64_t{sizeof(T)}, false},
            {out_.data(), group.n * std::int64_t{sizeof(T)}, true},
            {&status_, sizeof status_, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    const SelectColumn column = column_of(at, n);
    detail::PartitionCall call{.mask = Mask::bytes(at[0], n), .columns = std::span(&column, 1)};
    const std::string_view rung = detail::run_partition(policy, call);
    status_ = {.first_bad = kNoIndex, .kept = call.kept, .code = Code::ok};  // a failed call would have thrown
    return rung;
  }
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override {
    const SelectColumn column = column_of(at, n);
    detail::PartitionCall call{.mask = Mask::bytes(at[0], n),
                               .columns = std::span(&column, 1),
                               .status = static_cast<gpu::SelectStatus*>(at[3])};
    return detail::run_partition(policy, call);
  }
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override {
    return gpu::partition_workspace(policy, group.n);
  }
  [[nodiscard]] std::string wrong(const RungInfo&) override {
    if (status_.code != Code::ok || status_.kept != kept_) return "reports " + grouped(status_.kept) + " as kept";
    return wrong_at(first_wrong(mask_.data(), group.n, content_.data(), out_.data()));
  }
  bool run_inlined() override {
    const std::uint8_t* const mask = mask_.data();
    const T* const content = content_.data();
    T* out = out_.data();
    for (const bool wanted : {true, false}) {
      for (std::int64_t j = 0; j < group.n; ++j) {
        if ((mask[j] != 0) == wanted) *out++ = content[j];
      }
    }
    return true;
  }

 private:
  [[nodiscard]] SelectColumn column_of(Arrays at, std::int64_t n) const {
    return {static_cast<const T*>(at[1]), n, static_cast<T*>(at[2]), group.n};
  }

  Elements<std::uint8_t> mask_;
  Elements<T> content_;
  std::int64_t kept_;
  cpu::Pages<T> out_;
  gpu::SelectStatus status_{};
};

constexpr InputInfo kInputs[] = {{.name = "MASK", .type = Type::uint8, .whole = true}, {.name = "CONTENT"}};
constexpr Type kUsualTypes[] = {Type::float64};
constexpr SettingInfo kSettings[] = {kKeptSetting};

void visit_instances(const ClimbRequest& request, Backend, const Problem::Visit& visit) {
  if (!request.input.empty()) {
    const Column& mask = request.input[0];
    const Column& content = request.input[1];
    require_mask_of(mask, content);
    return visit_type(content.type, [&]<class T>(std::type_identity<T>) {
      PartitionInstance<T> instance(Elements<std::uint8_t>(mask), Elements<T>(content), content.count,
                                    mask.name + " " + content.name);
      visit(instance);
    });
  }
  const std::int64_t share = kept_share(request);
  const ProblemInfo& info = problem(request.problem);
  for (const Type type : types_of(request, info)) {
    for (const std::int64_t n : sizes_of(request, info)) {
      Elements<std::uint8_t> mask(n);
      fill_mask(mask.data(), n, share);
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        PartitionInstance<T> instance(std::move(mask), Elements<T>(n), n, share_name(share));
        visit(instance);
      });
    }
  }
}

}  // namespace

constexpr Study kStudies[] = {{.name = "sizes", .sizes = kSweep}, {.name = "threads", .sizes = kLarge, .scales = true}};

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "partition",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .types = kNumberTypes,
                                            .usual_types = kUsualTypes,
                                            .usual_sizes = kUsualSizes,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kStudies};

}  // namespace upsweep::impl::partition
