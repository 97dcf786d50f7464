// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/staged_content.hpp: converts elements of lists for the kernels, or gathers those that
// are not null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "problems/lists/segmented_reduce/list_workers.hpp"

namespace upsweep::impl::segmented_reduce {

/// The elements that kernels read. Elements from `end` on must not be read.
struct Content {
  const std::byte* data;
  std::int64_t end;
};

/// The layout in which the elements of a batch must be stored.
enum class Layout : std::uint8_t {
  anywhere,  ///< at the positions that the bounds give
  adjacent,  ///< without gaps between the lists of a batch
  packed,    ///< without gaps, the first element at `data`; kernels use only the differences of the bounds
};

/// A worker's buffers for elements that kernels cannot read in place. Null elements are left out.
class StagedContent {
 public:
  /// Kernels compute in `type`; a custom type is never converted.
  StagedContent(const Job& job, Type type, Layout layout);

  /// Returns whether kernels read anything other than the call's content.
  [[nodiscard]] bool stages() const { return stages_; }
  /// Returns the maximum number of elements that are staged at a time. Lists that are gathered may overlap.
  [[nodiscard]] std::int64_t capacity() const;
  /// Returns the elements that were staged last, before conversion.
  [[nodiscard]] Content given() const { return given_; }

  /// Stages the lists; their bounds become those of the staged elements.
  Content stage(const SomeLists& lists);

  /// Calls use(lists, content) on runs of lists that fit into the buffers, until it returns anything other than
  /// kNoIndex.
  template <class Use>
  std::int64_t for_each_stage(const SomeLists& lists, Use use) {
    for (std::int64_t done = 0; done < lists.count;) {
      SomeLists some{lists.batch, lists.at + done, lists.count - done, lists.first + done};
      some.count = lists_that_fit(some);
      const std::int64_t bad = use(some, stage(some));
      if (bad != kNoIndex) return bad;
      done += some.count;
    }
    return kNoIndex;
  }

 private:
  [[nodiscard]] std::int64_t lists_that_fit(const SomeLists& lists) const;
  Content gather(const SomeLists& lists);
  Content find(const SomeLists& lists) const;
  [[nodiscard]] std::unique_ptr<std::byte[]> buffer(std::int64_t element_size) const;

  const detail::SegmentedReduceCall& call_;
  const cpu::ListKernels& kernels_;
  Type type_;
  Layout layout_;
  bool converts_;
  bool gathers_;
  bool stages_;
  Content given_{};
  std::unique_ptr<std::byte[]> gathered_;
  std::unique_ptr<std::byte[]> converted_;
};

}  // namespace upsweep::impl::segmented_reduce
