// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/staged_content.hpp: the elements of lists as kernels take them: converted, or gathered around nulls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "problems/lists/segmented_reduce/list_workers.hpp"

namespace upsweep::impl::segmented_reduce {

/// What kernels read. Elements from `end` on must not be read.
struct Content {
  const std::byte* data;
  std::int64_t end;
};

/// How the elements of a batch must be stored.
enum class Layout : std::uint8_t {
  anywhere,  ///< bounds say where
  adjacent,  ///< nothing lies between the lists of a batch
  packed,    ///< the same, the first element at `data`; of the bounds only the differences matter
};

/// A worker's buffers for elements that kernels cannot read where they are. Null elements are left out.
class StagedContent {
 public:
  /// Kernels compute in `type`; a custom one is never converted.
  StagedContent(const Job& job, Type type, Layout layout);

  /// Whether kernels read anything other than the call's content.
  [[nodiscard]] bool stages() const { return stages_; }
  /// Elements that are staged at a time, at most: lists that are gathered may overlap.
  [[nodiscard]] std::int64_t capacity() const;
  /// What was staged last, before it was converted.
  [[nodiscard]] Content given() const { return given_; }

  /// Stages the lists; their bounds become those of the staged elements.
  Content stage(const SomeLists& lists);

  /// use(lists, content) on runs of lists that fit into the buffers, until it returns anything other than kNoIndex.
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
